#include <farcall/nn/initializers.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/random/random.h>

#include "ops/internal/numpy.h"

namespace farcall::nn::initializers {
namespace {

using Sizes = std::span<const int64_t>;

Array scaled(const Array& x, const Array& factor) { return x * numpy::astype(factor, x.dtype()); }

double product(Sizes sizes) {
  double result = 1;
  for (const int64_t size : sizes) result *= static_cast<double>(size);
  return result;
}

// ---- variance scaling

struct Fans {
  double in, out;  // inputs per output, outputs per input
};
Fans fans_of(Sizes shape, const FanAxes& axes) {
  if (shape.size() <= 1) {
    invalid_argument(fmt::format(
        "variance_scaling: shape {} must have two dimensions at least: inputs and outputs",
        shape_to_string(shape)));
  }
  const auto size_of = [&](const std::vector<int64_t>& which) {
    double size = 1;
    for (const int64_t axis : which) {
      const int64_t at = numpy::normalize_axis(axis, shape.size(), "variance_scaling");
      size *= static_cast<double>(shape[static_cast<size_t>(at)]);
    }
    return size;
  };
  const double in = size_of(axes.in), out = size_of(axes.out), batch = size_of(axes.batch);
  const double field = product(shape) / std::max(in * out * batch, 1.0);
  return {in * field, out * field};
}

enum class Mode { kIn, kOut, kAverage, kGeometric };
enum class Law { kTruncatedNormal, kNormal, kUniform };
constexpr std::array<std::string_view, 4> kModes = {"fan_in", "fan_out", "fan_avg", "fan_geo_avg"};
constexpr std::array<std::string_view, 3> kLaws = {"truncated_normal", "normal", "uniform"};

template <class Choice, size_t size>
Choice chosen(std::string_view value, const char* what,
              const std::array<std::string_view, size>& names) {
  const auto found = std::ranges::find(names, value);
  if (found == names.end()) {
    invalid_argument(fmt::format("variance_scaling: {} must be one of ('{}'), got '{}'", what,
                                 fmt::join(names, "', '"), value));
  }
  return static_cast<Choice>(found - names.begin());
}

double count(const Fans& fans, Mode mode) {
  switch (mode) {
    case Mode::kIn:
      return fans.in;
    case Mode::kOut:
      return fans.out;
    case Mode::kAverage:
      return (fans.in + fans.out) / 2;
    case Mode::kGeometric:
      return std::sqrt(fans.in * fans.out);
  }
  return fans.in;
}

// sqrt(factor * scale / n) / divisor; computed in float64 if the scale is a number.
Array deviation(const Array& scale, double n, double factor, double divisor) {
  if (const auto* scalar = dynamic_cast<const ScalarNode*>(&scale.node())) {
    const auto as_double = [](auto number) -> std::optional<double> {
      if constexpr (std::is_convertible_v<decltype(number), double>) {
        return static_cast<double>(number);
      } else {
        return std::nullopt;
      }
    };
    if (const std::optional<double> known = std::visit(as_double, scalar->number())) {
      return std::sqrt(factor * (*known / n)) / divisor;
    }
  }
  return numpy::sqrt(scale / n * factor) / divisor;
}

// Uniform numbers, from which magnitude and angle are computed.
struct Parts {
  Array magnitude, turn;
};
Parts parts_of(const Array& key, Sizes shape, DType dtype) {
  const DType real = numpy::real(numpy::zeros({}, dtype)).dtype();
  const Array keys = random::split(key);
  return {random::uniform(numpy::take(keys, {int64_t{0}}), shape, real),
          random::uniform(numpy::take(keys, {int64_t{1}}), shape, real)};
}

Array on_circle(const Array& radius, const Array& turn, DType dtype) {
  const Array angle = numpy::astype(2 * std::numbers::pi * turn, radius.dtype());
  return numpy::astype(lax::complex(radius * numpy::cos(angle), radius * numpy::sin(angle)), dtype);
}

// Uniform on the unit disk.
Array complex_uniform(const Array& key, Sizes shape, DType dtype) {
  const Parts parts = parts_of(key, shape, dtype);
  return on_circle(numpy::sqrt(parts.magnitude), parts.turn, dtype);
}

// Complex normal numbers with magnitude below two standard deviations.
Array complex_truncated_normal(const Array& key, Sizes shape, DType dtype) {
  const Parts parts = parts_of(key, shape, dtype);
  const Array part = parts.magnitude * numpy::astype(std::expm1(-4.0), parts.magnitude.dtype());
  return on_circle(numpy::sqrt(-numpy::log1p(part)), parts.turn, dtype);
}

// The standard deviation of a normal number truncated at two, and of a complex one whose magnitude
// is truncated at two.
constexpr double kCutOff = 0.87962566103423978, kComplexCutOff = 0.95311164380491208;

Array draw_scaled(const Array& key, Sizes shape, DType dtype, const Array& scale, double n,
                  Law law) {
  const auto times = [&](const Array& x, double factor, double divisor = 1) {
    return scaled(x, deviation(scale, n, factor, divisor));
  };
  switch (law) {
    case Law::kNormal:
      return times(random::normal(key, shape, dtype), 1);
    case Law::kUniform:
      return is_complex(dtype) ? times(complex_uniform(key, shape, dtype), 2)
                               : times(random::uniform(key, shape, dtype, -1), 3);
    case Law::kTruncatedNormal:
      break;
  }
  if (is_complex(dtype)) {
    return times(complex_truncated_normal(key, shape, dtype), 1, kComplexCutOff);
  }
  const Shape wanted(shape.begin(), shape.end());
  return times(random::truncated_normal(key, -2, 2, wanted, dtype), 1, kCutOff);
}

// ---- orthogonal matrices

Array orthogonal_matrix(const Array& key, Sizes shape, const Array& scale, int64_t column_axis,
                        DType dtype) {
  if (shape.size() < 2) {
    invalid_argument(fmt::format("orthogonal: shape {} must have two dimensions at least",
                                 shape_to_string(shape)));
  }
  const int64_t at = numpy::normalize_axis(column_axis, shape.size(), "orthogonal");
  const int64_t columns = shape[static_cast<size_t>(at)];
  Shape sizes(shape.begin(), shape.end());
  sizes.erase(sizes.begin() + at);
  int64_t rows = 1;
  for (const int64_t size : sizes) rows *= size;
  const bool is_wide = rows < columns;
  const auto [q, r] =
      linalg::qr(random::normal(key, is_wide ? Shape{columns, rows} : Shape{rows, columns}, dtype),
                 /*full_matrices=*/false);
  const Array diagonal = numpy::diagonal(r);
  // Correcting the signs makes the distribution uniform over orthonormal matrices.
  const Array signs = diagonal / numpy::astype(numpy::absolute(diagonal), q.dtype());
  Array matrix = q * numpy::expand_dims(signs, {0});
  if (is_wide) matrix = numpy::transpose(matrix);
  sizes.push_back(columns);
  return scaled(numpy::moveaxis(numpy::reshape(matrix, sizes), -1, at), scale);
}

}  // namespace

Initializer constant(const Array& value, DType dtype) {
  return {
      [value](const Array&, Sizes shape, DType dtype) { return numpy::full(shape, value, dtype); },
      dtype};
}

Initializer uniform(const Array& scale, DType dtype) {
  return {[scale](const Array& key, Sizes shape, DType dtype) {
            return scaled(random::uniform(key, shape, dtype), scale);
          },
          dtype};
}

Initializer normal(const Array& stddev, DType dtype) {
  return {[stddev](const Array& key, Sizes shape, DType dtype) {
            return scaled(random::normal(key, shape, dtype), stddev);
          },
          dtype};
}

Initializer truncated_normal(const Array& stddev, DType dtype, const Array& lower,
                             const Array& upper) {
  return {[=](const Array& key, Sizes shape, DType dtype) {
            const Shape wanted(shape.begin(), shape.end());
            return scaled(random::truncated_normal(key, lower, upper, wanted, dtype), stddev);
          },
          dtype};
}

Initializer variance_scaling(const Array& scale, std::string_view mode_name,
                             std::string_view distribution, const FanAxes& axes, DType dtype) {
  const auto mode = chosen<Mode>(mode_name, "mode", kModes);
  const auto law = chosen<Law>(distribution, "distribution", kLaws);
  return {[=](const Array& key, Sizes shape, DType dtype) {
            return draw_scaled(key, shape, dtype, scale, count(fans_of(shape, axes), mode), law);
          },
          dtype};
}

Initializer glorot_uniform(const FanAxes& axes, DType dtype) {
  return variance_scaling(1.0, "fan_avg", "uniform", axes, dtype);
}
Initializer glorot_normal(const FanAxes& axes, DType dtype) {
  return variance_scaling(1.0, "fan_avg", "truncated_normal", axes, dtype);
}
Initializer lecun_uniform(const FanAxes& axes, DType dtype) {
  return variance_scaling(1.0, "fan_in", "uniform", axes, dtype);
}
Initializer lecun_normal(const FanAxes& axes, DType dtype) {
  return variance_scaling(1.0, "fan_in", "truncated_normal", axes, dtype);
}
Initializer he_uniform(const FanAxes& axes, DType dtype) {
  return variance_scaling(2.0, "fan_in", "uniform", axes, dtype);
}
Initializer he_normal(const FanAxes& axes, DType dtype) {
  return variance_scaling(2.0, "fan_in", "truncated_normal", axes, dtype);
}

Initializer orthogonal(const Array& scale, int64_t column_axis, DType dtype) {
  return {[=](const Array& key, Sizes shape, DType dtype) {
            return orthogonal_matrix(key, shape, scale, column_axis, dtype);
          },
          dtype};
}

Initializer delta_orthogonal(const Array& scale, int64_t column_axis, DType dtype) {
  return {
      [=](const Array& key, Sizes shape, DType dtype) {
        const size_t rank = shape.size();
        if (rank < 3 || rank > 5) {
          invalid_argument(fmt::format("delta_orthogonal: shape {} must have 3, 4 or 5 dimensions",
                                       shape_to_string(shape)));
        }
        if (shape[rank - 1] < shape[rank - 2]) {
          invalid_argument(
              fmt::format("delta_orthogonal: shape {} must not have more inputs than outputs",
                          shape_to_string(shape)));
        }
        const Array matrix = orthogonal_matrix(key, shape.last(2), scale, column_axis, dtype);
        std::vector<numpy::Index> centre;
        for (const int64_t size : shape.first(rank - 2)) centre.emplace_back((size - 1) / 2);
        return numpy::update(numpy::zeros(shape, dtype), centre, matrix, numpy::Update::kSet);
      },
      dtype};
}

}  // namespace farcall::nn::initializers
