// What was recorded of the functions that loops and branches are made of.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/config.h>
#include <farcall/core/lru_cache.h>
#include <farcall/ops/control_flow.h>

#include "tree.h"

namespace farcall::python {

// Bodies with the structure of what they return.
struct RecordedBody {
  std::vector<Recording> programs;
  TreeDef result_tree;
};
using RecordedBodyPtr = std::shared_ptr<const RecordedBody>;

// What tells recordings of one function apart. The mapped axes around the call belong to it,
// because the function may ask for their sizes, and the flags.
struct BodyKey {
  BodyKey(std::string kind, std::vector<TreeDef> trees, std::vector<ShapeDtype> types);
  bool operator==(const BodyKey& other) const;
  size_t hash() const;

  std::string kind;  // which construct, and what else the recording depends on
  std::vector<TreeDef> trees;
  std::vector<ShapeDtype> types;
  std::vector<std::pair<std::string, int64_t>> axes;
  uint64_t config = config_key();
};

// Recordings of one function, or of functions that are used together. Only those are kept that
// close over no array. Guarded by the interpreter lock.
class BodyCache {
 public:
  template <class Record>
  RecordedBodyPtr find_or_record(const BodyKey& key, const Record& record) {
    const size_t hash = key.hash();
    if (RecordedBodyPtr found = find(hash, key)) return found;
    auto made = std::make_shared<const RecordedBody>(record());
    for (const Recording& program : made->programs) {
      if (!program.captured.empty()) return made;
    }
    const auto dying = entries_.insert(hash, std::make_shared<const Entry>(Entry{key, made}));
    return made;
  }

 private:
  struct Entry {
    BodyKey key;
    RecordedBodyPtr body;
  };
  RecordedBodyPtr find(size_t hash, const BodyKey& key);

  LruCache<const Entry> entries_;
};

}  // namespace farcall::python
