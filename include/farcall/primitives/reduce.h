// Parameters of reductions.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include <farcall/program/params.h>

namespace farcall {

// reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or: reduce the dimensions in
// `axes` (sorted), which are removed. Over no elements, sum is 0, prod 1, `and` true, `or` false,
// max the lowest and min the highest value of the dtype (infinities for floats). If an element is
// NaN, max and min are NaN.
struct ReduceParams {
  std::vector<int64_t> axes;
  static constexpr auto fields() { return std::tuple(field("axes", &ReduceParams::axes)); }
};

// argmax, argmin: the index of the first extreme value along one axis, or of the first NaN if there
// is one.
struct ArgReduceParams {
  int64_t axis = 0;
  DType index_dtype = DType::kInt32;
  static constexpr auto fields() {
    return std::tuple(field("axis", &ArgReduceParams::axis),
                      field("index_dtype", &ArgReduceParams::index_dtype));
  }
};

}  // namespace farcall
