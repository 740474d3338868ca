// Products, convolutions and Fourier transforms.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/primitives/convolution.h>
#include <farcall/primitives/dot_general.h>
#include <farcall/primitives/fft.h>

#include "stablehlo/rules.h"
#include "stablehlo/undivided.h"

namespace farcall::stablehlo {
namespace {

// Without a precision, XLA multiplies float32 with the ten bits of TensorFloat-32 on GPUs.
std::string precision_text(const Emitter& e, std::optional<OperandPrecisions> precision) {
  if (!precision && e.is_for_accelerator()) precision = {Precision::kHighest, Precision::kHighest};
  if (!precision) return "";
  constexpr std::string_view kNames[] = {"DEFAULT", "HIGH", "HIGHEST"};
  const auto text = [&](Precision p) { return kNames[static_cast<size_t>(p)]; };
  return fmt::format(", precision_config = [#stablehlo<precision {}>, #stablehlo<precision {}>]",
                     text(precision->first), text(precision->second));
}

Values dot_general(Emitter& e, const Call& call) {
  const auto& p = call.params<DotGeneralParams>();
  // XLA has no products of integers of two bits. Sums of int32 have the same lowest bits.
  const bool is_widened = std::ranges::any_of(
      call.inputs, [](const Value& input) { return is_narrow(input.type.dtype()); });
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
                       "rhs_contracting_dimensions = {}>{}",
                       list_text(p.lhs_batch), list_text(p.rhs_batch), list_text(p.lhs_contracting),
                       list_text(p.rhs_contracting), precision_text(e, p.precision)));
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

// A convolution with whole spatial dimensions. XLA computes wrong values where it divides them
// unevenly, those of a kernel for instance. Between constants, it clamps the sums of integers; the
// barrier keeps it from computing them when it compiles.
Value convolve(Emitter& e, const Value& lhs, const Value& rhs, ShapeDtype result,
               const std::string& attributes, const ConvParams& p) {
  const auto whole = [&](const Value& value, const std::vector<int64_t>& spec) {
    return undivided(e, value, std::span(spec).subspan(2));
  };
  Values operands = {whole(lhs, p.lhs_spec), whole(rhs, p.rhs_spec)};
  if (is_integer(result.dtype())) {
    operands[0] = e.op("stablehlo.optimization_barrier", {operands[0]}, lhs.type);
  }
  return whole(e.op("stablehlo.convolution", operands, result, attributes), p.out_spec);
}

Values convolution(Emitter& e, const Call& call) {
  const auto& p = call.params<ConvParams>();
  // cuDNN has no convolutions of integers but for some of eight bits. XLA has no empty windows.
  const bool is_for_relay =
      (e.is_for_accelerator() && is_integer(call.dtype())) || call.inputs[1].type.size() == 0;
  if (is_for_relay && e.options().relay) return {};
  const std::string attributes = fmt::format(
      "dimension_numbers = #stablehlo.conv<{}x{}->{}>, window_strides = {}, padding = {}, "
      "lhs_dilation = {}, rhs_dilation = {}, feature_group_count = {} : i64, "
      "batch_group_count = {} : i64{}",
      dimension_names(p.lhs_spec, "b", "f"), dimension_names(p.rhs_spec, "o", "i"),
      dimension_names(p.out_spec, "b", "f"), array_text(p.window_strides), pairs_text(p.padding),
      array_text(p.lhs_dilation), array_text(p.rhs_dilation), p.feature_group_count,
      p.batch_group_count, precision_text(e, p.precision));
  if (!e.is_for_accelerator() || !is_complex(call.dtype())) {
    return {convolve(e, call.inputs[0], call.inputs[1], call.result(), attributes, p)};
  }
  // XLA has no complex convolutions on GPUs.
  const ShapeDtype type = call.result().with_dtype(real_dtype(call.dtype()));
  const auto part = [&](std::string_view name, const Value& whole) {
    return e.op(name, {whole}, whole.type.with_dtype(type.dtype()));
  };
  const auto product = [&](std::string_view of_lhs, std::string_view of_rhs) {
    return convolve(e, part(of_lhs, call.inputs[0]), part(of_rhs, call.inputs[1]), type, attributes,
                    p);
  };
  constexpr std::string_view kReal = "stablehlo.real", kImag = "stablehlo.imag";
  const Value real =
      e.op("stablehlo.subtract", {product(kReal, kReal), product(kImag, kImag)}, type);
  const Value imag = e.op("stablehlo.add", {product(kReal, kImag), product(kImag, kReal)}, type);
  return {e.op("stablehlo.complex", {real, imag}, call.result())};
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
