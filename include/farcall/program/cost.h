// Sums and products of costs. They saturate: the cost of nested loops may exceed 64 bits.
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
