// Parameters of cumulative operations, of sort and of top_k.
#pragma once

#include <cstdint>
#include <tuple>

#include <farcall/program/params.h>

namespace farcall {

// cumsum, cumprod, cummax, cummin, cumlogsumexp: element i of the result is the reduction of the
// elements up to i along `axis`, or from i on if `reverse`.
struct CumulativeParams {
  int64_t axis = 0;
  bool reverse = false;
  static constexpr auto fields() {
    return std::tuple(field("axis", &CumulativeParams::axis),
                      field("reverse", &CumulativeParams::reverse));
  }
};

// sort: all operands, of one shape, are brought into the order of the first num_keys of them along
// `dimension`, the first key deciding first. NaNs come last and are equal to one another, -0.0 and
// 0.0 are equal, complex numbers are ordered by the real part first. Equal elements keep their
// order (also where is_stable does not ask for it).
struct SortParams {
  int64_t dimension = 0;
  bool is_stable = true;
  int64_t num_keys = 1;
  static constexpr auto fields() {
    return std::tuple(field("dimension", &SortParams::dimension),
                      field("is_stable", &SortParams::is_stable),
                      field("num_keys", &SortParams::num_keys));
  }
};

// top_k: the k largest elements along `axis`, in descending order, and their positions there as
// int32. NaN is larger than all numbers, 0.0 than -0.0; of equal elements the first comes first.
struct TopKParams {
  int64_t k = 0;
  int64_t axis = 0;
  static constexpr auto fields() {
    return std::tuple(field("k", &TopKParams::k), field("axis", &TopKParams::axis));
  }
};

}  // namespace farcall
