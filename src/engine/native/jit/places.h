// Arrays that stay in memory while a loop runs, and that its steps change in place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/native/jit/elements.h"

namespace farcall::native::jit {

// Each change makes a new version of the array, and the versions before it are gone: a program that
// reads one of them is refused.
class Places {
 public:
  // An array at this address.
  Value add(ShapeDtype type, Arg address);
  // The array after a change of its memory.
  Value changed(const Value& before);
  // The version that is in memory now.
  Value current(const Value& version) const;

  // Where memory holds the array; no value if it is only in registers. Raises Refusal for a version
  // that is gone.
  std::optional<Arg> address_of(const Value& value) const;

  // By place: the number of the version that is in memory now.
  const std::vector<uint32_t>& versions() const { return versions_; }
  // The places that had other versions.
  std::vector<size_t> changed_since(const std::vector<uint32_t>& versions) const;
  // Before another branch: goes back to the versions before the first one.
  void go_back(const std::vector<uint32_t>& versions) {
    std::ranges::copy(versions, versions_.begin());
  }
  void renew(size_t place) { versions_[place] = ++last_; }

 private:
  std::vector<Arg> addresses_;  // by place
  std::vector<uint32_t> versions_;
  uint32_t last_ = 0;  // of all versions
};

}  // namespace farcall::native::jit
