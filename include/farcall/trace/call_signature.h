// What tells calls of one function apart that need programs of their own, and values kept by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/config.h>
#include <farcall/core/export.h>
#include <farcall/core/lru_cache.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/tree_def.h>

namespace farcall::detail {

struct FARCALL_API CallSignature {
  TreeDef arguments;              // with static values as nodes
  std::vector<ShapeDtype> types;  // of the leaves
  // The function may ask for the mapped axes around the call, and for flags.
  std::vector<std::pair<std::string, int64_t>> axes = mapped_axes();
  uint64_t config = config_key();

  bool operator==(const CallSignature& other) const;
  size_t hash() const;
};

// Values by signature; the one used least recently goes where there are too many. Thread-safe.
// Signatures are compared, and values die, outside of its lock, because both may run code of users.
template <class Value>
class SignatureMap {
 public:
  using Pointer = std::shared_ptr<const Value>;

  // Null when there is none.
  Pointer find(const CallSignature& signature) const {
    const size_t hash = signature.hash();
    return find_among(candidates(hash), hash, signature);
  }

  // What is kept for the signature: another value if a thread was faster.
  Pointer insert(CallSignature signature, Pointer value) {
    const size_t hash = signature.hash();
    const auto entry = std::make_shared<const Entry>(Entry{std::move(signature), value});
    while (true) {
      const std::vector<EntryPtr> known = candidates(hash);
      if (Pointer found = find_among(known, hash, entry->signature)) return found;
      std::vector<EntryPtr> displaced;
      const std::lock_guard lock(mutex_);
      if (entries_.candidates(hash) != known) continue;  // compares the new ones too
      displaced = entries_.insert(hash, entry);
      return value;
    }
  }

  void clear() {
    std::vector<EntryPtr> held;
    const std::lock_guard lock(mutex_);
    held = entries_.clear();
  }

  CacheInfo info() const {
    const std::lock_guard lock(mutex_);
    return entries_.info();
  }

  // `visit(value)` must not come back to this.
  template <class Visit>
  void for_each(const Visit& visit) const {
    const std::lock_guard lock(mutex_);
    entries_.for_each([&](const EntryPtr& entry) { visit(entry->value); });
  }

 private:
  struct Entry {
    CallSignature signature;
    Pointer value;
  };
  using EntryPtr = std::shared_ptr<const Entry>;

  std::vector<EntryPtr> candidates(size_t hash) const {
    const std::lock_guard lock(mutex_);
    return entries_.candidates(hash);
  }

  Pointer find_among(const std::vector<EntryPtr>& candidates, size_t hash,
                     const CallSignature& signature) const {
    for (const EntryPtr& candidate : candidates) {
      if (!(candidate->signature == signature)) continue;
      const std::lock_guard lock(mutex_);
      entries_.touch(hash, candidate);
      return candidate->value;
    }
    return nullptr;
  }

  mutable std::mutex mutex_;
  mutable LruCache<const Entry> entries_;
};

}  // namespace farcall::detail
