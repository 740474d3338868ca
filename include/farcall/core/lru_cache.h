// LruCache: a bounded cache. Beyond the limit, the least recently used value is dropped.
#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <farcall/core/export.h>

namespace farcall {

// The limit of each cache: programs of one jitted function, of eager operations, of one program's
// derivatives. Default: 768.
FARCALL_API size_t cache_limit();
// Raises INVALID_ARGUMENT for 0. A cache with more values shrinks at its next insertion.
FARCALL_API void set_cache_limit(size_t limit);

struct CacheInfo {
  size_t size = 0;
  size_t limit = 0;
  size_t misses = 0;     // values that had to be created
  size_t evictions = 0;  // values that were dropped for others
};

// Not thread-safe: the owner must lock around each call, but should destroy returned values outside
// the lock.
template <class T>
class LruCache {
 public:
  using Pointer = std::shared_ptr<T>;

  // The values with this hash, for owners whose comparison may modify the cache.
  std::vector<Pointer> candidates(size_t hash) const {
    std::vector<Pointer> found;
    const auto [begin, end] = by_hash_.equal_range(hash);
    for (auto it = begin; it != end; ++it) found.push_back(it->second->value);
    return found;
  }

  // The value that matches, which becomes the most recently used; null if there is none.
  template <class Matches>
  Pointer find(size_t hash, const Matches& matches) {
    const auto [begin, end] = by_hash_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (!matches(*it->second->value)) continue;
      order_.splice(order_.begin(), order_, it->second);
      return it->second->value;
    }
    return nullptr;
  }

  // Makes a value the most recently used. Does nothing if it has left the cache.
  void touch(size_t hash, const Pointer& value) {
    find(hash, [&](const T& candidate) { return &candidate == value.get(); });
  }

  // Adds a value. Returns the values dropped for it, to be destroyed outside the owner's lock.
  [[nodiscard]] std::vector<Pointer> insert(size_t hash, Pointer value) {
    ++misses_;
    order_.push_front({hash, std::move(value)});
    by_hash_.emplace(hash, order_.begin());
    std::vector<Pointer> displaced;
    while (order_.size() > cache_limit()) {
      const auto last = std::prev(order_.end());
      const auto [begin, end] = by_hash_.equal_range(last->hash);
      for (auto it = begin; it != end; ++it) {
        if (it->second != last) continue;
        by_hash_.erase(it);
        break;
      }
      displaced.push_back(std::move(last->value));
      order_.erase(last);
      ++evictions_;
    }
    return displaced;
  }

  // Empties the cache. Returns its values, to be destroyed outside the owner's lock.
  [[nodiscard]] std::vector<Pointer> clear() {
    std::vector<Pointer> held;
    for (Item& item : order_) held.push_back(std::move(item.value));
    by_hash_.clear();
    order_.clear();
    return held;
  }

  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Item& item : order_) visit(item.value);
  }

  size_t size() const { return order_.size(); }
  CacheInfo info() const { return {order_.size(), cache_limit(), misses_, evictions_}; }

 private:
  struct Item {
    size_t hash;
    Pointer value;
  };
  std::list<Item> order_;  // most recently used first
  std::unordered_multimap<size_t, typename std::list<Item>::iterator> by_hash_;
  size_t misses_ = 0, evictions_ = 0;
};

}  // namespace farcall
