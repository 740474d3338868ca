#include "ops/internal/rules.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include <farcall/core/element_number.h>
#include <farcall/core/element_text.h>
#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/interpreter.h>

namespace farcall {

// ---- constants and shapes

Array scalar_of(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat32:
      return Array::scalar(static_cast<float>(value));
    case DType::kFloat64:
      return Array::scalar(value);
    default:
      // Evaluated now, so that recorded programs contain the number, not its conversion.
      InterpreterScope scope(evaluator());
      return lax::convert_element_type(Array::scalar(value), dtype);
  }
}

std::vector<int64_t> integer_values(const Array& x) {
  std::vector<int64_t> values(static_cast<size_t>(x.size()));
  const size_t width = dtype_info(x.dtype()).byte_width;
  const auto* element = static_cast<const std::byte*>(x.data());
  for (int64_t& value : values) {
    if (!convert_element(x.dtype(), element, DType::kInt64, &value)) {
      throw OverflowError(
          fmt::format("{} does not fit into int64", format_element(x.dtype(), element)));
    }
    element += width;
  }
  return values;
}

Array select(const Array& which, const Array& if_true, const Array& if_false) {
  return lax::select_n(which, std::array{if_false, if_true});
}

Array rows(const Array& x, int64_t start, int64_t limit) {
  Shape starts(x.rank(), 0), limits = to_shape(x.shape());
  starts[0] = start;
  limits[0] = limit;
  return lax::slice(x, starts, limits);
}

Array broadcast_scalar(const Array& x, std::span<const int64_t> shape) {
  return x.rank() == shape.size() ? x : lax::broadcast_in_dim(x, shape, {});
}

Array unbroadcast(const Array& cotangent, ShapeDtype type) {
  if (cotangent.rank() == type.rank()) return cotangent;
  return lax::reduce_sum(cotangent, all_dimensions(cotangent.rank()));
}

std::vector<int64_t> all_dimensions(size_t count) {
  std::vector<int64_t> dimensions(count);
  std::iota(dimensions.begin(), dimensions.end(), 0);
  return dimensions;
}

Shape to_shape(std::span<const int64_t> sizes) { return {sizes.begin(), sizes.end()}; }

// ---- derivatives

JvpResults with_tangent(const Array& result, std::initializer_list<Array> terms) {
  Array tangent;
  for (const Array& term : terms) tangent = add_tangents(tangent, term);
  if (!tangent.is_null()) tangent = broadcast_scalar(tangent, result.shape());
  return {{result}, {tangent}};
}

PowerInParts power_in_parts(const Array& x, const Array& y) {
  const Array one = broadcast_scalar(scalar_of(x.dtype(), 1), x.shape());
  const Array is_zero = lax::eq(x, scalar_of(x.dtype(), 0));
  const Array zero_or_one = lax::select_n(is_zero, std::array{one, x});
  const Array other = lax::select_n(is_zero, std::array{x, one});
  return {lax::mul(y, lax::log(other)), lax::pow(zero_or_one, y)};
}

JvpResults zero_jvp(const JvpCall& call) {
  std::vector<Array> results = bind_primitive(call.primitive, call.params, call.primals);
  const size_t count = results.size();
  return {std::move(results), std::vector<Array>(count)};
}

void not_linear(const Primitive& primitive) {
  invalid_argument(
      fmt::format("{}: is not linear in the operands that it is transposed with respect "
                  "to; transpose with respect to one of them, or use vjp",
                  primitive.name));
}

// ---- batching

BatchResults batch_elementwise(const BatchCall& call) {
  const size_t count = call.inputs.size();
  const auto rank_of = [&](size_t i) { return call.inputs[i].rank() - call.is_batched(i); };
  // The shape of one element, and the batch dimension of the first batched operand that is not a
  // scalar.
  Shape shape;
  int64_t axis = 0;
  bool has_axis = false;
  for (size_t i = 0; i < count; ++i) {
    if (rank_of(i) == 0) continue;
    shape = to_shape(call.inputs[i].shape());
    if (!call.is_batched(i)) continue;
    shape.erase(shape.begin() + call.axes[i]);
    if (!has_axis) axis = call.axes[i];
    has_axis = true;
  }
  const Shape batched = with_batch(shape, axis, call.axis.size);
  std::vector<Array> operands;
  for (size_t i = 0; i < count; ++i) {
    const Array& x = call.inputs[i];
    if (rank_of(i) > 0) {
      operands.push_back(move_axis(x, call.axes[i], axis, call.axis.size));
    } else if (call.is_batched(i) && !shape.empty()) {
      operands.push_back(lax::broadcast_in_dim(x, batched, {&axis, 1}));
    } else {
      operands.push_back(x);
    }
  }
  std::vector<Array> results = bind_primitive(call.primitive, call.params, operands);
  std::vector<int64_t> axes(results.size(), axis);
  return {std::move(results), std::move(axes)};
}

std::vector<int64_t> past_batch(std::span<const int64_t> dimensions, int64_t axis) {
  std::vector<int64_t> moved;
  moved.reserve(dimensions.size());
  for (const int64_t dimension : dimensions) moved.push_back(past_batch(dimension, axis));
  return moved;
}

Shape with_batch(std::span<const int64_t> sizes, int64_t axis, int64_t size) {
  Shape shape = to_shape(sizes);
  shape.insert(shape.begin() + axis, size);
  return shape;
}

}  // namespace farcall
