#include <algorithm>
#include <cstdint>
#include <iterator>

#include <farcall/handler/small_float.h>

#include "engine/native/kernels/elementwise/convert.h"
#include "engine/native/kernels/instruction_sets.h"
#include "engine/native/kernels/vector/narrow.h"

namespace farcall::native {
namespace {

template <class T>
void widen(const void* source, void* target, int64_t size, const ConvertStep&) {
  const auto* from = static_cast<const T*>(source);
  auto* to = static_cast<float*>(target);
  for (int64_t i = 0; i < size; ++i) to[i] = from[i];
}

template <class T>
void narrow(const void* source, void* target, int64_t size, const ConvertStep&) {
  const auto* from = static_cast<const float*>(source);
  auto* to = static_cast<T*>(target);
  for (int64_t i = 0; i < size; ++i) to[i] = T(from[i]);
}

template <class T>
void round_to(const void* source, void* target, int64_t size, const ConvertStep&) {
  const auto* from = static_cast<const float*>(source);
  auto* to = static_cast<float*>(target);
  for (int64_t i = 0; i < size; ++i) to[i] = T(from[i]);
}

template <class T>
ConvertLoop loop_of(NarrowStep step) {
  switch (step) {
    case NarrowStep::kWiden:
      return best_loop<widen<T>>();
    case NarrowStep::kNarrow:
      return best_loop<narrow<T>>();
    default:
      return best_loop<round_to<T>>();
  }
}

struct NarrowRow {
  DType dtype;
  ConvertLoop (*loop)(NarrowStep step);
};
template <class T>
constexpr NarrowRow row(DType dtype) {
  return {dtype, loop_of<T>};
}

constexpr NarrowRow kRows[] = {
    row<ffi::float16>(DType::kFloat16),
    row<ffi::bfloat16>(DType::kBFloat16),
    row<ffi::float8_e5m2>(DType::kFloat8E5M2),
    row<ffi::float8_e4m3>(DType::kFloat8E4M3),
    row<ffi::float8_e3m4>(DType::kFloat8E3M4),
    row<ffi::float8_e4m3fn>(DType::kFloat8E4M3FN),
    row<ffi::float8_e4m3b11fnuz>(DType::kFloat8E4M3B11FNUZ),
    row<ffi::float8_e5m2fnuz>(DType::kFloat8E5M2FNUZ),
    row<ffi::float8_e4m3fnuz>(DType::kFloat8E4M3FNUZ),
    row<ffi::float8_e8m0fnu>(DType::kFloat8E8M0FNU),
    row<ffi::float4_e2m1fn>(DType::kFloat4E2M1FN),
};

const NarrowRow* find(DType dtype) {
  const auto* row = std::ranges::find(kRows, dtype, &NarrowRow::dtype);
  return row == std::end(kRows) ? nullptr : row;
}

ConvertLoop find_loop(DType dtype, NarrowStep step) {
  if (const ConvertLoop loop = vector_narrow_loop(dtype, step)) return loop;
  const auto* row = find(dtype);
  return row ? row->loop(step) : nullptr;
}

}  // namespace

bool is_narrow_float(DType dtype) { return find(dtype) != nullptr; }
ConvertLoop narrow_to_float(DType dtype) { return find_loop(dtype, NarrowStep::kWiden); }
ConvertLoop float_to_narrow(DType dtype) { return find_loop(dtype, NarrowStep::kNarrow); }

Conversion rounding_to(DType narrow) {
  Conversion conversion;
  conversion.source_width = conversion.target_width = sizeof(float);
  conversion.num_steps = 1;
  conversion.steps[0].run = find_loop(narrow, NarrowStep::kRound);
  conversion.steps[0].target_width = sizeof(float);
  return conversion;
}

}  // namespace farcall::native
