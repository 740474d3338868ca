// Operands and attributes as written on the command line: "f32[N,64]", "eps:f32=1e-5".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/core/layout.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/ffi/attribute.h>

#include "tools/size_expression.h"

namespace farcall::tools {

struct Operand {
  DType dtype = DType::kFloat32;
  std::vector<SizeExpression> extents;
  std::optional<Layout> layout;                      // without a value: row-major
  std::optional<std::pair<int64_t, int64_t>> range;  // of values; none: suits the dtype

  // No value if a dimension has no valid size, or if the array has too many bytes.
  std::optional<ShapeDtype> type(const Sizes& sizes) const;
  std::string to_string() const;
};

// The letter of a dimension of any size: N, M, K and so on.
std::string_view letter_of_dimension(size_t dimension);

// The interface's name of a dtype, as in signatures: "s32", "pred". The tools print these.
std::string_view element_type_name(DType dtype);
std::string type_text(const ShapeDtype& type);  // "s32[2,3]"

// "f32[N,(M+1)//2]", "s32[]", "f64"; names of programs (i32, bool) are accepted too. A size "?", as
// in signatures, is the letter of its dimension. Raises Failure(kUsage).
Operand parse_operand(std::string_view text);
DType parse_element_type(std::string_view text, std::string_view what = "");

// "eps:f32=1e-5", "axes:s64[]=0,1", "name:str=abc", "sub.n:s32=1" for a member of a dictionary. A
// number without a type is plain and gets the type that the handler declares.
void parse_attribute(std::string_view text, Attributes& attributes);

std::vector<std::string> split(std::string_view text, char separator);
int64_t parse_integer(std::string_view text, std::string_view what);

}  // namespace farcall::tools
