// Parameters of dot_general.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include <farcall/program/params.h>

namespace farcall {

// Sums over the contracting dimensions, one product for each index of the batch dimensions. The
// result's dimensions are: batch, the other dimensions of the left operand, those of the right one.
// Narrow floats are summed in float32; integers wrap.
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
