#include <farcall/nn/image.h>

#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>

#include "ops/internal/numpy.h"

namespace farcall::image {
namespace {

constexpr std::pair<std::string_view, ResizeMethod> kNames[] = {
    {"nearest", ResizeMethod::kNearest},   {"linear", ResizeMethod::kLinear},
    {"bilinear", ResizeMethod::kLinear},   {"trilinear", ResizeMethod::kLinear},
    {"triangle", ResizeMethod::kLinear},   {"lanczos3", ResizeMethod::kLanczos3},
    {"lanczos5", ResizeMethod::kLanczos5}, {"cubic", ResizeMethod::kCubic},
    {"bicubic", ResizeMethod::kCubic},     {"tricubic", ResizeMethod::kCubic},
};

// ---- kernels, as functions of distance

Array triangle(const Array& x) { return numpy::maximum(1 - x, 0); }

Array cubic(const Array& x) {
  const Array near = (1.5 * x - 2.5) * x * x + 1;
  const Array far = ((-0.5 * x + 2.5) * x - 4) * x + 2;
  return numpy::where(x >= 2, 0.0, numpy::where(x >= 1, far, near));
}

Array lanczos(const Array& x, double radius) {
  constexpr double kPi = std::numbers::pi;
  const Array wave = radius * numpy::sin(kPi * x) * numpy::sin(kPi * x / radius);
  const Array is_zero = x <= 1e-3;
  const Array value = wave / numpy::where(is_zero, 1.0, kPi * kPi * x * x);
  return numpy::where(x > radius, 0.0, numpy::where(is_zero, 1.0, value));
}

Array kernel_at(ResizeMethod method, const Array& x) {
  switch (method) {
    case ResizeMethod::kCubic:
      return cubic(x);
    case ResizeMethod::kLanczos3:
      return lanczos(x, 3);
    case ResizeMethod::kLanczos5:
      return lanczos(x, 5);
    case ResizeMethod::kLinear:
    case ResizeMethod::kNearest:
      break;
  }
  return triangle(x);
}

// ---- sampling

Array places_in(ListOf<int64_t> shape, DType dtype) {
  return numpy::astype(lax::iota(DType::kInt32, shape, 0), dtype);
}

struct Sampling {
  int64_t axis, size;  // the new size
  Array scale, translation;
};

// [old size, new size]: the weight of each old sample in each new one.
Array weights_of(int64_t old_size, const Sampling& to, ResizeMethod method, bool antialias,
                 DType dtype) {
  const Array step = numpy::astype(1 / to.scale, dtype);
  const Array width = antialias ? numpy::maximum(step, 1) : Array(1);
  Array place = places_in({to.size}, dtype) + 0.5;
  place = place * step - numpy::astype(to.translation, dtype) * step - 0.5;
  const Array samples = places_in({old_size, 1}, dtype);
  const Array raw = kernel_at(method, numpy::absolute(place - samples) / width);
  const Array total = numpy::sum(raw, 0, /*keepdims=*/true);
  // Avoids division by zero where no old sample is near.
  const Array is_small = numpy::absolute(total) <= 1000 * 1.1920929e-07;
  const Array weights = numpy::where(is_small, 0.0, raw / numpy::where(is_small, 1.0, total));
  const Array is_inside =
      numpy::logical_and(place >= -0.5, place <= static_cast<double>(old_size) - 0.5);
  return numpy::astype(numpy::where(is_inside, weights, 0.0), dtype);
}

Array resampled(Array image, const std::vector<Sampling>& samplings, ResizeMethod method,
                bool antialias) {
  for (const Sampling& to : samplings) {
    const int64_t old_size = image.shape()[static_cast<size_t>(to.axis)];
    const Array weights = weights_of(old_size, to, method, antialias, image.dtype());
    image = numpy::moveaxis(numpy::tensordot(image, weights, {to.axis}, {0}), -1, to.axis);
  }
  return image;
}

Array nearest(const Array& image, int64_t axis, int64_t size) {
  const auto old_size = static_cast<double>(image.shape()[static_cast<size_t>(axis)]);
  const Array place = places_in({size}, DType::kFloat32) + 0.5;
  const Array index = numpy::floor(place * (old_size / static_cast<double>(size)));
  return numpy::take(image, numpy::astype(index, DType::kInt32), axis);
}

void check_rank(const Array& image, std::span<const int64_t> shape, const char* function) {
  if (shape.size() == image.rank()) return;
  invalid_argument(fmt::format("{}: shape {} must have {} sizes, as the image", function,
                               shape_to_string(shape), image.rank()));
}

}  // namespace

ResizeMethod parse_resize_method(std::string_view name) {
  std::string all;
  for (const auto& [known, method] : kNames) {
    if (known == name) return method;
    all += (all.empty() ? "" : ", ") + std::string(known);
  }
  invalid_argument(fmt::format("resize: method must be one of {}, got '{}'", all, name));
}

Array resize(const Array& image, ListOf<int64_t> shape, ResizeMethod method, bool antialias) {
  check_rank(image, shape, "resize");
  const bool is_nearest = method == ResizeMethod::kNearest;
  const Array floats = is_nearest ? image : numpy::promote_inexact(image, "resize");
  const bool is_narrow =
      is_floating(floats.dtype()) && dtype_info(floats.dtype()).bits < 32 && !is_nearest;
  Array made = is_narrow ? numpy::astype(floats, DType::kFloat32) : floats;
  std::vector<Sampling> samplings;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t old_size = image.shape()[i];
    if (shape[i] == old_size) continue;
    const auto axis = static_cast<int64_t>(i);
    if (is_nearest) {
      made = nearest(made, axis, shape[i]);
    } else {
      const double scale = static_cast<double>(shape[i]) / static_cast<double>(old_size);
      samplings.push_back({axis, shape[i], scale, 0.0});
    }
  }
  return numpy::astype(resampled(made, samplings, method, antialias), floats.dtype());
}

Array scale_and_translate(const Array& image, ListOf<int64_t> shape, ListOf<int64_t> spatial_dims,
                          const Array& scale, const Array& translation, ResizeMethod method,
                          bool antialias) {
  const Array floats = numpy::promote_inexact(image, "scale_and_translate");
  check_rank(image, shape, "scale_and_translate");
  if (method == ResizeMethod::kNearest) {
    invalid_argument("scale_and_translate: method nearest is not defined; use resize");
  }
  std::vector<Sampling> samplings;
  for (size_t i = 0; i < spatial_dims.size(); ++i) {
    const int64_t axis =
        numpy::normalize_axis(spatial_dims[i], image.rank(), "scale_and_translate");
    const numpy::Index at = static_cast<int64_t>(i);
    samplings.push_back({axis, shape[static_cast<size_t>(axis)], numpy::take(scale, {at}),
                         numpy::take(translation, {at})});
  }
  return resampled(floats, samplings, method, antialias);
}

}  // namespace farcall::image
