// The elementwise primitives without parameters, made from the rows of elementwise_list.h.
#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/interpreter.h>

#include "ops/elementwise/rules.h"
#include "ops/internal/register.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

enum Kinds : unsigned { B = 1, S = 2, U = 4, F = 8, C = 16, K = 32 };
enum class Result { kSame, kBool, kReal, kComplex };
using enum Result;

struct Row {
  std::string_view name;
  size_t operands;
  unsigned kinds;
  Result result;
};

constexpr Row kRows[] = {
#define FARCALL_UNARY(function, primitive, kinds, result, ...) {primitive, 1, kinds, result},
#define FARCALL_BINARY(function, primitive, kinds, result, ...) {primitive, 2, kinds, result},
#include <farcall/ops/elementwise_list.h>
};
constexpr size_t kNumRows = std::size(kRows);

enum Index : size_t {
#define FARCALL_UNARY(function, ...) kIndex_##function,
#define FARCALL_BINARY(function, ...) kIndex_##function,
#include <farcall/ops/elementwise_list.h>
};

unsigned kind_bit(DType dtype) {
  switch (dtype_info(dtype).kind) {
    case DTypeKind::kBool:
      return B;
    case DTypeKind::kSigned:
      return S;
    case DTypeKind::kUnsigned:
      return U;
    case DTypeKind::kFloat:
      return F;
    case DTypeKind::kComplex:
      return C;
    case DTypeKind::kKey:
      return K;
    default:
      return 0;
  }
}

std::string describe_kinds(unsigned kinds) {
  constexpr std::pair<unsigned, std::string_view> kNames[] = {
      {B, "bool"},   {S, "signed integers"}, {U, "unsigned integers"},
      {F, "floats"}, {C, "complex numbers"}, {K, "keys"}};
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if (!(kinds & bit)) continue;
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

ShapeDtype infer(const Row& row, std::span<const ShapeDtype> inputs) {
  check_operand_count(inputs, row.operands);
  ShapeDtype type = common_dtype(inputs, elementwise_shape(inputs));
  if (!(row.kinds & kind_bit(type.dtype()))) {
    throw TypeError(
        fmt::format("takes {}; got {}", describe_kinds(row.kinds), types_to_string(inputs)));
  }
  switch (row.result) {
    case kBool:
      return type.with_dtype(DType::kBool);
    case kReal:
      return type.with_dtype(real_dtype(type.dtype()), type.weak_type());
    case kComplex:
      if (complex_dtype(type.dtype()) == type.dtype()) {
        invalid_argument(fmt::format("complex numbers are made of f32 or f64, got {}",
                                     dtype_short_name(type.dtype())));
      }
      return type.with_dtype(complex_dtype(type.dtype()), type.weak_type());
    default:
      return type;
  }
}

template <size_t I>
std::vector<ShapeDtype> elementwise_rule(std::span<const ShapeDtype> inputs, const Params*) {
  return {infer(kRows[I], inputs)};
}

const auto& primitives() {
  static const auto* table = [] {
    auto* made = new std::array<Primitive, kNumRows>;
    [&]<size_t... I>(std::index_sequence<I...>) {
      (((*made)[I] = {.name = kRows[I].name,
                      .type_rule = elementwise_rule<I>,
                      .rules = &elementwise_rules(I)}),
       ...);
    }
    (std::make_index_sequence<kNumRows>());
    return made;
  }();
  return *table;
}

const bool kElementwiseRegistered = [] {
  for (const Primitive& primitive : primitives()) register_primitive(primitive);
  return true;
}();

Array apply_row(Index index, std::initializer_list<Array> operands) {
  return bind_one(primitives()[index], nullptr, operands);
}

// As in JAX, the conjugate of floats is complex.
Array apply_unary(Index index, const Array& x) {
  const bool is_promoted = index == kIndex_conj && is_floating(x.dtype());
  return apply_row(index,
                   {is_promoted ? lax::convert_element_type(x, complex_dtype(x.dtype())) : x});
}

// Dimensions of size 1 are repeated where both operands have the same number of dimensions. Whole
// exponents of inexact numbers are converted.
Array apply_binary(Index index, const Array& x, const Array& y) {
  if (index == kIndex_pow && is_inexact(x.dtype()) && is_integer(y.dtype())) {
    return apply_binary(index, x, lax::convert_element_type(y, x.dtype()));
  }
  const auto a = x.shape(), b = y.shape();
  if (a.size() != b.size() || std::ranges::equal(a, b)) return apply_row(index, {x, y});
  Shape shape(a.begin(), a.end());
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) shape[i] = b[i];
    if (b[i] != 1 && b[i] != shape[i]) return apply_row(index, {x, y});  // which raises
  }
  return apply_row(index, {numpy::broadcast_to(x, shape), numpy::broadcast_to(y, shape)});
}

}  // namespace

namespace lax {

#define FARCALL_UNARY(function, ...) \
  Array function(const Array& x) { return apply_unary(kIndex_##function, x); }
#define FARCALL_BINARY(function, ...) \
  Array function(const Array& x, const Array& y) { return apply_binary(kIndex_##function, x, y); }
#include <farcall/ops/elementwise_list.h>

}  // namespace lax
}  // namespace farcall
