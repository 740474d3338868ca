// numpy's basic indexing with constants: integers, slices, new axes and the ellipsis.
#include <algorithm>

#include <fmt/format.h>

#include <farcall/ops/lax.h>

#include "ops/numpy_support.h"

namespace farcall::numpy {
namespace {

// What the indices ask of the array: one slice for each dimension, dimensions to turn round, and
// the shape in the end.
struct Plan {
  std::vector<int64_t> starts, limits, strides;
  std::vector<int64_t> reversed;
  Shape shape;

  void add(int64_t start, int64_t limit, int64_t stride) {
    starts.push_back(start);
    limits.push_back(limit);
    strides.push_back(stride);
  }
};

[[noreturn]] void fail(ErrorCode code, const Array& x, const std::string& what) {
  throw Error(code, fmt::format("indexing {}: {}", x.type().to_string(), what));
}

void add_integer(Plan& plan, const Array& x, int64_t index, size_t axis) {
  const int64_t size = x.shape()[axis];
  if (index < -size || index >= size) {
    fail(ErrorCode::kOutOfRange, x,
         fmt::format("index {} is out of range for dimension {} of size {}", index, axis, size));
  }
  const int64_t at = index < 0 ? index + size : index;
  plan.add(at, at + 1, 1);
}

void add_slice(Plan& plan, const Array& x, const Slice& slice, size_t axis) {
  const int64_t size = x.shape()[axis];
  int64_t step = slice.step.value_or(1);
  if (step == 0) fail(ErrorCode::kInvalidArgument, x, "a slice cannot have step 0");
  // A step beyond the dimension is the same as one of its size, and cannot overflow.
  step = std::clamp(step, -std::max<int64_t>(size, 1), std::max<int64_t>(size, 1));
  // As Python does it: bounds are moved into the dimension, which a negative step walks backwards.
  const auto clamped = [&](std::optional<int64_t> bound, int64_t missing, int64_t low,
                           int64_t high) {
    if (!bound) return missing;
    return std::clamp(*bound < 0 ? *bound + size : *bound, low, high);
  };
  if (step > 0) {
    const int64_t start = clamped(slice.start, 0, 0, size);
    const int64_t stop = std::max(start, clamped(slice.stop, size, 0, size));
    plan.add(start, stop, step);
    plan.shape.push_back((stop - start + step - 1) / step);
    return;
  }
  const int64_t start = clamped(slice.start, size - 1, -1, size - 1);
  const int64_t stop = std::min(start, clamped(slice.stop, -1, -1, size - 1));
  const int64_t count = (start - stop - step - 1) / -step;
  const int64_t first = count > 0 ? start + (count - 1) * step : 0;
  plan.add(first, count > 0 ? start + 1 : 0, -step);
  plan.reversed.push_back(static_cast<int64_t>(axis));
  plan.shape.push_back(count);
}

Plan make_plan(const Array& x, std::span<const Index> indices) {
  size_t consumed = 0, ellipses = 0;
  for (const Index& index : indices) {
    consumed += std::holds_alternative<int64_t>(index) || std::holds_alternative<Slice>(index);
    ellipses += std::holds_alternative<Ellipsis>(index);
  }
  if (ellipses > 1) fail(ErrorCode::kInvalidArgument, x, "only one ellipsis is allowed");
  if (consumed > x.rank()) {
    fail(ErrorCode::kOutOfRange, x,
         fmt::format("{} indices were given for {} dimensions", consumed, x.rank()));
  }
  Plan plan;
  size_t axis = 0;
  const auto take_rest = [&](size_t count) {
    for (size_t i = 0; i < count; ++i) add_slice(plan, x, {}, axis++);
  };
  for (const Index& index : indices) {
    if (const auto* integer = std::get_if<int64_t>(&index)) {
      add_integer(plan, x, *integer, axis++);
    } else if (const auto* slice = std::get_if<Slice>(&index)) {
      add_slice(plan, x, *slice, axis++);
    } else if (std::holds_alternative<NewAxis>(index)) {
      plan.shape.push_back(1);
    } else {
      take_rest(x.rank() - consumed);
    }
  }
  if (ellipses == 0) take_rest(x.rank() - consumed);
  return plan;
}

}  // namespace

Array take(const Array& x, std::span<const Index> indices) {
  const Plan plan = make_plan(x, indices);
  Array result = x;
  const bool is_whole = std::ranges::all_of(plan.starts, [](int64_t s) { return s == 0; }) &&
                        std::ranges::all_of(plan.strides, [](int64_t s) { return s == 1; }) &&
                        std::ranges::equal(plan.limits, x.shape());
  if (!is_whole) result = lax::slice(result, plan.starts, plan.limits, plan.strides);
  if (!plan.reversed.empty()) result = lax::rev(result, plan.reversed);
  return reshape(result, plan.shape);
}

}  // namespace farcall::numpy
