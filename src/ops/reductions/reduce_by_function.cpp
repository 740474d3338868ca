// Reductions of dimensions and of windows by any function of two values.
#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/indexing.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/ops/reduce.h>
#include <farcall/ops/reduce_window.h>
#include <farcall/trace/batch.h>

#include "ops/reductions/window_defaults.h"

namespace farcall::lax {
namespace {

// The computation mapped over vectors of equal length.
class Combined {
 public:
  Combined(const Combine& computation, size_t count) : computation_(computation), count_(count) {}

  std::vector<Array> operator()(std::span<const Array> a, std::span<const Array> b) const {
    std::vector<Array> inputs(a.begin(), a.end());
    inputs.insert(inputs.end(), b.begin(), b.end());
    const BatchAxis axis{a[0].shape()[0], {}};
    const std::vector<int64_t> axes(inputs.size(), 0);
    const auto function = [this](std::span<const Array> scalars) { return combine(scalars); };
    return batched_in_front(batch(function, inputs, axes, axis), axis);
  }

 private:
  std::vector<Array> combine(std::span<const Array> scalars) const {
    const auto a = scalars.first(count_);
    std::vector<Array> results = computation_(a, scalars.subspan(count_));
    if (results.size() != count_) {
      throw TypeError(fmt::format("reduce: the computation must give {} values, got {}", count_,
                                  results.size()));
    }
    for (size_t i = 0; i < count_; ++i) {
      if (results[i].type().strengthened() == a[i].type().strengthened()) continue;
      throw TypeError(fmt::format("reduce: the computation must give {} as it takes, got {}",
                                  a[i].type().to_string(), results[i].type().to_string()));
    }
    return results;
  }

  const Combine& computation_;
  size_t count_;
};

std::vector<Array> each(std::span<const Array> arrays,
                        const std::function<Array(const Array&)>& change) {
  std::vector<Array> result;
  for (const Array& array : arrays) result.push_back(change(array));
  return result;
}

// Raises unless there are operands, of one shape, with an init value for each.
void check_operands(std::string_view function, std::span<const Array> operands,
                    std::span<const Array> init_values) {
  if (operands.empty() || operands.size() != init_values.size()) {
    throw TypeError(fmt::format("{}: needs operands, and an init value for each; got {} and {}",
                                function, operands.size(), init_values.size()));
  }
  for (const Array& operand : operands) {
    if (std::ranges::equal(operand.shape(), operands[0].shape())) continue;
    invalid_argument(fmt::format("{}: the shapes of operands differ: {} and {}", function,
                                 operands[0].type().to_string(), operand.type().to_string()));
  }
}

Array flat(const Array& x) { return numpy::reshape(x, {-1}); }

// Replaces dimension `dim` by two: the positions of the window, and the elements of each window.
Array windows_along(const Array& x, int64_t dim, int64_t count, int64_t size, int64_t stride,
                    int64_t dilation) {
  const auto steps = [](int64_t num, int64_t step) {
    return numpy::multiply(iota(DType::kInt64, {num}, 0), Array(step));
  };
  const Array places = numpy::add(numpy::expand_dims(steps(count, stride), {1}),
                                  numpy::expand_dims(steps(size, dilation), {0}));
  return numpy::take(x, places, dim, {.mode = "clip"});
}

}  // namespace

std::vector<Array> reduce(ListOf<Array> operands, ListOf<Array> init_values,
                          const Combine& computation, ListOf<int64_t> dimensions) {
  check_operands("reduce", operands, init_values);
  const auto shape = operands[0].shape();
  std::vector<int64_t> order(dimensions.begin(), dimensions.end());
  std::ranges::sort(order);
  const auto rank = static_cast<int64_t>(shape.size());
  if (std::ranges::adjacent_find(order) != order.end() ||
      (!order.empty() && (order.front() < 0 || order.back() >= rank))) {
    invalid_argument(fmt::format("reduce: dimensions {} must be distinct dimensions of {}",
                                 shape_to_string(dimensions), operands[0].type().to_string()));
  }
  if (order.empty()) return {operands.begin(), operands.end()};
  int64_t count = 1, size = 1;
  for (const int64_t dim : order) count *= shape[dim];
  Shape rest;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (std::ranges::find(dimensions, dim) != dimensions.end()) continue;
    order.push_back(dim);
    rest.push_back(shape[dim]);
    size *= shape[dim];
  }

  // Combines the first half of the rows with the second half until one row is left.
  const Combined combine(computation, operands.size());
  std::vector<Array> rows = each(operands, [&](const Array& x) {
    return numpy::reshape(numpy::transpose(x, order), {count, size});
  });
  while (count > 1) {
    const int64_t half = count / 2;
    const auto part = [&](int64_t start, int64_t limit) {
      return each(rows, [&](const Array& x) { return flat(slice(x, {start, 0}, {limit, size})); });
    };
    const std::vector<Array> results = combine(part(0, half), part(half, 2 * half));
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = numpy::concatenate(
          {numpy::reshape(results[i], {half, size}), slice(rows[i], {2 * half, 0}, {count, size})});
    }
    count -= half;
  }
  std::vector<Array> results;
  for (size_t i = 0; i < rows.size(); ++i) {
    results.push_back(numpy::broadcast_to(numpy::astype(init_values[i], rows[i].dtype()), {size}));
  }
  if (count == 1) results = combine(results, each(rows, flat));
  return each(results, [&](const Array& x) { return numpy::reshape(x, rest); });
}

Array reduce_xor(const Array& x, ListOf<int64_t> dimensions) {
  const Combine combine = [](std::span<const Array> a, std::span<const Array> b) {
    return std::vector{bitwise_xor(a[0], b[0])};
  };
  return reduce({x}, {numpy::zeros({}, x.dtype())}, combine, dimensions)[0];
}

std::vector<Array> reduce_window(ListOf<Array> operands, ListOf<Array> init_values,
                                 const Combine& computation, ReduceWindowParams window) {
  check_operands("reduce_window", operands, init_values);
  const auto rank = static_cast<int64_t>(operands[0].rank());
  window = with_defaults(std::move(window), operands[0].rank());
  const Shape counts = reduce_window_shape(operands[0].shape(), window);

  std::vector<Array> covered;
  for (size_t i = 0; i < operands.size(); ++i) {
    PaddingConfig config;
    for (size_t dim = 0; dim < window.padding.size(); ++dim) {
      config.push_back(
          {window.padding[dim].first, window.padding[dim].second, window.base_dilation[dim] - 1});
    }
    Array x = pad(operands[i], numpy::astype(init_values[i], operands[i].dtype()), config);
    for (int64_t dim = rank - 1; dim >= 0; --dim) {
      x = windows_along(x, dim, counts[dim], window.window_dimensions[dim],
                        window.window_strides[dim], window.window_dilation[dim]);
    }
    covered.push_back(x);
  }
  std::vector<int64_t> elements;
  for (int64_t dim = 0; dim < rank; ++dim) elements.push_back(2 * dim + 1);
  return reduce(covered, init_values, computation, elements);
}

}  // namespace farcall::lax
