// Arithmetic of sizes and counts. Programs come from text and files too, so that any number in them
// may lie near the ends of 64 bits: nothing here wraps.
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

// ---- exact; raise INVALID_ARGUMENT where the result does not fit into 64 bits ----

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

// ---- of numbers that are not negative; the largest number stands for what is beyond ----

constexpr int64_t saturated_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
constexpr int64_t saturated_product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

// ---- bytes; raise RESOURCE_EXHAUSTED beyond what a pointer difference holds ----

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

// Whether the parts, none of them negative, make up at most `whole`.
constexpr bool parts_fit(std::initializer_list<int64_t> parts, size_t whole) {
  uint64_t left = whole;
  for (const int64_t part : parts) {
    if (part < 0 || static_cast<uint64_t>(part) > left) return false;
    left -= static_cast<uint64_t>(part);
  }
  return true;
}

}  // namespace farcall
