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

// Whether XLA ends the process: it swaps the operands if a dimension of the kernel is larger than
// that of the other operand, but not those dimensions that are dilated and smaller.
bool is_swapped_in_part(const ConvParams& p, ShapeDtype lhs, ShapeDtype rhs) {
  bool has_larger = false, is_dilated = false;
  for (size_t i = 2; i < p.lhs_spec.size(); ++i) {
    const int64_t size = lhs.shape()[static_cast<size_t>(p.lhs_spec[i])];
    has_larger |= rhs.shape()[static_cast<size_t>(p.rhs_spec[i])] > size;
    is_dilated |= p.lhs_dilation[i - 2] != 1;
  }
  return has_larger && is_dilated;
}

// Dilates the operand by padding; `p` then has no dilation of it.
Value dilated_operand(Emitter& e, const Value& lhs, ConvParams& p) {
  std::vector<PaddingDimension> config(lhs.type.rank());
  Shape shape(lhs.type.shape().begin(), lhs.type.shape().end());
  for (size_t i = 2; i < p.lhs_spec.size(); ++i) {
    const auto d = static_cast<size_t>(p.lhs_spec[i]);
    config[d].interior = p.lhs_dilation[i - 2] - 1;
    if (shape[d] > 0) shape[d] += (shape[d] - 1) * config[d].interior;
    p.lhs_dilation[i - 2] = 1;
  }
  const ShapeDtype scalar(lhs.type.dtype(), {});
  return e.pad(lhs, e.number(scalar, 0), config, ShapeDtype(lhs.type.dtype(), shape));
}

Values convolution(Emitter& e, const Call& call) {
  auto p = call.params<ConvParams>();
  // cuDNN has no convolutions of integers but for some of eight bits. XLA has no empty windows.
  const bool is_for_relay =
      (e.is_for_accelerator() && is_integer(call.dtype())) || call.inputs[1].type.size() == 0;
  if (is_for_relay && e.options().relay) return {};
  Value lhs = call.inputs[0];
  if (e.is_for_cpu_plugin() && is_swapped_in_part(p, lhs.type, call.inputs[1].type)) {
    lhs = dilated_operand(e, lhs, p);
  }
  const std::string attributes = fmt::format(
      "dimension_numbers = #stablehlo.conv<{}x{}->{}>, window_strides = {}, padding = {}, "
      "lhs_dilation = {}, rhs_dilation = {}, feature_group_count = {} : i64, "
      "batch_group_count = {} : i64{}",
      dimension_names(p.lhs_spec, "b", "f"), dimension_names(p.rhs_spec, "o", "i"),
      dimension_names(p.out_spec, "b", "f"), array_text(p.window_strides), pairs_text(p.padding),
      array_text(p.lhs_dilation), array_text(p.rhs_dilation), p.feature_group_count,
      p.batch_group_count, precision_text(e, p.precision));
  if (!e.is_for_accelerator() || !is_complex(call.dtype())) {
    return {convolve(e, lhs, call.inputs[1], call.result(), attributes, p)};
  }
  // XLA has no complex convolutions on GPUs.
  const ShapeDtype type = call.result().with_dtype(real_dtype(call.dtype()));
  const auto part = [&](std::string_view name, const Value& whole) {
    return e.op(name, {whole}, whole.type.with_dtype(type.dtype()));
  };
  const auto product = [&](std::string_view of_lhs, std::string_view of_rhs) {
    return convolve(e, part(of_lhs, lhs), part(of_rhs, call.inputs[1]), type, attributes, p);
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
