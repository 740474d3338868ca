// Elementwise primitives with parameters: casts, integer_pow, round, reduce_precision.
#include <farcall/primitives/elementwise.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include <farcall/ops/lax.h>
#include <farcall/trace/interpreter.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

void check_number(ShapeDtype type) {
  if (type.is_token()) invalid_argument("a token has no elements to compute with");
}

// Raises for a conversion between random keys and other dtypes.
void check_no_key(DType from, DType to) {
  if (!is_key(from) && !is_key(to)) return;
  throw TypeError(
      fmt::format("{} cannot be converted to {}; random.key_data gives the words of a key, and "
                  "random.wrap_key_data makes a key from words",
                  dtype_name(from), dtype_name(to)));
}

std::vector<ShapeDtype> convert_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  check_number(inputs[0]);
  const auto& p = params_as<ConvertElementTypeParams>(params);
  if (p.new_dtype == DType::kToken) invalid_argument("an array cannot become a token");
  if (p.new_dtype != inputs[0].dtype()) check_no_key(inputs[0].dtype(), p.new_dtype);
  return {inputs[0].with_dtype(p.new_dtype, p.weak_type)};
}

std::vector<ShapeDtype> bitcast_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  check_number(inputs[0]);
  const DType to = params_as<BitcastConvertTypeParams>(params).new_dtype;
  const DType from = inputs[0].dtype();
  check_no_key(from, to);
  if (dtype_info(from).bits != dtype_info(to).bits) {
    invalid_argument(fmt::format(
        "the dtypes must be of one width; got {} ({} bits) and {} ({} bits)",
        dtype_short_name(from), dtype_info(from).bits, dtype_short_name(to), dtype_info(to).bits));
  }
  return {inputs[0].with_dtype(to)};
}

std::vector<ShapeDtype> integer_pow_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  const ShapeDtype type = inputs[0];
  if (!is_integer(type.dtype()) && !is_floating(type.dtype()) && !is_complex(type.dtype())) {
    invalid_argument(fmt::format("takes numbers; got {}", type.to_string()));
  }
  if (is_integer(type.dtype()) && params_as<IntegerPowParams>(params).y < 0) {
    invalid_argument("integers cannot be raised to a negative power; convert them to floats first");
  }
  return {type};
}

std::vector<ShapeDtype> round_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  if (!is_floating(inputs[0].dtype())) {
    invalid_argument(fmt::format("takes floats; got {}", inputs[0].to_string()));
  }
  const int64_t method = params_as<RoundParams>(params).rounding_method;
  if (method != 0 && method != 1) {
    invalid_argument(
        fmt::format("rounding_method is 0 (away from zero) or 1 (to even), got {}", method));
  }
  return {inputs[0]};
}

std::vector<ShapeDtype> reduce_precision_rule(std::span<const ShapeDtype> inputs,
                                              const Params* params) {
  check_operand_count(inputs, 1);
  if (!is_floating(inputs[0].dtype())) {
    invalid_argument(fmt::format("takes floats; got {}", inputs[0].to_string()));
  }
  const auto& p = params_as<ReducePrecisionParams>(params);
  if (p.exponent_bits < 1 || p.mantissa_bits < 0) {
    invalid_argument(
        fmt::format("needs exponent_bits of at least 1 and mantissa_bits of at least 0, "
                    "got {} and {}",
                    p.exponent_bits, p.mantissa_bits));
  }
  return {inputs[0]};
}

// ---- transformation rules

JvpResults convert_jvp(const JvpCall& call) {
  const Array result = bind_one(call.primitive, call.params, call.primals);
  if (!has_tangent(result.type())) return with_tangent(result, {});
  return with_tangent(result, {lax::convert_element_type(call.tangents[0], result.dtype())});
}
std::vector<Array> convert_transpose(const TransposeCall& call) {
  return {lax::convert_element_type(call.cotangents[0], call.types[0].dtype())};
}

JvpResults integer_pow_jvp(const JvpCall& call) {
  const int64_t y = params_as<IntegerPowParams>(call.params.get()).y;
  const Array& x = call.primals[0];
  const Array& t = call.tangents[0];
  const Array result = bind_one(call.primitive, call.params, call.primals);
  if (y == 0) return with_tangent(result, {});
  if (y == 1) return with_tangent(result, {t});
  const Array factor = scalar_of(x.dtype(), static_cast<double>(y));
  // y - 1 overflows if y is the lowest int64.
  const Array power = y == 2                                     ? x
                      : y == std::numeric_limits<int64_t>::min() ? lax::div(result, x)
                                                                 : lax::integer_pow(x, y - 1);
  return with_tangent(result, {lax::mul(t, lax::mul(factor, power))});
}

const TransformRules kConvertRules = {
    .jvp = convert_jvp, .transpose = convert_transpose, .batch = batch_elementwise};
const TransformRules kIntegerPowRules = {.jvp = integer_pow_jvp, .batch = batch_elementwise};
const TransformRules kFlatRules = {.jvp = zero_jvp, .batch = batch_elementwise};
const TransformRules kReducePrecisionRules = {
    .jvp = linear_jvp, .transpose = self_transpose, .batch = batch_elementwise};

const Primitive kConvert = {.name = "convert_element_type",
                            .type_rule = convert_rule,
                            .parse = parse_params<ConvertElementTypeParams>,
                            .rules = &kConvertRules};
FARCALL_REGISTER_PRIMITIVE(kConvert);
const Primitive kBitcast = {.name = "bitcast_convert_type",
                            .type_rule = bitcast_rule,
                            .parse = parse_params<BitcastConvertTypeParams>,
                            .rules = &kFlatRules};
FARCALL_REGISTER_PRIMITIVE(kBitcast);
const Primitive kIntegerPow = {.name = "integer_pow",
                               .type_rule = integer_pow_rule,
                               .parse = parse_params<IntegerPowParams>,
                               .rules = &kIntegerPowRules};
FARCALL_REGISTER_PRIMITIVE(kIntegerPow);
const Primitive kRound = {.name = "round",
                          .type_rule = round_rule,
                          .parse = parse_params<RoundParams>,
                          .rules = &kFlatRules};
FARCALL_REGISTER_PRIMITIVE(kRound);
const Primitive kReducePrecision = {.name = "reduce_precision",
                                    .type_rule = reduce_precision_rule,
                                    .parse = parse_params<ReducePrecisionParams>,
                                    .rules = &kReducePrecisionRules};
FARCALL_REGISTER_PRIMITIVE(kReducePrecision);

// ---- bitcasts between widths

DType unsigned_of_bits(int bits) {
  switch (bits) {
    case 1:
      return DType::kUInt1;
    case 2:
      return DType::kUInt2;
    case 4:
      return DType::kUInt4;
    case 8:
      return DType::kUInt8;
    case 16:
      return DType::kUInt16;
    case 32:
      return DType::kUInt32;
    default:
      return DType::kUInt64;
  }
}

// Shifts count in integers of at least eight bits.
DType word_of_bits(int bits) { return unsigned_of_bits(std::max(bits, 8)); }

// The index along the last dimension times the width of a part.
Array bit_offsets(DType dtype, std::span<const int64_t> shape, int width) {
  const Array places = lax::iota(dtype, shape, static_cast<int64_t>(shape.size()) - 1);
  return lax::mul(places, scalar_of(dtype, width));
}

// Splits unsigned integers into narrower ones, the lowest first, along a new last dimension.
Array split_words(const Array& words, int width) {
  const int bits = dtype_info(words.dtype()).bits;
  const DType wide = word_of_bits(bits);
  Shape shape = to_shape(words.shape());
  shape.push_back(bits / width);
  const Array spread = lax::broadcast_in_dim(lax::convert_element_type(words, wide), shape,
                                             all_dimensions(words.rank()));
  const Array parts = lax::shift_right_logical(spread, bit_offsets(wide, shape, width));
  const Array mask = scalar_of(wide, std::exp2(width) - 1);
  return lax::convert_element_type(lax::bitwise_and(parts, mask), unsigned_of_bits(width));
}

// Joins unsigned integers along the last dimension, the lowest first, to one wider integer.
Array join_words(const Array& parts, int width) {
  const DType wide = word_of_bits(width);
  const Array offsets = bit_offsets(wide, parts.shape(), dtype_info(parts.dtype()).bits);
  const Array moved = lax::shift_left(lax::convert_element_type(parts, wide), offsets);
  return lax::convert_element_type(lax::reduce_or(moved, {static_cast<int64_t>(parts.rank()) - 1}),
                                   unsigned_of_bits(width));
}

Array bitcast_same_width(const Array& x, DType dtype) {
  return bind_one(kBitcast, make_params(BitcastConvertTypeParams{dtype}), {&x, 1});
}

bool has_plain_bits(DType dtype) { return is_integer(dtype) || is_floating(dtype); }

}  // namespace

namespace lax {

Array convert_element_type(const Array& x, DType dtype, bool weak_type) {
  if (x.dtype() == dtype && x.type().weak_type() == weak_type) return x;
  return bind_one(kConvert, make_params(ConvertElementTypeParams{dtype, weak_type}), {&x, 1});
}

Array bitcast_convert_type(const Array& x, DType dtype) {
  const int from = dtype_info(x.dtype()).bits, to = dtype_info(dtype).bits;
  if (from == to || !has_plain_bits(x.dtype()) || !has_plain_bits(dtype) || from % 2 || to % 2) {
    return bitcast_same_width(x, dtype);
  }
  if (to > from && (x.rank() == 0 || x.shape().back() != to / from)) {
    invalid_argument(
        fmt::format("bitcast_convert_type: the last dimension of {} must have size {}, which makes "
                    "one element of {} ({} bits)",
                    x.type().to_string(), to / from, dtype_name(dtype), to));
  }
  const Array words = bitcast_same_width(x, unsigned_of_bits(from));
  return bitcast_same_width(to < from ? split_words(words, to) : join_words(words, to), dtype);
}

Array integer_pow(const Array& x, int64_t y) {
  return bind_one(kIntegerPow, make_params(IntegerPowParams{y}), {&x, 1});
}

Array round(const Array& x, int64_t rounding_method) {
  return bind_one(kRound, make_params(RoundParams{rounding_method}), {&x, 1});
}

Array reduce_precision(const Array& x, int64_t exponent_bits, int64_t mantissa_bits) {
  return bind_one(kReducePrecision,
                  make_params(ReducePrecisionParams{exponent_bits, mantissa_bits}), {&x, 1});
}

}  // namespace lax
}  // namespace farcall
