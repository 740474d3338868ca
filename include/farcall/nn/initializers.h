// Initializers of network parameters (namespace farcall::nn::initializers). They give the same bits
// as jax.nn.initializers for the same key, shape and dtype.
//
//   const Array weights = initializers::he_normal()(key, {3, 4});
//
// An initializer raises Error (INVALID_ARGUMENT) for a shape that does not fit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::nn::initializers {

class Initializer {
 public:
  using Draw = std::function<Array(const Array& key, std::span<const int64_t> shape, DType dtype)>;
  Initializer(Draw draw, DType dtype) : draw_(std::move(draw)), dtype_(dtype) {}

  Array operator()(const Array& key, ListOf<int64_t> shape, std::optional<DType> dtype = {}) const {
    return draw_(key, shape, dtype.value_or(dtype_));
  }

 private:
  Draw draw_;
  DType dtype_;  // the default
};

// Fills with this value, which is broadcast.
FARCALL_API Initializer constant(const Array& value, DType dtype = DType::kFloat32);
// Uniform numbers in [0, scale).
FARCALL_API Initializer uniform(const Array& scale = 1e-2, DType dtype = DType::kFloat32);
FARCALL_API Initializer normal(const Array& stddev = 1e-2, DType dtype = DType::kFloat32);
// Normal numbers truncated to the bounds, times `stddev`.
FARCALL_API Initializer truncated_normal(const Array& stddev = 1e-2, DType dtype = DType::kFloat32,
                                         const Array& lower = -2.0, const Array& upper = 2.0);

// ---- scaled by the number of inputs and outputs, which are dimensions of the shape ----

// The dimensions of inputs and outputs, and those that count as neither.
struct FanAxes {
  std::vector<int64_t> in = {-2}, out = {-1}, batch = {};
};
// Numbers of variance scale / n. `mode` defines n: "fan_in", "fan_out", "fan_avg" or "fan_geo_avg",
// the geometric mean. `distribution` is "truncated_normal" (at two standard deviations), "normal"
// or "uniform". Raises INVALID_ARGUMENT for other names.
FARCALL_API Initializer variance_scaling(const Array& scale, std::string_view mode,
                                         std::string_view distribution, const FanAxes& axes = {},
                                         DType dtype = DType::kFloat32);
FARCALL_API Initializer glorot_uniform(const FanAxes& axes = {}, DType dtype = DType::kFloat32);
FARCALL_API Initializer glorot_normal(const FanAxes& axes = {}, DType dtype = DType::kFloat32);
FARCALL_API Initializer lecun_uniform(const FanAxes& axes = {}, DType dtype = DType::kFloat32);
FARCALL_API Initializer lecun_normal(const FanAxes& axes = {}, DType dtype = DType::kFloat32);
FARCALL_API Initializer he_uniform(const FanAxes& axes = {}, DType dtype = DType::kFloat32);
FARCALL_API Initializer he_normal(const FanAxes& axes = {}, DType dtype = DType::kFloat32);

// ---- orthogonal matrices ----

// Orthonormal columns or rows, whichever are fewer. `column_axis` is the dimension of columns; the
// others are flattened into rows.
FARCALL_API Initializer orthogonal(const Array& scale = 1.0, int64_t column_axis = -1,
                                   DType dtype = DType::kFloat32);
// Convolution kernels that are an orthogonal matrix at their centre and 0 elsewhere. Shapes are
// (spatial sizes…, inputs, outputs) with inputs <= outputs.
FARCALL_API Initializer delta_orthogonal(const Array& scale = 1.0, int64_t column_axis = -1,
                                         DType dtype = DType::kFloat32);

}  // namespace farcall::nn::initializers
