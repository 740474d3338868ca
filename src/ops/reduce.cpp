// Reductions along axes, and the positions of extremes.
#include <farcall/primitives/reduce.h>

#include <fmt/format.h>

#include <farcall/ops/lax.h>
#include <farcall/trace/interpreter.h>

#include "ops/register.h"
#include "ops/type_rules.h"

namespace farcall {
namespace {

ShapeDtype without_axes(ShapeDtype type, std::span<const int64_t> axes) {
  check_axes(axes, type.rank(), "axes");
  Shape shape;
  size_t next = 0;
  for (size_t i = 0; i < type.rank(); ++i) {
    if (next < axes.size() && axes[next] == static_cast<int64_t>(i)) {
      ++next;
    } else {
      shape.push_back(type.shape()[i]);
    }
  }
  return type.with_shape(shape);
}

bool is_number(DType dtype) { return is_integer(dtype) || is_floating(dtype) || is_complex(dtype); }
bool is_ordered(DType dtype) {
  return dtype == DType::kBool || is_integer(dtype) || is_floating(dtype);
}
bool is_bits(DType dtype) { return dtype == DType::kBool || is_integer(dtype); }

template <bool (*accepts)(DType)>
std::vector<ShapeDtype> reduce_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  if (!accepts(inputs[0].dtype())) {
    type_error(fmt::format("is not defined for {}", inputs[0].to_string()));
  }
  return {without_axes(inputs[0], params_as<ReduceParams>(params).axes)};
}

std::vector<ShapeDtype> arg_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  const auto& p = params_as<ArgReduceParams>(params);
  if (!is_ordered(inputs[0].dtype())) {
    type_error(fmt::format("is not defined for {}", inputs[0].to_string()));
  }
  if (!is_integer(p.index_dtype)) {
    type_error(fmt::format("index_dtype must be an integer type, got {}",
                           dtype_short_name(p.index_dtype)));
  }
  const ShapeDtype result = without_axes(inputs[0], std::span(&p.axis, 1));
  if (inputs[0].shape()[p.axis] == 0) {
    type_error(fmt::format("dimension {} of {} is empty and has no extreme", p.axis,
                           inputs[0].to_string()));
  }
  return {result.with_dtype(p.index_dtype)};
}

int64_t reduce_flops(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype>,
                     const Params*) {
  return inputs[0].size();
}

constexpr Primitive reduction(std::string_view name, decltype(Primitive::type_rule) rule) {
  return {
      .name = name, .type_rule = rule, .parse = parse_params<ReduceParams>, .flops = reduce_flops};
}
constexpr Primitive position(std::string_view name) {
  return {.name = name,
          .type_rule = arg_rule,
          .parse = parse_params<ArgReduceParams>,
          .flops = reduce_flops};
}

const Primitive kSum = reduction("reduce_sum", reduce_rule<is_number>);
FARCALL_REGISTER_PRIMITIVE(kSum);
const Primitive kProd = reduction("reduce_prod", reduce_rule<is_number>);
FARCALL_REGISTER_PRIMITIVE(kProd);
const Primitive kMax = reduction("reduce_max", reduce_rule<is_ordered>);
FARCALL_REGISTER_PRIMITIVE(kMax);
const Primitive kMin = reduction("reduce_min", reduce_rule<is_ordered>);
FARCALL_REGISTER_PRIMITIVE(kMin);
const Primitive kAnd = reduction("reduce_and", reduce_rule<is_bits>);
FARCALL_REGISTER_PRIMITIVE(kAnd);
const Primitive kOr = reduction("reduce_or", reduce_rule<is_bits>);
FARCALL_REGISTER_PRIMITIVE(kOr);
const Primitive kArgmax = position("argmax");
FARCALL_REGISTER_PRIMITIVE(kArgmax);
const Primitive kArgmin = position("argmin");
FARCALL_REGISTER_PRIMITIVE(kArgmin);

Array reduce(const Primitive& primitive, const Array& x, std::span<const int64_t> axes) {
  return bind_one(primitive, make_params(ReduceParams{{axes.begin(), axes.end()}}), {&x, 1});
}
Array arg_reduce(const Primitive& primitive, const Array& x, int64_t axis, DType dtype) {
  return bind_one(primitive, make_params(ArgReduceParams{axis, dtype}), {&x, 1});
}

}  // namespace

namespace lax {

Array reduce_sum(const Array& x, std::span<const int64_t> axes) { return reduce(kSum, x, axes); }
Array reduce_prod(const Array& x, std::span<const int64_t> axes) { return reduce(kProd, x, axes); }
Array reduce_max(const Array& x, std::span<const int64_t> axes) { return reduce(kMax, x, axes); }
Array reduce_min(const Array& x, std::span<const int64_t> axes) { return reduce(kMin, x, axes); }
Array reduce_and(const Array& x, std::span<const int64_t> axes) { return reduce(kAnd, x, axes); }
Array reduce_or(const Array& x, std::span<const int64_t> axes) { return reduce(kOr, x, axes); }
Array argmax(const Array& x, int64_t axis, DType index_dtype) {
  return arg_reduce(kArgmax, x, axis, index_dtype);
}
Array argmin(const Array& x, int64_t axis, DType index_dtype) {
  return arg_reduce(kArgmin, x, axis, index_dtype);
}

}  // namespace lax
}  // namespace farcall
