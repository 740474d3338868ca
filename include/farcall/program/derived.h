// Derived: what was made from a program (its derivative, its batched form), kept as long as it is.
#pragma once

#include <any>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>

namespace farcall {

// A copy of a program begins with nothing derived. Thread-safe.
class Derived {
 public:
  Derived() = default;
  Derived(const Derived&) {}
  Derived& operator=(const Derived&) {
    const std::lock_guard lock(mutex_);
    made_.clear();
    hash_ = 0;
    id_ = 0;
    return *this;
  }

  // `make` runs unlocked; where two threads make the same thing, the first one stays.
  template <class T, class F>
  T find_or_make(std::string kind, std::vector<int64_t> numbers, const F& make) const {
    const Key key(std::move(kind), std::move(numbers));
    {
      const std::lock_guard lock(mutex_);
      if (const auto it = made_.find(key); it != made_.end()) return std::any_cast<T>(it->second);
    }
    T made = make();
    const std::lock_guard lock(mutex_);
    return std::any_cast<T>(made_.try_emplace(key, std::move(made)).first->second);
  }

  // A number worked out once; 0 until then.
  std::atomic<size_t>& hash() const { return hash_; }

  // Tells this program from every other one of the process, ended ones included: for what is made
  // from two programs.
  FARCALL_API uint64_t id() const;

 private:
  using Key = std::pair<std::string, std::vector<int64_t>>;
  mutable std::mutex mutex_;
  mutable std::map<Key, std::any> made_;
  mutable std::atomic<size_t> hash_{0};
  mutable std::atomic<uint64_t> id_{0};  // 0 until somebody asks
};

}  // namespace farcall
