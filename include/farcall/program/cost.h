// Sums and products of costs. Loops in loops cost more than 64 bits hold; the largest number then
// stands for what is beyond.
#pragma once

#include <cstdint>

#include <farcall/program/primitive.h>

namespace farcall {

inline int64_t saturated_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

inline int64_t saturated_product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

inline Cost operator+(const Cost& a, const Cost& b) {
  return {saturated_sum(a.flops, b.flops), saturated_sum(a.bytes, b.bytes)};
}

inline Cost operator*(int64_t times, const Cost& each) {
  return {saturated_product(times, each.flops), saturated_product(times, each.bytes)};
}

}  // namespace farcall
