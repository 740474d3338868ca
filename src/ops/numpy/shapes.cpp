// numpy's functions on shapes.
#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include <farcall/core/message.h>
#include <farcall/ops/lax.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

template <class... Args>
[[noreturn]] void fail_shape(std::string_view function, fmt::format_string<Args...> format,
                             Args&&... args) {
  invalid_argument(
      fmt::format("{}: {}", function, fmt::format(format, std::forward<Args>(args)...)));
}

std::vector<Array> promote_all(std::span<const Array> arrays, std::string_view function) {
  if (arrays.empty()) fail_shape(function, "needs at least one array");
  std::vector<ShapeDtype> types;
  for (const Array& array : arrays) types.push_back(array.type());
  return with_error_prefix(function, [&] {
    const PromotedDType to = promote_types(types);
    std::vector<Array> result;
    for (const Array& array : arrays) result.push_back(convert(array, to));
    return result;
  });
}

}  // namespace

int64_t normalize_axis(int64_t axis, size_t rank, std::string_view function) {
  const auto size = static_cast<int64_t>(rank);
  if (axis < -size || axis >= size) {
    fail_shape(function, "axis {} is out of range for an array of rank {}", axis, rank);
  }
  return axis < 0 ? axis + size : axis;
}

std::vector<int64_t> normalize_axes(const Axes& axes, size_t rank, std::string_view function) {
  std::vector<int64_t> result;
  if (!axes) {
    result.resize(rank);
    std::iota(result.begin(), result.end(), 0);
    return result;
  }
  for (const int64_t axis : *axes) result.push_back(normalize_axis(axis, rank, function));
  std::ranges::sort(result);
  if (std::ranges::adjacent_find(result) != result.end()) {
    fail_shape(function, "an axis is named twice in {}", shape_to_string(*axes));
  }
  return result;
}

Along along(const Array& x, std::optional<int64_t> axis, std::string_view function) {
  if (!axis) return {ravel(x), 0};
  return {x, normalize_axis(*axis, x.rank(), function)};
}

Shape broadcast_shapes(std::span<const std::span<const int64_t>> shapes) {
  size_t rank = 0;
  for (const auto shape : shapes) rank = std::max(rank, shape.size());
  Shape result(rank, 1);
  for (const auto shape : shapes) {
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t& size = result[rank - shape.size() + i];
      if (shape[i] == 1 || shape[i] == size) continue;
      if (size != 1) {
        std::string text;
        for (const auto each : shapes) text += (text.empty() ? "" : ", ") + shape_to_string(each);
        invalid_argument(
            fmt::format("shapes {} cannot be broadcast: dimension {} from the last is {} and "
                        "{}",
                        text, shape.size() - i, size, shape[i]));
      }
      size = shape[i];
    }
  }
  return result;
}

Array astype(const Array& x, DType dtype) {
  if (is_complex(x.dtype()) && !is_complex(dtype) && dtype != DType::kBool) {
    send_message(
        MessageKind::kWarning,
        fmt::format("astype: {} becomes {}, which drops the imaginary parts. Take the real "
                    "parts with real() first if that is meant",
                    x.type().to_string(), dtype_name(dtype)));
  }
  return dtype == DType::kBool && is_complex(x.dtype()) ? as_bool(x) : convert(x, {dtype, false});
}

Array reshape(const Array& x, ListOf<int64_t> shape) {
  Shape sizes(shape.begin(), shape.end());
  int64_t known = 1;
  int64_t* unknown = nullptr;
  for (int64_t& size : sizes) {
    if (size != -1) {
      if (__builtin_mul_overflow(known, size, &known)) {
        fail_shape("reshape", "the sizes {} have a product of more than 63 bits",
                   shape_to_string(shape));
      }
    } else if (unknown) {
      fail_shape("reshape", "only one size may be -1, got {}", shape_to_string(shape));
    } else {
      unknown = &size;
    }
  }
  if (unknown) {
    if (known <= 0 || x.size() % known != 0) {
      fail_shape("reshape", "{} cannot become {}: its {} elements do not divide into {}",
                 x.type().to_string(), shape_to_string(shape), x.size(), known);
    }
    *unknown = x.size() / known;
  }
  return std::ranges::equal(sizes, x.shape()) ? x : lax::reshape(x, sizes);
}

Array ravel(const Array& x) {
  const int64_t size = x.size();
  return reshape(x, std::span(&size, 1));
}

Array transpose(const Array& x, const Axes& axes) {
  std::vector<int64_t> permutation;
  if (axes) {
    for (const int64_t axis : *axes) {
      permutation.push_back(normalize_axis(axis, x.rank(), "transpose"));
    }
  } else {
    for (size_t i = x.rank(); i-- > 0;) permutation.push_back(static_cast<int64_t>(i));
  }
  // The primitive raises the error for an axis that is given twice.
  const bool is_rising =
      std::ranges::adjacent_find(permutation, std::greater_equal<>()) == permutation.end();
  const bool is_identity = is_rising && permutation.size() == x.rank();
  return is_identity ? x : lax::transpose(x, permutation);
}

Array swapaxes(const Array& x, int64_t axis1, int64_t axis2) {
  std::vector<int64_t> permutation(x.rank());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[normalize_axis(axis1, x.rank(), "swapaxes")],
            permutation[normalize_axis(axis2, x.rank(), "swapaxes")]);
  return transpose(x, permutation);
}

Array moveaxis(const Array& x, int64_t source, int64_t destination) {
  const int64_t from = normalize_axis(source, x.rank(), "moveaxis");
  const int64_t to = normalize_axis(destination, x.rank(), "moveaxis");
  std::vector<int64_t> permutation(x.rank());
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return transpose(x, permutation);
}

Array broadcast_to(const Array& x, ListOf<int64_t> shape) {
  if (std::ranges::equal(x.shape(), shape)) return x;
  if (x.rank() > shape.size()) {
    fail_shape("broadcast_to", "{} cannot be broadcast to {}, which has fewer dimensions",
               x.type().to_string(), shape_to_string(shape));
  }
  std::vector<int64_t> dimensions(x.rank());
  std::iota(dimensions.begin(), dimensions.end(), static_cast<int64_t>(shape.size() - x.rank()));
  return lax::broadcast_in_dim(x, shape, dimensions);
}

Array expand_dims(const Array& x, ListOf<int64_t> axes) {
  const size_t rank = x.rank() + axes.size();
  const std::vector<int64_t> sorted =
      normalize_axes(std::vector<int64_t>(axes.begin(), axes.end()), rank, "expand_dims");
  Shape shape(x.shape().begin(), x.shape().end());
  for (const int64_t axis : sorted) shape.insert(shape.begin() + axis, 1);
  return reshape(x, shape);
}

Array squeeze(const Array& x, const Axes& axes) {
  Shape shape;
  const std::vector<int64_t> which =
      axes ? normalize_axes(axes, x.rank(), "squeeze") : std::vector<int64_t>();
  for (size_t i = 0; i < x.rank(); ++i) {
    const bool is_named = std::ranges::find(which, static_cast<int64_t>(i)) != which.end();
    if (is_named && x.shape()[i] != 1) {
      fail_shape("squeeze", "dimension {} of {} has size {}, not 1", i, x.type().to_string(),
                 x.shape()[i]);
    }
    const bool is_dropped = axes ? is_named : x.shape()[i] == 1;
    if (!is_dropped) shape.push_back(x.shape()[i]);
  }
  return reshape(x, shape);
}

Array concatenate(ListOf<Array> arrays, int64_t axis) {
  const std::vector<Array> operands = promote_all(arrays, "concatenate");
  return lax::concatenate(operands, normalize_axis(axis, operands[0].rank(), "concatenate"));
}

Array stack(ListOf<Array> arrays, int64_t axis) {
  std::vector<Array> operands = promote_all(arrays, "stack");
  const int64_t where = normalize_axis(axis, operands[0].rank() + 1, "stack");
  for (Array& operand : operands) {
    if (!std::ranges::equal(operand.shape(), arrays[0].shape())) {
      fail_shape("stack", "all arrays must have one shape; got {} and {}",
                 arrays[0].type().to_string(), operand.type().to_string());
    }
    operand = expand_dims(operand, std::span(&where, 1));
  }
  return lax::concatenate(operands, where);
}

Array flip(const Array& x, const Axes& axes) {
  return lax::rev(x, normalize_axes(axes, x.rank(), "flip"));
}

}  // namespace farcall::numpy
