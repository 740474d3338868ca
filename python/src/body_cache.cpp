#include "body_cache.h"

#include <farcall/trace/batch.h>

namespace farcall::python {

BodyKey::BodyKey(std::string kind, std::vector<TreeDef> trees, std::vector<ShapeDtype> types)
    : kind(std::move(kind)),
      trees(std::move(trees)),
      types(std::move(types)),
      axes(mapped_axes()) {}

bool BodyKey::operator==(const BodyKey& other) const {
  return config == other.config && kind == other.kind && types == other.types &&
         axes == other.axes &&
         std::equal(trees.begin(), trees.end(), other.trees.begin(), other.trees.end(),
                    [](const TreeDef& a, const TreeDef& b) { return a == b; });
}

size_t BodyKey::hash() const {
  size_t hash = std::hash<std::string>()(kind);
  for (const TreeDef& tree : trees) detail::mix(hash, tree.hash());
  for (const ShapeDtype& type : types) detail::mix(hash, type.hash());
  return hash;
}

RecordedBodyPtr BodyCache::find(size_t hash, const BodyKey& key) {
  // Comparing structures may run Python code, which may add entries.
  for (const auto& candidate : entries_.candidates(hash)) {
    if (!(candidate->key == key)) continue;
    entries_.touch(hash, candidate);
    return candidate->body;
  }
  return nullptr;
}

}  // namespace farcall::python
