// Helpers for tests of passes: programs as text before and after a pass, and the results of both.
#pragma once

#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/passes/passes.h>
#include <farcall/program/text.h>
#include <farcall/program/verify.h>
#include <farcall/trace/record.h>

namespace farcall::testing {

// Values that include all special cases of arithmetic.
inline Array array_of(ShapeDtype type) {
  Storage storage = Storage::allocate(type.nbytes());
  std::memset(storage.data(), 0, type.nbytes());
  for (int64_t i = 0; i < type.size(); ++i) {
    constexpr float kNumbers[] = {-0.0f, 1.5f, std::numeric_limits<float>::infinity(), -3.0f,
                                  std::numeric_limits<float>::quiet_NaN()};
    if (type.dtype() == DType::kFloat32) {
      // Every sixth one is a signaling NaN.
      const uint32_t bits = i % 6 == 5 ? 0xFF812345 : std::bit_cast<uint32_t>(kNumbers[i % 6 % 5]);
      static_cast<uint32_t*>(storage.data())[i] = bits;
    } else if (type.dtype() == DType::kInt32) {
      static_cast<int32_t*>(storage.data())[i] = static_cast<int32_t>(1 - i);
    } else if (type.dtype() == DType::kBool) {
      static_cast<bool*>(storage.data())[i] = i % 2 == 0;
    }
  }
  return Array(type, std::move(storage));
}

inline std::vector<std::string> bytes_of_results(const Program& program,
                                                 const std::vector<Array>& inputs) {
  std::vector<std::string> all;
  for (const Array& result : evaluate(program, inputs)) {
    const Storage& storage = result.storage();
    all.emplace_back(static_cast<const char*>(storage.data()), storage.nbytes());
  }
  return all;
}

// Expects that `pass` turns `before` into a valid program equal to `after`, with bitwise the same
// results when run equation by equation.
template <class Pass>
void expect_after(const ProgramPtr& before, const Pass& pass, std::string_view after) {
  const std::string text = to_text(*before);
  const ProgramPtr got = pass(before);
  EXPECT_EQ(to_text(*before), text) << "a program never changes";
  verify(*got);
  EXPECT_TRUE(*got == *parse_program(after)) << to_text(*got);
  std::vector<Array> inputs;
  for (const ShapeDtype& type : before->input_types()) inputs.push_back(array_of(type));
  EXPECT_EQ(bytes_of_results(*got, inputs), bytes_of_results(*before, inputs)) << to_text(*got);
}
template <class Pass>
void expect_after(std::string_view before, const Pass& pass, std::string_view after) {
  expect_after(parse_program(before), pass, after);
}
// Expects that the pass returns the program itself.
template <class Pass>
void expect_same(std::string_view text, const Pass& pass) {
  const ProgramPtr program = parse_program(text);
  const ProgramPtr got = pass(program);
  EXPECT_EQ(got, program) << to_text(*got);
}

}  // namespace farcall::testing
