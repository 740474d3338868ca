// fft, in double precision for both kinds of numbers.
#include <algorithm>
#include <memory>
#include <vector>

#include <farcall/primitives/fft.h>

#include "engine/native/kernels/convert.h"
#include "engine/native/kernels/fourier.h"
#include "engine/native/kernels/interruptible.h"
#include "engine/native/kernels/lanes.h"
#include "engine/native/kernels/rows.h"
#include "engine/native/kernels/scratch.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

enum class Kind : uint8_t { kForward, kBackward, kRealForward, kRealBackward };

struct FftPlan {
  Kind kind = Kind::kForward;
  std::vector<std::shared_ptr<const FourierLine>> lines;  // of the dimensions that are transformed
  Shape work_shape;  // of what is worked on at a time: the result, or the operand of IRFFT
  Conversion load, store;
  int64_t batch = 1, input_size = 1, work_size = 1, output_size = 1;
  double scale = 1;
  size_t work = 0, line = 0, real = 0;  // in scratch

  bool is_backward() const { return kind == Kind::kBackward || kind == Kind::kRealBackward; }
};

void transform(const FftPlan& plan, size_t dimension, Number* line, Number* scratch) {
  const FourierLine& fourier = *plan.lines[dimension];
  plan.is_backward() ? fourier.backward(line, scratch) : fourier.forward(line, scratch);
}

// All lines of one dimension, in place.
void transform_dimension(const FftPlan& plan, size_t dimension, Number* work, Number* line) {
  const Lanes lanes = lanes_of(plan.work_shape, static_cast<int64_t>(dimension));
  InterruptCounter counter;
  for (int64_t lane = 0; lane < lanes.outer * lanes.inner; ++lane) {
    counter.add(lanes.size);
    Number* first = work + lane / lanes.inner * lanes.size * lanes.inner + lane % lanes.inner;
    for (int64_t i = 0; i < lanes.size; ++i) line[i] = first[i * lanes.inner];
    transform(plan, dimension, line, line + lanes.size);
    for (int64_t i = 0; i < lanes.size; ++i) first[i * lanes.inner] = line[i];
  }
}

// The last dimension of real numbers, of which only the first half of the transform is kept.
void transform_real(const FftPlan& plan, const Number* rows, Number* work, Number* line) {
  const size_t last = plan.lines.size() - 1;
  const int64_t size = plan.lines[last]->size(), kept = plan.work_shape[last];
  InterruptCounter counter;
  for (int64_t row = 0; row < plan.work_size / kept; ++row) {
    counter.add(size);
    std::copy_n(rows + row * size, size, line);
    transform(plan, last, line, line + size);
    std::copy_n(line, kept, work + row * kept);
  }
}

// The last dimension into real numbers: the other half is the conjugate of the first one.
void transform_to_real(const FftPlan& plan, const Number* work, double* real, Number* line) {
  const size_t last = plan.lines.size() - 1;
  const int64_t size = plan.lines[last]->size(), kept = plan.work_shape[last];
  InterruptCounter counter;
  for (int64_t row = 0; row < plan.work_size / kept; ++row) {
    counter.add(size);
    const Number* from = work + row * kept;
    for (int64_t i = 0; i < kept; ++i) line[i] = from[i];
    for (int64_t i = kept; i < size; ++i) line[i] = std::conj(from[size - i]);
    line[0] = line[0].real();
    if (size % 2 == 0) line[size / 2] = line[size / 2].real();
    transform(plan, last, line, line + size);
    for (int64_t i = 0; i < size; ++i) real[row * size + i] = line[i].real() * plan.scale;
  }
}

void run_fft(const KernelCall& call) {
  const auto& plan = *static_cast<const FftPlan*>(call.data);
  auto* scratch = static_cast<std::byte*>(call.scratch);
  auto* work = reinterpret_cast<Number*>(scratch + plan.work);
  auto* line = reinterpret_cast<Number*>(scratch + plan.line);
  auto* real = scratch + plan.real;
  const auto* input = static_cast<const std::byte*>(call.operands[0]);
  auto* output = static_cast<std::byte*>(call.operands[1]);
  const size_t num_dimensions = plan.lines.size();
  const bool is_real = plan.kind == Kind::kRealForward || plan.kind == Kind::kRealBackward;
  InterruptCounter counter;
  for (int64_t i = 0; i < plan.batch; ++i) {
    counter.add(plan.work_size);
    const std::byte* from =
        input + i * plan.input_size * static_cast<int64_t>(plan.load.source_width);
    std::byte* to = output + i * plan.output_size * static_cast<int64_t>(plan.store.target_width);
    if (plan.kind == Kind::kRealForward) {
      plan.load.run(from, real, plan.input_size);
      transform_real(plan, reinterpret_cast<const Number*>(real), work, line);
    } else {
      plan.load.run(from, work, plan.input_size);
    }
    for (size_t j = 0; j < num_dimensions - is_real; ++j) transform_dimension(plan, j, work, line);
    if (plan.kind == Kind::kRealBackward) {
      transform_to_real(plan, work, reinterpret_cast<double*>(real), line);
      plan.store.run(real, to, plan.output_size);
      continue;
    }
    if (plan.kind == Kind::kBackward) {
      for (int64_t k = 0; k < plan.work_size; ++k) work[k] *= plan.scale;
    }
    plan.store.run(work, to, plan.output_size);
  }
}

Kind kind_of(const std::string& type) {
  if (type == "FFT") return Kind::kForward;
  if (type == "IFFT") return Kind::kBackward;
  return type == "RFFT" ? Kind::kRealForward : Kind::kRealBackward;
}

Kernel make_fft(Types inputs, Types outputs, const Params* params) {
  const auto& p = params_as<FftParams>(params);
  const auto& lengths = p.fft_lengths;
  const auto& type = p.fft_type;
  auto plan = std::make_shared<FftPlan>();
  plan->kind = kind_of(type);
  const bool is_real_result = plan->kind == Kind::kRealBackward;
  const auto last_of = [&](const ShapeDtype& array) { return array.shape().last(lengths.size()); };
  const auto work = last_of(is_real_result ? inputs[0] : outputs[0]);
  plan->work_shape.assign(work.begin(), work.end());
  int64_t line_size = 0;
  for (const int64_t n : lengths) {
    plan->lines.push_back(std::make_shared<FourierLine>(n));
    line_size = std::max(line_size, n + plan->lines.back()->scratch_size());
    plan->scale /= static_cast<double>(n);
  }
  for (const int64_t n : work) plan->work_size *= n;
  for (const int64_t n : last_of(inputs[0])) plan->input_size *= n;
  for (const int64_t n : last_of(outputs[0])) plan->output_size *= n;
  plan->batch = inputs[0].size() / plan->input_size;
  plan->load = make_conversion(inputs[0].dtype(), DType::kComplex128);
  plan->store =
      make_conversion(is_real_result ? DType::kFloat64 : DType::kComplex128, outputs[0].dtype());
  ScratchParts scratch;
  plan->work = scratch.take(plan->work_size, sizeof(Number));
  plan->line = scratch.take(line_size, sizeof(Number));
  if (plan->kind == Kind::kRealForward) plan->real = scratch.take(plan->input_size, sizeof(Number));
  if (is_real_result) plan->real = scratch.take(plan->output_size, sizeof(double));
  return {.run = run_fft, .data = std::move(plan), .scratch_bytes = scratch.bytes()};
}

constexpr KernelRow kRows[] = {{"fft", make_fft}};

}  // namespace

std::span<const KernelRow> fft_rows() { return kRows; }

}  // namespace farcall::native
