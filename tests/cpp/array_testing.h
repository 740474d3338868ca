// Helpers for tests of array functions: values as doubles, and error messages.
#pragma once

#include <string>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/array.h>

namespace farcall {

inline std::vector<double> doubles(const Array& x) {
  const Array wide = lax::convert_element_type(x, DType::kFloat64);
  const auto values = wide.values<double>();
  return {values.begin(), values.end()};
}

// The message of the Error that `f` raises.
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

}  // namespace farcall
