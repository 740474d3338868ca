// Parameters of dot_general.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include <farcall/program/params.h>

namespace farcall {

// Sums products over the contracting dimensions, separately for each index of the batch dimensions.
// The dimensions of the result are: batch, remaining dimensions of the left operand, remaining
// dimensions of the right one. Narrow floats are accumulated in float32; integers wrap.
struct DotGeneralParams {
  std::vector<int64_t> lhs_contracting, rhs_contracting;  // of equal length and sizes
  std::vector<int64_t> lhs_batch, rhs_batch;              // of equal length and sizes
  static constexpr auto fields() {
    return std::tuple(field("lhs_contracting", &DotGeneralParams::lhs_contracting),
                      field("rhs_contracting", &DotGeneralParams::rhs_contracting),
                      field("lhs_batch", &DotGeneralParams::lhs_batch),
                      field("rhs_batch", &DotGeneralParams::rhs_batch));
  }
};

}  // namespace farcall
