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

// sort: sorts all operands, which have one shape, along `dimension` by the first num_keys operands,
// lexicographically. NaNs come last and equal each other; -0.0 equals 0.0; complex numbers are
// ordered by real part, then by imaginary part. The sort is always stable, whatever is_stable is.
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
// int32. NaN is larger than all numbers, and 0.0 is larger than -0.0. Equal elements keep their
// order.
struct TopKParams {
  int64_t k = 0;
  int64_t axis = 0;
  static constexpr auto fields() {
    return std::tuple(field("k", &TopKParams::k), field("axis", &TopKParams::axis));
  }
};

}  // namespace farcall
