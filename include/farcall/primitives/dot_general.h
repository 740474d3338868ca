// Parameters of dot_general.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include <farcall/core/precision.h>
#include <farcall/program/params.h>

namespace farcall {

// Sums products over the contracting dimensions, separately for each index of the batch dimensions.
// The dimensions of the result are: batch, remaining dimensions of the left operand, remaining
// dimensions of the right one. Narrow floats are accumulated in float32; integers wrap. `precision`
// is for engines that offer a choice; the others ignore it.
struct DotGeneralParams {
  std::vector<int64_t> lhs_contracting, rhs_contracting;  // of equal length and sizes
  std::vector<int64_t> lhs_batch, rhs_batch;              // of equal length and sizes
  std::optional<OperandPrecisions> precision = {};
  static constexpr auto fields() {
    using P = DotGeneralParams;
    return std::tuple(field("lhs_contracting", &P::lhs_contracting),
                      field("rhs_contracting", &P::rhs_contracting),
                      field("lhs_batch", &P::lhs_batch), field("rhs_batch", &P::rhs_batch),
                      optional_field("precision", &P::precision));
  }
};

}  // namespace farcall
