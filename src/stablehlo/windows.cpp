// Reductions over windows, and selections in windows.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "stablehlo/rules.h"

namespace farcall::stablehlo {
namespace {

// The operand, dilated and padded by an operation of its own.
Value padded_operand(Emitter& e, const Call& call, const ReduceWindowParams& p,
                     const Value& first) {
  std::vector<PaddingDimension> config;
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < p.padding.size(); ++i) {
    const auto [low, high] = p.padding[i];
    const int64_t dilation = p.base_dilation[i];
    config.push_back({.low = low, .high = high, .interior = dilation - 1});
    sizes.push_back(padded(dilated(call.inputs[0].type.shape()[i], dilation), {low, high}));
  }
  return e.pad(call.inputs[0], first, config, ShapeDtype(call.dtype(), sizes));
}

Rule reduce_windows_by(std::string_view operation, int start) {
  return [operation, start](Emitter& e, const Call& call) -> Values {
    ReduceWindowParams p = call.params<ReduceWindowParams>();
    const ShapeDtype type(call.dtype(), {});
    if (call.result().rank() == 0) return {};
    // Negative padding may be more than an empty operand has.
    if (call.result().size() == 0) {
      constexpr std::byte kZero[16] = {};
      return {e.splat(call.result(), kZero)};
    }
    const auto [first, is_there] =
        start < 2 ? std::pair(e.number(type, start), start == 1 || has_zero(call.dtype()))
                  : extreme(e, type, start == 3);
    if (!is_there) return {};
    Value operand = call.inputs[0];
    // XLA ends the process for windows of one element with negative padding.
    if (std::ranges::any_of(p.padding,
                            [](auto pair) { return pair.first < 0 || pair.second < 0; })) {
      operand = padded_operand(e, call, p, first);
      std::ranges::fill(p.padding, std::pair<int64_t, int64_t>());
      std::ranges::fill(p.base_dilation, 1);
    }
    const std::string body = reducer(e, call.dtype(), operation);
    return e.op("stablehlo.reduce_window", Values{operand, first}, call.results, windows_text(p),
                std::span(&body, 1));
  };
}

Values select_and_scatter(Emitter& e, const Call& call) {
  const auto& p = call.params<SelectWindowParams>();
  const auto is_one = [](int64_t dilation) { return dilation == 1; };
  if (!std::ranges::all_of(p.base_dilation, is_one) ||
      !std::ranges::all_of(p.window_dilation, is_one) || is_complex(call.dtype()) ||
      !has_zero(call.dtype())) {
    return {};
  }
  const ShapeDtype type(call.dtype(), {});
  const Value zero = e.number(type, 0);
  const std::string bodies[] = {
      e.region(std::array{type, type},
               [&](const Values& x) {
                 return Values{e.compare(p.select_prim == "ge" ? "GE" : "LE", x[0], x[1])};
               }),
      reducer(e, call.dtype(), "stablehlo.add")};
  return e.op("stablehlo.select_and_scatter", Values{call.inputs[1], call.inputs[0], zero},
              call.results,
              fmt::format("window_dimensions = {}, window_strides = {}, padding = {}",
                          array_text(p.window_dimensions), array_text(p.window_strides),
                          pairs_text(p.padding)),
              bodies);
}

}  // namespace

void add_windows(Rules& rules) {
  constexpr int kLowest = 2, kHighest = 3;
  rules["reduce_window_sum"] = reduce_windows_by("stablehlo.add", 0);
  rules["reduce_window_prod"] = reduce_windows_by("stablehlo.multiply", 1);
  rules["reduce_window_max"] = reduce_windows_by("stablehlo.maximum", kLowest);
  rules["reduce_window_min"] = reduce_windows_by("stablehlo.minimum", kHighest);
  rules["select_and_scatter_add"] = select_and_scatter;
}

}  // namespace farcall::stablehlo
