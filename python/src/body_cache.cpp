#include "body_cache.h"

#include <farcall/trace/batch.h>

namespace farcall::python {

BodyKey::BodyKey(std::string kind, std::vector<TreeDefPtr> trees, std::vector<ShapeDtype> types)
    : kind(std::move(kind)), trees(std::move(trees)), types(std::move(types)) {
  for (const std::string& name : mapped_axis_names())
    axes.emplace_back(name, mapped_axis_size(name));
}

bool BodyKey::operator==(const BodyKey& other) const {
  return kind == other.kind && types == other.types && axes == other.axes &&
         std::equal(trees.begin(), trees.end(), other.trees.begin(), other.trees.end(),
                    [](const TreeDefPtr& a, const TreeDefPtr& b) { return *a == *b; });
}

RecordedBodyPtr BodyCache::find(const BodyKey& key) const {
  // Comparing structures may run Python code, which may add entries.
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].first.types != key.types) continue;
    const auto entry = entries_[i];
    if (entry.first == key) return entry.second;
  }
  return nullptr;
}

}  // namespace farcall::python
