// Arithmetic of sizes and counts without wrap-around. Programs also come from text and files, so
// any number in them may be close to the limits of 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <farcall/core/export.h>

namespace farcall {

namespace detail {
[[noreturn]] FARCALL_API void size_overflow(int64_t a, char operation, int64_t b);
[[noreturn]] FARCALL_API void memory_overflow();
}  // namespace detail

// ---- exact; raise INVALID_ARGUMENT if the result does not fit into 64 bits ----

constexpr int64_t checked_sum(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) detail::size_overflow(a, '+', b);
  return result;
}
constexpr int64_t checked_difference(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_sub_overflow(a, b, &result)) detail::size_overflow(a, '-', b);
  return result;
}
constexpr int64_t checked_product(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) detail::size_overflow(a, '*', b);
  return result;
}

// ---- of non-negative numbers; results too large become INT64_MAX ----

constexpr int64_t saturated_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
constexpr int64_t saturated_product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

// ---- bytes; raise RESOURCE_EXHAUSTED above PTRDIFF_MAX ----

constexpr size_t memory_sum(size_t a, size_t b) {
  size_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum) || sum > PTRDIFF_MAX) detail::memory_overflow();
  return sum;
}
constexpr size_t memory_product(size_t a, size_t b) {
  size_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > PTRDIFF_MAX) detail::memory_overflow();
  return product;
}

// Whether the parts are non-negative and add up to at most `whole`.
constexpr bool parts_fit(std::initializer_list<int64_t> parts, size_t whole) {
  uint64_t left = whole;
  for (const int64_t part : parts) {
    if (part < 0 || static_cast<uint64_t>(part) > left) return false;
    left -= static_cast<uint64_t>(part);
  }
  return true;
}

}  // namespace farcall
