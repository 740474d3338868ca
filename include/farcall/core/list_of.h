// ListOf: a read-only list of values as a function parameter.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>

namespace farcall {

// A span that can be written as a braced list in the call: zeros({2, 3}). For parameters only,
// because it does not own the values.
template <class T>
class ListOf : public std::span<const T> {
  using Span = std::span<const T>;

 public:
  ListOf() = default;
  ListOf(std::initializer_list<T> values) : Span(values.begin(), values.size()) {}
  ListOf(const T* data, size_t size) : Span(data, size) {}
  template <size_t n>
  ListOf(const T (&values)[n]) : Span(values) {}
  template <class Range>
  requires(std::convertible_to<const Range&, Span> && !std::derived_from<Range, ListOf>)
      ListOf(const Range& values)
      : Span(values) {}
};

}  // namespace farcall
