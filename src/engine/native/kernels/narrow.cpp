#include <cstdint>

#include <farcall/handler/small_float.h>

#include "engine/native/kernels/convert.h"
#include "engine/native/kernels/instruction_sets.h"

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

struct NarrowRow {
  DType dtype;
  ConvertLoop (*to_float)();
  ConvertLoop (*from_float)();
};
template <class T>
constexpr NarrowRow row(DType dtype) {
  return {dtype, [] { return ConvertLoop(best_loop<widen<T>>()); },
          [] { return ConvertLoop(best_loop<narrow<T>>()); }};
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
  for (const auto& row : kRows) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

}  // namespace

bool is_narrow_float(DType dtype) { return find(dtype) != nullptr; }
ConvertLoop narrow_to_float(DType dtype) {
  const auto* row = find(dtype);
  return row ? row->to_float() : nullptr;
}
ConvertLoop float_to_narrow(DType dtype) {
  const auto* row = find(dtype);
  return row ? row->from_float() : nullptr;
}

}  // namespace farcall::native
