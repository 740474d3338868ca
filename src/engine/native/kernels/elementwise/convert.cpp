#include "engine/native/kernels/elementwise/convert.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include <farcall/core/error.h>
#include <farcall/primitives/elementwise.h>

#include "engine/native/kernels/elementwise/arithmetic.h"
#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/instruction_sets.h"
#include "engine/native/kernels/movement/rows.h"

namespace farcall::native {
namespace {

constexpr int64_t kStepBlock = 512;

template <class From, class To>
void cast(const void* source, void* target, int64_t size, const ConvertStep&) {
  const auto* from = static_cast<const From*>(source);
  auto* to = static_cast<To*>(target);
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) to[i] = static_cast<To>(from[i]);
}

template <class T>
void is_nonzero(const void* source, void* target, int64_t size, const ConvertStep&) {
  const auto* from = static_cast<const T*>(source);
  auto* to = static_cast<uint8_t*>(target);
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) to[i] = from[i] != T(0);
}

// The bounds are powers of two, which floats represent exactly, so the cast between them is always
// defined.
template <class From, class To>
void saturate(const void* source, void* target, int64_t size, const ConvertStep& step) {
  const auto* from = static_cast<const From*>(source);
  auto* to = static_cast<To*>(target);
  const auto lower = static_cast<From>(step.lower), upper = static_cast<From>(step.upper);
  const auto min = static_cast<To>(step.min), max = static_cast<To>(step.max);
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    const From x = from[i];
    if (x >= upper) {
      to[i] = max;
    } else if (x <= lower) {
      to[i] = min;
    } else {
      to[i] = x == x ? static_cast<To>(x) : To(0);
    }
  }
}

// Wraps a byte to an integer of fewer bits.
void wrap_unsigned(const void* source, void* target, int64_t size, const ConvertStep& step) {
  const auto* from = static_cast<const uint8_t*>(source);
  auto* to = static_cast<uint8_t*>(target);
  const auto mask = static_cast<uint8_t>((1u << step.bits) - 1);
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) to[i] = from[i] & mask;
}

void wrap_signed(const void* source, void* target, int64_t size, const ConvertStep& step) {
  const auto* from = static_cast<const uint8_t*>(source);
  auto* to = static_cast<int8_t*>(target);
  const auto mask = static_cast<uint8_t>((1u << step.bits) - 1);
  const auto sign = static_cast<uint8_t>(1u << (step.bits - 1));
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    to[i] = static_cast<int8_t>(((from[i] & mask) ^ sign) - sign);
  }
}

template <class T>
void real_part(const void* source, void* target, int64_t size, const ConvertStep&) {
  const auto* from = static_cast<const T*>(source);
  auto* to = static_cast<T*>(target);
  for (int64_t i = 0; i < size; ++i) to[i] = from[2 * i];
}

template <class T>
void with_zero_imaginary_part(const void* source, void* target, int64_t size, const ConvertStep&) {
  const auto* from = static_cast<const T*>(source);
  auto* to = static_cast<T*>(target);
  for (int64_t i = 0; i < size; ++i) {
    to[2 * i] = from[i];
    to[2 * i + 1] = T(0);
  }
}

template <class From, class To>
void cast_pairs(const void* source, void* target, int64_t size, const ConvertStep& step) {
  cast<From, To>(source, target, 2 * size, step);
}

// Calls visit with a value of the C++ type of a real compute dtype.
template <class Visit>
ConvertLoop visit_real(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kInt8:
      return visit(int8_t());
    case DType::kInt16:
      return visit(int16_t());
    case DType::kInt32:
      return visit(int32_t());
    case DType::kInt64:
      return visit(int64_t());
    case DType::kUInt8:
      return visit(uint8_t());
    case DType::kUInt16:
      return visit(uint16_t());
    case DType::kUInt32:
      return visit(uint32_t());
    case DType::kUInt64:
      return visit(uint64_t());
    case DType::kFloat32:
      return visit(float());
    case DType::kFloat64:
      return visit(double());
    default:
      return nullptr;
  }
}

// Between integers only the target's width counts: wrapping is the same for signed and unsigned.
template <class From>
ConvertLoop loop_from(DType to) {
  if (to == DType::kBool) return best_loop<is_nonzero<From>>();
  if (Integer<From> && is_integer(to)) to = unsigned_dtype(to);
  return visit_real(to, [](auto target) -> ConvertLoop {
    using To = decltype(target);
    if constexpr (Integer<From> && Signed<To>) return nullptr;
    if constexpr (Float<From> && Integer<To>) return best_loop<saturate<From, To>>();
    return best_loop<cast<From, To>>();
  });
}

ConvertLoop loop_between(DType from, DType to) {
  return visit_real(from, [to](auto source) { return loop_from<decltype(source)>(to); });
}

bool is_below_byte(DType dtype) { return is_integer(dtype) && dtype_info(dtype).bits < 8; }

struct Builder {
  Conversion conversion;
  DType now;

  ConvertStep& add(ConvertLoop run, DType next) {
    FARCALL_ASSERT(run && conversion.num_steps < static_cast<int>(conversion.steps.size()));
    auto& step = conversion.steps[conversion.num_steps++];
    step.run = run;
    step.target_width = byte_width(next);
    now = next;
    return step;
  }

  void set_range(ConvertStep& step, DType integer) {
    const auto& info = dtype_info(integer);
    const bool is_signed = info.kind == DTypeKind::kSigned;
    const int value_bits = info.bits - (is_signed ? 1 : 0);
    step.upper = std::ldexp(1.0, value_bits);
    step.lower = is_signed ? -step.upper : 0.0;
    step.max = value_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << value_bits) - 1;
    step.min = is_signed ? -static_cast<int64_t>(step.max) - 1 : 0;
  }

  // Converts between real dtypes that kernels compute in, or bool.
  void to_real(DType to) {
    const DType from = compute_dtype(now), target = to == DType::kBool ? to : compute_dtype(to);
    const bool is_from_float = is_floating(from);
    if (target == DType::kBool) {
      if (now != DType::kBool) add(loop_between(from, target), target);
    } else if (is_from_float && is_integer(target)) {
      set_range(add(loop_between(from, target), target), to);
    } else if (is_integer(target)) {
      if (byte_width(from) != byte_width(target)) add(loop_between(from, target), target);
      const bool fits = now == to || now == DType::kBool;
      if (is_below_byte(to) && !(fits && to != DType::kInt1)) {
        const auto loop =
            signed_dtype(to) == to ? best_loop<wrap_signed>() : best_loop<wrap_unsigned>();
        add(loop, to).bits = dtype_info(to).bits;
      }
    } else if (from != target) {
      add(loop_between(from, target), target);
    }
    now = to;
  }
};

}  // namespace

DType compute_dtype(DType dtype) {
  if (is_key(dtype)) return DType::kUInt64;
  if (dtype == DType::kBool) return DType::kUInt8;
  if (is_narrow_float(dtype)) return DType::kFloat32;
  if (is_below_byte(dtype)) {
    return dtype_info(dtype).kind == DTypeKind::kSigned ? DType::kInt8 : DType::kUInt8;
  }
  return dtype;
}

namespace {
constexpr std::pair<DType, DType> kSignedUnsigned[] = {
    {DType::kInt1, DType::kUInt1},   {DType::kInt2, DType::kUInt2},
    {DType::kInt4, DType::kUInt4},   {DType::kInt8, DType::kUInt8},
    {DType::kInt16, DType::kUInt16}, {DType::kInt32, DType::kUInt32},
    {DType::kInt64, DType::kUInt64}};
}  // namespace

DType signed_dtype(DType integer) {
  for (const auto& [with_sign, without] : kSignedUnsigned) {
    if (without == integer) return with_sign;
  }
  return integer;
}

DType unsigned_dtype(DType integer) {
  for (const auto& [with_sign, without] : kSignedUnsigned) {
    if (with_sign == integer) return without;
  }
  return integer;
}

Conversion make_conversion(DType from, DType to) {
  // Keys are only compared and moved: as 64-bit words.
  if (is_key(from)) from = compute_dtype(from);
  if (is_key(to)) to = compute_dtype(to);
  Builder builder{.conversion = {}, .now = from};
  auto& conversion = builder.conversion;
  conversion.source_width = byte_width(from);
  conversion.target_width = byte_width(to);
  if (from == to) return conversion;
  if (is_complex(from) && is_complex(to)) {
    builder.add(to == DType::kComplex128 ? best_loop<cast_pairs<float, double>>()
                                         : best_loop<cast_pairs<double, float>>(),
                to);
    return conversion;
  }
  if (is_complex(from)) {
    builder.add(
        from == DType::kComplex64 ? best_loop<real_part<float>>() : best_loop<real_part<double>>(),
        real_dtype(from));
  }
  if (const auto loop = narrow_to_float(builder.now)) builder.add(loop, DType::kFloat32);
  if (is_complex(to)) {
    builder.to_real(real_dtype(to));
    builder.add(to == DType::kComplex64 ? with_zero_imaginary_part<float>
                                        : with_zero_imaginary_part<double>,
                to);
  } else if (const auto loop = float_to_narrow(to)) {
    builder.to_real(DType::kFloat32);
    builder.add(loop, to);
  } else {
    builder.to_real(to);
  }
  return conversion;
}

void Conversion::run(const void* source, void* target, int64_t size) const {
  if (size == 0) return;
  if (num_steps == 0) {
    if (source != target) std::memcpy(target, source, static_cast<size_t>(size) * source_width);
    return;
  }
  if (num_steps == 1) return steps[0].run(source, target, size, steps[0]);
  alignas(64) std::byte buffers[2][kStepBlock * 8];  // intermediate values are real
  for (int64_t start = 0; start < size; start += kStepBlock) {
    const int64_t count = std::min(size - start, kStepBlock);
    const void* now = static_cast<const std::byte*>(source) + start * source_width;
    for (int i = 0; i < num_steps; ++i) {
      void* next = buffers[i % 2];
      if (i + 1 == num_steps) next = static_cast<std::byte*>(target) + start * target_width;
      steps[i].run(now, next, count, steps[i]);
      now = next;
    }
  }
}

// ---- convert_element_type, bitcast_convert_type, copy, reshape, stop_gradient

namespace {

ElementwiseSpec converted(const ShapeDtype& input, DType from, DType to) {
  if (input.is_token()) return {};
  return {.conversion = make_conversion(from, to)};
}

ElementwiseSpec make_convert(std::span<const ShapeDtype> inputs,
                             std::span<const ShapeDtype> outputs, const Params*) {
  return converted(inputs[0], inputs[0].dtype(), outputs[0].dtype());
}

// An integer below eight bits is stored sign-extended in its byte, so its byte changes when its
// signedness does. Other elements keep their bytes.
ElementwiseSpec make_bitcast(std::span<const ShapeDtype> inputs,
                             std::span<const ShapeDtype> outputs, const Params*) {
  const DType from = inputs[0].dtype(), to = outputs[0].dtype();
  if (dtype_info(from).bits != dtype_info(to).bits) return {};
  if (dtype_info(to).bits == 8 || !is_integer(to)) {
    const bool needs_mask = is_below_byte(from);
    return converted(inputs[0], from, needs_mask ? unsigned_dtype(from) : from);
  }
  if (dtype_info(to).bits > 8) return converted(inputs[0], from, from);
  return converted(inputs[0], from == to ? from : DType::kUInt8, to);
}

ElementwiseSpec make_copy(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype>,
                          const Params*) {
  return converted(inputs[0], inputs[0].dtype(), inputs[0].dtype());
}

constexpr KernelRow kRows[] = {
    {"bitcast_convert_type", make_bitcast},
    {"convert_element_type", make_convert},
    {"copy", make_copy},
    {"name", make_copy},
    {"reshape", make_copy},
    {"stop_gradient", make_copy},
};

}  // namespace

std::span<const KernelRow> convert_rows() { return kRows; }

}  // namespace farcall::native
