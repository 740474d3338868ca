// The identities of reductions: what an accumulator starts with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <farcall/core/dtype.h>

namespace farcall::native {

// One element of any dtype.
struct alignas(16) Element {
  std::byte bytes[16] = {};

  template <class T>
  static Element of(T value) {
    Element element;
    std::memcpy(element.bytes, &value, sizeof(T));
    return element;
  }
  template <class T>
  T as() const {
    T value;
    std::memcpy(static_cast<void*>(&value), bytes, sizeof(T));
    return value;
  }
};

enum class Identity : uint8_t { kZero, kOne, kLowest, kHighest, kAllBits };

// The identity as an element of the compute dtype.
Element identity_value(Identity identity, DType dtype);

}  // namespace farcall::native
