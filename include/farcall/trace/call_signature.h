// CallSignature: calls of a function with different signatures need different programs.
// SignatureMap: a cache by signature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/lru_cache.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/trace/array.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/cache_key.h>
#include <farcall/trace/tree_def.h>

namespace farcall::detail {

struct FARCALL_API CallSignature {
  TreeDef arguments;              // static values are nodes
  std::vector<ShapeDtype> types;  // of the leaves
  // The function may depend on the enclosing mapped axes, on flags and on definitions of targets.
  std::vector<std::pair<std::string, int64_t>> axes = mapped_axes();
  uint64_t config = cache_key();

  // Where axes are tracked (trace/varying.h), the function depends on those over which its
  // arguments vary too.
  void add_varying_axes(std::span<const Array> array_arguments);
  bool operator==(const CallSignature& other) const;
  size_t hash() const;
};

// A least-recently-used cache of values by signature. Thread-safe. Signatures are compared, and
// values destroyed, outside the lock, because both may run user code.
template <class Value>
class SignatureMap {
 public:
  using Pointer = std::shared_ptr<const Value>;

  // Null when there is none.
  Pointer find(const CallSignature& signature) const {
    const size_t hash = signature.hash();
    return find_among(candidates(hash), hash, signature);
  }

  // Returns the value kept for the signature: an earlier one if another thread inserted first.
  Pointer insert(CallSignature signature, Pointer value) {
    const size_t hash = signature.hash();
    const auto entry = std::make_shared<const Entry>(Entry{std::move(signature), value});
    while (true) {
      const std::vector<EntryPtr> known = candidates(hash);
      if (Pointer found = find_among(known, hash, entry->signature)) return found;
      std::vector<EntryPtr> displaced;
      const std::lock_guard lock(mutex_);
      if (entries_.candidates(hash) != known) continue;  // compare with the new entries too
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

  // `visit(value)` runs under the lock: it must not use this map.
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
