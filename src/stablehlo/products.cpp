// Products, convolutions and Fourier transforms.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/primitives/convolution.h>
#include <farcall/primitives/dot_general.h>
#include <farcall/primitives/fft.h>

#include "stablehlo/rules.h"

namespace farcall::stablehlo {
namespace {

Values dot_general(Emitter& e, const Call& call) {
  const auto& p = call.params<DotGeneralParams>();
  // XLA has no products of integers of two bits. Sums of int32 have the same lowest bits.
  const bool is_widened = std::ranges::any_of(call.inputs, [](const Value& input) {
    const DTypeInfo& info = dtype_info(input.type.dtype());
    return info.bits == 2 && (info.kind == DTypeKind::kSigned || info.kind == DTypeKind::kUnsigned);
  });
  Values inputs(call.inputs.begin(), call.inputs.end());
  ShapeDtype type = call.result();
  if (is_widened) {
    for (Value& input : inputs) input = e.convert(input, DType::kInt32);
    type = type.with_dtype(DType::kInt32);
  }
  const Value product =
      e.op("stablehlo.dot_general", inputs, type,
           fmt::format("dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {}, "
                       "rhs_batching_dimensions = {}, lhs_contracting_dimensions = {}, "
                       "rhs_contracting_dimensions = {}>",
                       list_text(p.lhs_batch), list_text(p.rhs_batch), list_text(p.lhs_contracting),
                       list_text(p.rhs_contracting)));
  return {is_widened ? e.convert(product, call.result().dtype()) : product};
}

// The dimensions in memory order, such as "[b, f, 0, 1]".
std::string dimension_names(const std::vector<int64_t>& spec, std::string_view first,
                            std::string_view second) {
  std::vector<std::string> names(spec.size());
  for (size_t i = 0; i < spec.size(); ++i) {
    names[static_cast<size_t>(spec[i])] = i == 0   ? std::string(first)
                                          : i == 1 ? std::string(second)
                                                   : fmt::format("{}", i - 2);
  }
  return fmt::format("[{}]", fmt::join(names, ", "));
}

Values convolution(Emitter& e, const Call& call) {
  const auto& p = call.params<ConvParams>();
  return {
      e.op("stablehlo.convolution", call.inputs, call.result(),
           fmt::format("dimension_numbers = #stablehlo.conv<{}x{}->{}>, window_strides = {}, "
                       "padding = {}, lhs_dilation = {}, rhs_dilation = {}, "
                       "feature_group_count = {} : i64, batch_group_count = {} : i64",
                       dimension_names(p.lhs_spec, "b", "f"), dimension_names(p.rhs_spec, "o", "i"),
                       dimension_names(p.out_spec, "b", "f"), array_text(p.window_strides),
                       pairs_text(p.padding), array_text(p.lhs_dilation),
                       array_text(p.rhs_dilation), p.feature_group_count, p.batch_group_count))};
}

Values fft(Emitter& e, const Call& call) {
  const auto& p = call.params<FftParams>();
  // StableHLO transforms at most three dimensions at once.
  if (p.fft_lengths.empty() || p.fft_lengths.size() > 3) return {};
  return {e.op("stablehlo.fft", call.inputs, call.result(),
               fmt::format("fft_type = #stablehlo<fft_type {}>, fft_length = {}", p.fft_type,
                           array_text(p.fft_lengths)))};
}

}  // namespace

void add_products(Rules& rules) {
  rules["dot_general"] = dot_general;
  rules["conv_general_dilated"] = convolution;
  rules["fft"] = fft;
}

}  // namespace farcall::stablehlo
