// Parameters of primitives that move elements without computing.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include <farcall/program/params.h>

namespace farcall {

// broadcast_in_dim: dimension i of the operand becomes dimension broadcast_dimensions[i] of the
// result; its size is that of the result or 1. broadcast_dimensions is strictly increasing.
struct BroadcastInDimParams {
  Shape shape;
  std::vector<int64_t> broadcast_dimensions;
  static constexpr auto fields() {
    return std::tuple(field("shape", &BroadcastInDimParams::shape),
                      field("broadcast_dimensions", &BroadcastInDimParams::broadcast_dimensions));
  }
};

// reshape: the same elements, row-major, in another shape.
struct ReshapeParams {
  Shape new_sizes;
  static constexpr auto fields() {
    return std::tuple(field("new_sizes", &ReshapeParams::new_sizes));
  }
};

// transpose: dimension i of the result is dimension permutation[i] of the operand.
struct TransposeParams {
  std::vector<int64_t> permutation;
  static constexpr auto fields() {
    return std::tuple(field("permutation", &TransposeParams::permutation));
  }
};

// slice: elements start, start + stride, … below the limit in each dimension. Strides are positive.
struct SliceParams {
  std::vector<int64_t> start_indices;
  std::vector<int64_t> limit_indices;
  std::vector<int64_t> strides;
  static constexpr auto fields() {
    return std::tuple(field("start_indices", &SliceParams::start_indices),
                      field("limit_indices", &SliceParams::limit_indices),
                      field("strides", &SliceParams::strides));
  }
};

// concatenate: any number of operands, one after the other in `dimension`.
struct ConcatenateParams {
  int64_t dimension = 0;
  static constexpr auto fields() {
    return std::tuple(field("dimension", &ConcatenateParams::dimension));
  }
};

// rev: reverses the order of elements in these dimensions.
struct RevParams {
  std::vector<int64_t> dimensions;
  static constexpr auto fields() { return std::tuple(field("dimensions", &RevParams::dimensions)); }
};

// iota: 0, 1, 2, … along `dimension`; no operands.
struct IotaParams {
  DType dtype = DType::kInvalid;
  Shape shape;
  int64_t dimension = 0;
  static constexpr auto fields() {
    return std::tuple(field("dtype", &IotaParams::dtype), field("shape", &IotaParams::shape),
                      field("dimension", &IotaParams::dimension));
  }
};

}  // namespace farcall
