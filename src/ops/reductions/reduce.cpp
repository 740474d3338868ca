// Reductions along axes, and the indices of extremes.
#include <farcall/primitives/reduce.h>

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include <farcall/core/layout.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/reduce.h>
#include <farcall/trace/interpreter.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"

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

bool is_bits(DType dtype) { return dtype == DType::kBool || is_integer(dtype); }

template <bool (*accepts)(DType)>
std::vector<ShapeDtype> reduce_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  if (!accepts(inputs[0].dtype())) {
    invalid_argument(fmt::format("is not defined for {}", inputs[0].to_string()));
  }
  return {without_axes(inputs[0], params_as<ReduceParams>(params).axes)};
}

std::vector<ShapeDtype> arg_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  const auto& p = params_as<ArgReduceParams>(params);
  if (!is_ordered(inputs[0].dtype())) {
    invalid_argument(fmt::format("is not defined for {}", inputs[0].to_string()));
  }
  if (!is_integer(p.index_dtype)) {
    invalid_argument(fmt::format("index_dtype must be an integer type, got {}",
                                 dtype_short_name(p.index_dtype)));
  }
  const ShapeDtype result = without_axes(inputs[0], std::span(&p.axis, 1));
  if (inputs[0].shape()[p.axis] == 0) {
    invalid_argument(fmt::format("dimension {} of {} is empty and has no extreme", p.axis,
                                 inputs[0].to_string()));
  }
  return {result.with_dtype(p.index_dtype)};
}

int64_t reduce_flops(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype>,
                     const Params*) {
  return inputs[0].size();
}

// ---- transformation rules

// The dimensions that a reduction along `axes` keeps.
std::vector<int64_t> kept(size_t rank, std::span<const int64_t> axes) {
  std::vector<int64_t> dimensions = all_dimensions(rank);
  for (const int64_t axis : axes) std::erase(dimensions, axis);
  return dimensions;
}

// Broadcasts the result of a reduction back along `axes`.
Array broadcast_back(const Array& x, std::span<const int64_t> shape,
                     std::span<const int64_t> axes) {
  return lax::broadcast_in_dim(x, shape, kept(shape.size(), axes));
}

std::vector<Array> sum_transpose(const TransposeCall& call) {
  const auto& axes = params_as<ReduceParams>(call.params.get()).axes;
  return {broadcast_back(call.cotangents[0], call.types[0].shape(), axes)};
}

// Halves the number of factors until one is left. Dividing the product by each factor would be
// shorter, but fails for zero factors.
JvpResults prod_jvp(const JvpCall& call) {
  const auto& axes = params_as<ReduceParams>(call.params.get()).axes;
  const Array result = bind_one(call.primitive, call.params, call.primals);
  std::vector<int64_t> order = axes;
  const std::vector<int64_t> rest = kept(call.primals[0].rank(), axes);
  order.insert(order.end(), rest.begin(), rest.end());
  int64_t count = 1;
  for (const int64_t axis : axes) count *= call.primals[0].shape()[axis];
  if (count == 0) return with_tangent(result, {});
  const Shape shape = with_batch(result.shape(), 0, count);
  Array x = lax::reshape(lax::transpose(call.primals[0], order), shape);
  Array t = lax::reshape(lax::transpose(call.tangents[0], order), shape);
  for (; count > 1; count = (count + 1) / 2) {
    const int64_t half = count / 2;
    const Array a = rows(x, 0, half), b = rows(x, half, 2 * half);
    Array product = lax::mul(a, b);
    Array tangent = lax::add(lax::mul(rows(t, 0, half), b), lax::mul(rows(t, half, 2 * half), a));
    if (count % 2 == 1) {
      product = lax::concatenate(std::array{product, rows(x, count - 1, count)}, 0);
      tangent = lax::concatenate(std::array{tangent, rows(t, count - 1, count)}, 0);
    }
    x = product;
    t = tangent;
  }
  return with_tangent(result, {lax::reshape(t, result.shape())});
}

// The tangent of an extreme is the mean of the tangents of all elements that are equal to it.
JvpResults extreme_jvp(const JvpCall& call) {
  const auto& axes = params_as<ReduceParams>(call.params.get()).axes;
  const Array& x = call.primals[0];
  const Array result = bind_one(call.primitive, call.params, call.primals);
  const Array is_extreme =
      lax::convert_element_type(lax::eq(x, broadcast_back(result, x.shape(), axes)), x.dtype());
  const Array share =
      lax::div(is_extreme, broadcast_back(lax::reduce_sum(is_extreme, axes), x.shape(), axes));
  return with_tangent(result, {lax::reduce_sum(lax::mul(call.tangents[0], share), axes)});
}

// The index of the batch dimension after the dimensions in `axes` are removed.
int64_t place_among_kept(int64_t batch_axis, std::span<const int64_t> axes) {
  return batch_axis - std::ranges::count_if(axes, [&](int64_t axis) { return axis < batch_axis; });
}

BatchResults reduce_batch(const BatchCall& call) {
  const int64_t axis = call.axes[0];
  ReduceParams p{past_batch(params_as<ReduceParams>(call.params.get()).axes, axis)};
  const int64_t place = place_among_kept(axis, p.axes);
  return {{bind_one(call.primitive, make_params(std::move(p)), call.inputs)}, {place}};
}

BatchResults arg_batch(const BatchCall& call) {
  const int64_t axis = call.axes[0];
  ArgReduceParams p = params_as<ArgReduceParams>(call.params.get());
  p.axis = past_batch(p.axis, axis);
  const int64_t place = place_among_kept(axis, {&p.axis, 1});
  return {{bind_one(call.primitive, make_params(p), call.inputs)}, {place}};
}

const TransformRules kSumRules = {
    .jvp = linear_jvp, .transpose = sum_transpose, .batch = reduce_batch};
const TransformRules kProdRules = {.jvp = prod_jvp, .batch = reduce_batch};
const TransformRules kExtremeRules = {.jvp = extreme_jvp, .batch = reduce_batch};
const TransformRules kBitsRules = {.jvp = zero_jvp, .batch = reduce_batch};
const TransformRules kArgRules = {.jvp = zero_jvp, .batch = arg_batch};

// ---- the primitives

constexpr Primitive reduction(std::string_view name, decltype(Primitive::type_rule) rule,
                              const TransformRules* rules) {
  return {.name = name,
          .type_rule = rule,
          .parse = parse_params<ReduceParams>,
          .flops = reduce_flops,
          .rules = rules};
}
constexpr Primitive position(std::string_view name) {
  return {.name = name,
          .type_rule = arg_rule,
          .parse = parse_params<ArgReduceParams>,
          .flops = reduce_flops,
          .rules = &kArgRules};
}

const Primitive kSum = reduction("reduce_sum", reduce_rule<is_number>, &kSumRules);
FARCALL_REGISTER_PRIMITIVE(kSum);
const Primitive kProd = reduction("reduce_prod", reduce_rule<is_number>, &kProdRules);
FARCALL_REGISTER_PRIMITIVE(kProd);
const Primitive kMax = reduction("reduce_max", reduce_rule<is_ordered>, &kExtremeRules);
FARCALL_REGISTER_PRIMITIVE(kMax);
const Primitive kMin = reduction("reduce_min", reduce_rule<is_ordered>, &kExtremeRules);
FARCALL_REGISTER_PRIMITIVE(kMin);
const Primitive kAnd = reduction("reduce_and", reduce_rule<is_bits>, &kBitsRules);
FARCALL_REGISTER_PRIMITIVE(kAnd);
const Primitive kOr = reduction("reduce_or", reduce_rule<is_bits>, &kBitsRules);
FARCALL_REGISTER_PRIMITIVE(kOr);
const Primitive kArgmax = position("argmax");
FARCALL_REGISTER_PRIMITIVE(kArgmax);
const Primitive kArgmin = position("argmin");
FARCALL_REGISTER_PRIMITIVE(kArgmin);

Array reduce_along(const Primitive& primitive, const Array& x, std::span<const int64_t> axes) {
  return bind_one(primitive, make_params(ReduceParams{{axes.begin(), axes.end()}}), {&x, 1});
}
// Complex numbers have no loop of their own: pairs are combined.
Array extreme(const Primitive& primitive, Array (*combine)(const Array&, const Array&),
              double worst, const Array& x, ListOf<int64_t> axes) {
  if (!is_complex(x.dtype())) return reduce_along(primitive, x, axes);
  const lax::Combine pairs = [combine](std::span<const Array> a, std::span<const Array> b) {
    return std::vector<Array>{combine(a[0], b[0])};
  };
  return lax::reduce({x}, {Array(worst)}, pairs, axes)[0];
}
Array arg_reduce(const Primitive& primitive, const Array& x, int64_t axis, DType dtype) {
  return bind_one(primitive, make_params(ArgReduceParams{axis, dtype}), {&x, 1});
}

}  // namespace

namespace lax {

Array reduce_sum(const Array& x, ListOf<int64_t> axes) { return reduce_along(kSum, x, axes); }
Array reduce_prod(const Array& x, ListOf<int64_t> axes) { return reduce_along(kProd, x, axes); }
Array reduce_max(const Array& x, ListOf<int64_t> axes) {
  return extreme(kMax, max, -std::numeric_limits<double>::infinity(), x, axes);
}
Array reduce_min(const Array& x, ListOf<int64_t> axes) {
  return extreme(kMin, min, std::numeric_limits<double>::infinity(), x, axes);
}
Array reduce_and(const Array& x, ListOf<int64_t> axes) { return reduce_along(kAnd, x, axes); }
Array reduce_or(const Array& x, ListOf<int64_t> axes) { return reduce_along(kOr, x, axes); }
Array argmax(const Array& x, int64_t axis, DType index_dtype) {
  return arg_reduce(kArgmax, x, axis, index_dtype);
}
Array argmin(const Array& x, int64_t axis, DType index_dtype) {
  return arg_reduce(kArgmin, x, axis, index_dtype);
}

}  // namespace lax
}  // namespace farcall
