// Derived: a cache inside a program for what is derived from it (its derivative, its batched form).
#pragma once

#include <any>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/lru_cache.h>

namespace farcall {

// Copies start empty. Thread-safe.
class Derived {
 public:
  Derived() = default;
  Derived(const Derived&) {}
  Derived& operator=(const Derived&) {
    std::vector<std::shared_ptr<const Made>> dying;
    const std::lock_guard lock(mutex_);
    dying = made_.clear();
    hash_ = 0;
    cost_.flops = cost_.bytes = -1;
    id_ = 0;
    return *this;
  }

  // `make` runs outside the lock. If two threads make the same value, both get the one that was
  // inserted first.
  template <class T, class F>
  T find_or_make(std::string kind, std::vector<int64_t> numbers, const F& make) const {
    const Key key(std::move(kind), std::move(numbers));
    const size_t hash = hash_of_key(key);
    const auto is_wanted = [&](const Made& made) { return made.key == key; };
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = made_.find(hash, is_wanted)) return std::any_cast<T>(found->value);
    }
    auto made = std::make_shared<const Made>(Made{key, make()});
    std::vector<std::shared_ptr<const Made>> dying;
    const std::lock_guard lock(mutex_);
    if (const auto found = made_.find(hash, is_wanted)) return std::any_cast<T>(found->value);
    dying = made_.insert(hash, made);
    return std::any_cast<T>(made->value);
  }

  // The program's hash; 0 until it is computed.
  std::atomic<size_t>& hash() const { return hash_; }

  // The program's cost; negative until it is computed.
  struct KnownCost {
    std::atomic<int64_t> flops{-1}, bytes{-1};
  };
  KnownCost& cost() const { return cost_; }

  // An id that is unique among all programs of the process, including destroyed ones: for keys of
  // values that are derived from two programs.
  FARCALL_API uint64_t id() const;

 private:
  using Key = std::pair<std::string, std::vector<int64_t>>;
  struct Made {
    Key key;
    std::any value;
  };
  static size_t hash_of_key(const Key& key) {
    size_t hash = std::hash<std::string>()(key.first);
    for (const int64_t number : key.second) {
      hash = hash * 0x9E3779B97F4A7C15ull + static_cast<size_t>(number) + 1;
    }
    return hash;
  }
  mutable std::mutex mutex_;
  mutable LruCache<const Made> made_;
  mutable std::atomic<size_t> hash_{0};
  mutable KnownCost cost_;
  mutable std::atomic<uint64_t> id_{0};  // 0 until the first call of id()
};

}  // namespace farcall
