// Sums and products of costs. Loops in loops cost more than 64 bits hold; the largest number then
// stands for what is beyond.
#pragma once

#include <cstdint>

#include <farcall/core/sizes.h>
#include <farcall/program/primitive.h>

namespace farcall {

inline Cost operator+(const Cost& a, const Cost& b) {
  return {saturated_sum(a.flops, b.flops), saturated_sum(a.bytes, b.bytes)};
}

inline Cost operator*(int64_t times, const Cost& each) {
  return {saturated_product(times, each.flops), saturated_product(times, each.bytes)};
}

}  // namespace farcall
