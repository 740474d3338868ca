// Parameters of collectives, which refer to axes of vmap or of a mesh by name.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <farcall/program/params.h>

namespace farcall {

// psum, pmax, pmin: reduce over all of these axes.
struct ReduceAxesParams {
  std::vector<std::string> axes;
  static constexpr auto fields() { return std::tuple(field("axes", &ReduceAxesParams::axes)); }
};
// all_gather: adds a dimension of size axis_size at all_gather_dimension.
struct AllGatherParams {
  std::string axis_name;
  int64_t all_gather_dimension = 0;
  int64_t axis_size = 0;
  static constexpr auto fields() {
    return std::tuple(field("all_gather_dimension", &AllGatherParams::all_gather_dimension),
                      field("axis_name", &AllGatherParams::axis_name),
                      field("axis_size", &AllGatherParams::axis_size));
  }
};
// all_to_all: removes dimension split_axis, whose size must be the axis size, and adds a dimension
// of this size at concat_axis.
struct AllToAllParams {
  std::string axis_name;
  int64_t split_axis = 0, concat_axis = 0;
  static constexpr auto fields() {
    return std::tuple(field("axis_name", &AllToAllParams::axis_name),
                      field("concat_axis", &AllToAllParams::concat_axis),
                      field("split_axis", &AllToAllParams::split_axis));
  }
};
struct PpermuteParams {
  std::string axis_name;
  std::vector<std::pair<int64_t, int64_t>> perm;  // (from, to)
  static constexpr auto fields() {
    return std::tuple(field("axis_name", &PpermuteParams::axis_name),
                      field("perm", &PpermuteParams::perm));
  }
};
struct AxisIndexParams {
  std::string axis_name;
  static constexpr auto fields() {
    return std::tuple(field("axis_name", &AxisIndexParams::axis_name));
  }
};

}  // namespace farcall
