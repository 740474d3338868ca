// Effects: what an equation does besides computing its results.
#pragma once

#include <cstdint>

namespace farcall {

// A set of effects. An equation with any effect runs exactly once per execution and is never
// removed or merged; equations with an ordered effect keep their order among themselves.
enum class Effects : uint8_t { kNone = 0, kSideEffect = 1, kOrdered = 2 };

constexpr Effects operator|(Effects a, Effects b) {
  return static_cast<Effects>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}
constexpr Effects& operator|=(Effects& a, Effects b) { return a = a | b; }
constexpr bool has_effect(Effects effects) { return effects != Effects::kNone; }

}  // namespace farcall
