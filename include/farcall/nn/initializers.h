// Functions that make the first parameters of a network (namespace farcall::nn::initializers), with
// the same bits as those of jax.nn.initializers for the same key, shape and dtype.
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
  DType dtype_;  // where none is given
};

// Of this value, which broadcasts.
FARCALL_API Initializer constant(const Array& value, DType dtype = DType::kFloat32);
// Uniform numbers in [0, scale).
FARCALL_API Initializer uniform(const Array& scale = 1e-2, DType dtype = DType::kFloat32);
FARCALL_API Initializer normal(const Array& stddev = 1e-2, DType dtype = DType::kFloat32);
// Normal numbers between two bounds, times `stddev`.
FARCALL_API Initializer truncated_normal(const Array& stddev = 1e-2, DType dtype = DType::kFloat32,
                                         const Array& lower = -2.0, const Array& upper = 2.0);

// ---- by the number of inputs and outputs; the shape has both ----

// Dimensions of inputs and outputs, and those that count for neither.
struct FanAxes {
  std::vector<int64_t> in = {-2}, out = {-1}, batch = {};
};
// Numbers of variance scale / n. `mode` says what n is: "fan_in", "fan_out", "fan_avg" or
// "fan_geo_avg", the geometric mean. `distribution` is "truncated_normal" (at two standard
// deviations), "normal" or "uniform". Raises INVALID_ARGUMENT for others.
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

// Orthonormal columns or rows, whichever are fewer: `column_axis` is the dimension of columns, the
// others together are that of rows.
FARCALL_API Initializer orthogonal(const Array& scale = 1.0, int64_t column_axis = -1,
                                   DType dtype = DType::kFloat32);
// Convolutions that are such a matrix at their centre and 0 elsewhere. Shapes are (spatial sizes…,
// inputs, outputs) with at most as many inputs as outputs.
FARCALL_API Initializer delta_orthogonal(const Array& scale = 1.0, int64_t column_axis = -1,
                                         DType dtype = DType::kFloat32);

}  // namespace farcall::nn::initializers
