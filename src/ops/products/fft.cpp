// fft: Fourier transforms over the last dimensions.
#include <farcall/primitives/fft.h>

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include <farcall/core/sizes.h>
#include <farcall/ops/fft.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/rules.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

// The number of independent elements in the transform of n real numbers.
int64_t half(int64_t n) { return n / 2 + 1; }

void check_dtype(ShapeDtype x, const std::string& type) {
  const bool is_real = type == "RFFT";
  const bool fits = is_real ? x.dtype() == DType::kFloat32 || x.dtype() == DType::kFloat64
                            : is_complex(x.dtype());
  if (fits) return;
  invalid_argument(fmt::format("{} takes {}; got {}", type,
                               is_real ? "f32 or f64" : "complex numbers", x.to_string()));
}

std::vector<ShapeDtype> fft_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  const auto& [lengths, type] = params_as<FftParams>(params);
  const ShapeDtype x = inputs[0];
  constexpr std::string_view kTypes[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  if (std::ranges::find(kTypes, type) == std::end(kTypes)) {
    invalid_argument(fmt::format("fft_type must be FFT, IFFT, RFFT or IRFFT, got \"{}\"", type));
  }
  check_dtype(x, type);
  if (lengths.empty() || lengths.size() > x.rank() ||
      std::ranges::any_of(lengths, [](int64_t n) { return n < 1; })) {
    invalid_argument(
        fmt::format("fft_lengths {} must be the positive sizes of one or more of the last "
                    "dimensions of {}",
                    shape_to_string(lengths), x.to_string()));
  }
  Shape shape = to_shape(x.shape());
  Shape wanted = lengths;
  if (type == "IRFFT") wanted.back() = half(wanted.back());
  if (!std::equal(wanted.begin(), wanted.end(),
                  shape.end() - static_cast<int64_t>(wanted.size()))) {
    invalid_argument(fmt::format("{} with fft_lengths {} takes last dimensions of {}; got {}", type,
                                 shape_to_string(lengths), shape_to_string(wanted), x.to_string()));
  }
  if (type == "RFFT") shape.back() = half(lengths.back());
  if (type == "IRFFT") shape.back() = lengths.back();
  const DType dtype = type == "RFFT"    ? complex_dtype(x.dtype())
                      : type == "IRFFT" ? real_dtype(x.dtype())
                                        : x.dtype();
  return {ShapeDtype(dtype, shape)};
}

int64_t fft_flops(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype>,
                  const Params* params) {
  int64_t size = 1;
  for (const int64_t n : params_as<FftParams>(params).fft_lengths) {
    size = saturated_product(size, n);
  }
  const int steps = std::bit_width(static_cast<uint64_t>(size)) - 1;
  return saturated_product(saturated_product(5, inputs[0].size()), std::max(0, steps));
}

// ---- rules

// Pads the last dimension of `x` with zeros up to `size`.
Array extend(const Array& x, int64_t size) {
  Shape shape = to_shape(x.shape());
  const auto last = static_cast<int64_t>(shape.size()) - 1;
  shape[last] = size - shape[last];
  const Array parts[] = {x, broadcast_scalar(scalar_of(x.dtype(), 0), shape)};
  return lax::concatenate(parts, last);
}

// In the transpose, the elements that RFFT omits are zero.
Array rfft_transpose(const Array& cotangent, const std::vector<int64_t>& lengths) {
  return lax::real(lax::fft(extend(cotangent, lengths.back()), "FFT", lengths));
}

// Every element counts twice, except the first and, for even n, the middle one.
Array irfft_transpose(const Array& cotangent, const std::vector<int64_t>& lengths) {
  const Array transformed = lax::fft(cotangent, "RFFT", lengths);
  const int64_t n = lengths.back();
  double size = 1;
  for (const int64_t length : lengths) size *= static_cast<double>(length);
  const DType dtype = real_dtype(transformed.dtype());
  const auto last = static_cast<int64_t>(transformed.rank()) - 1;
  const Array index = lax::iota(DType::kInt64, transformed.shape(), last);
  const Array is_alone =
      lax::bitwise_or(lax::eq(index, Array::scalar(int64_t{0})),
                      lax::eq(lax::mul(index, Array::scalar(int64_t{2})), Array::scalar(n)));
  const Array cases[] = {broadcast_scalar(scalar_of(dtype, 2 / size), index.shape()),
                         broadcast_scalar(scalar_of(dtype, 1 / size), index.shape())};
  const Array scale = lax::select_n(is_alone, cases);
  return lax::conj(lax::mul(transformed, lax::convert_element_type(scale, transformed.dtype())));
}

std::vector<Array> fft_transpose(const TransposeCall& call) {
  const auto& [lengths, type] = params_as<FftParams>(call.params.get());
  const Array& cotangent = call.cotangents[0];
  if (type == "RFFT") return {rfft_transpose(cotangent, lengths)};
  if (type == "IRFFT") return {irfft_transpose(cotangent, lengths)};
  return {lax::fft(cotangent, type, lengths)};  // its matrix is symmetric
}

BatchResults fft_batch(const BatchCall& call) {
  const Array x = move_axis(call.inputs[0], call.axes[0], 0, call.axis.size);
  return {bind_primitive(call.primitive, call.params, {&x, 1}), {0}};
}

const TransformRules kFftRules = {
    .jvp = linear_jvp, .transpose = fft_transpose, .batch = fft_batch};
const Primitive kFft = {.name = "fft",
                        .type_rule = fft_rule,
                        .parse = parse_params<FftParams>,
                        .flops = fft_flops,
                        .rules = &kFftRules};
FARCALL_REGISTER_PRIMITIVE(kFft);

}  // namespace

namespace lax {

Array fft(const Array& x, const std::string& fft_type, ListOf<int64_t> fft_lengths) {
  const bool takes_reals = fft_type == "RFFT" || !is_floating(x.dtype());
  const DType dtype = x.dtype() == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
  const Array operand = takes_reals ? x : convert_element_type(x, dtype);
  return bind_one(kFft, make_params(FftParams{to_shape(fft_lengths), fft_type}), {&operand, 1});
}

}  // namespace lax
}  // namespace farcall
