// Elementwise operations of one operand that only need arithmetic.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <farcall/primitives/elementwise.h>

#include "engine/native/kernels/elementwise/complex_math.h"
#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/special/special.h"

namespace farcall::native {
namespace {

struct Neg {
  static constexpr bool kSignless = true;
  template <class T>
  T operator()(T x) const {
    if constexpr (Integer<T>) {
      return subtract(T(0), x);
    } else {
      return -x;
    }
  }
};

struct Abs {
  template <class T>
  requires Signed<T> || Float<T> T operator()(T x) const {
    if constexpr (Integer<T>) {
      return x < 0 ? subtract(T(0), x) : x;
    } else {
      return std::fabs(x);
    }
  }
  template <Unsigned T>
  T operator()(T x) const {
    return x;
  }
  template <Float T>
  T operator()(std::complex<T> x) const {
    return std::abs(x);
  }
};

// The sign of a zero or NaN is the operand itself.
struct Sign {
  template <class T>
  requires Integer<T> || Float<T> T operator()(T x) const {
    return x > T(0) ? T(1) : (x < T(0) ? T(-1) : x);
  }
  template <Float T>
  std::complex<T> operator()(std::complex<T> x) const {
    const std::complex<Wider<T>> wide(x.real(), x.imag());
    return std::complex<T>(complex_sign(wide));
  }
};

// The real part of a complex square is the product (re - im) (re + im), which loses neither digits
// nor an infinity.
struct Square {
  static constexpr bool kSignless = true;
  template <class T>
  T operator()(T x) const {
    if constexpr (Complex<T>) {
      const auto re = x.real(), im = x.imag(), product = re * im;
      // (re + im) may overflow while (re - im) is zero.
      const bool cancels = std::fabs(re) == std::fabs(im) &&
                           std::fabs(re) <= std::numeric_limits<decltype(re + im)>::max();
      return T(cancels ? 0 : (re - im) * (re + im), product + product);
    } else {
      return multiply(x, x);
    }
  }
};

// ---- integer_pow

// Elements whose powers are computed together, so that loops over the exponent's bits are outside
// of loops over elements.
constexpr int64_t kPowerBlock = 64;

template <class T>
void power_by_squaring(const T* x, uint64_t exponent, T* result) {
  T base[kPowerBlock];
  std::copy_n(x, kPowerBlock, base);
  std::fill_n(result, kPowerBlock, T(1));
  while (true) {
    if (exponent & 1) {
      for (int64_t i = 0; i < kPowerBlock; ++i) result[i] = multiply(result[i], base[i]);
    }
    exponent >>= 1;
    if (exponent == 0) return;
    for (T& power : base) power = multiply(power, power);
  }
}

// For a negative exponent: the reciprocal of the power, or the power of the reciprocal if the power
// is not a normal number. Integers take no negative exponents.
template <class T>
void power_of_block(const T* x, int64_t y, T* result) {
  if constexpr (Integer<T>) {
    power_by_squaring(x, static_cast<uint64_t>(y), result);
  } else {
    const uint64_t magnitude = y < 0 ? -static_cast<uint64_t>(y) : static_cast<uint64_t>(y);
    power_by_squaring(x, magnitude, result);
    if (y >= 0) return;
    if constexpr (Float<T>) {
      using Limits = std::numeric_limits<T>;
      T inverse[kPowerBlock], other[kPowerBlock];
      for (int64_t i = 0; i < kPowerBlock; ++i) inverse[i] = T(1) / x[i];
      power_by_squaring(inverse, magnitude, other);
      for (int64_t i = 0; i < kPowerBlock; ++i) {
        const T size = std::fabs(result[i]), quotient = T(1) / result[i];
        result[i] = size >= Limits::min() && size <= Limits::max() ? quotient : other[i];
      }
    } else {
      for (int64_t i = 0; i < kPowerBlock; ++i) result[i] = T(1) / result[i];
    }
  }
}

// The most frequent exponents, in one pass. The products are those of power_by_squaring.
template <uint64_t kExponent, class T>
void small_power(const T* x, int64_t size, T* result) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    const T square = multiply(x[i], x[i]);
    if constexpr (kExponent == 2) result[i] = square;
    if constexpr (kExponent == 3) result[i] = multiply(x[i], square);
    if constexpr (kExponent == 4) result[i] = multiply(square, square);
  }
}

// Each product rounds, so long chains of float products are computed in double.
template <class T>
void integer_pow_loop(const void* const* inputs, void* output, int64_t size, int64_t y) {
  const auto* x = static_cast<const T*>(inputs[0]);
  auto* to = static_cast<T*>(output);
  if constexpr (Float<T>) {
    if (y == 2) return small_power<2>(x, size, to);
    if (y == 3) return small_power<3>(x, size, to);
    if (y == 4) return small_power<4>(x, size, to);
  }
  const auto run = [&]<class Computed>(Computed) {
    Computed block[kPowerBlock], result[kPowerBlock];
    for (int64_t start = 0; start < size; start += kPowerBlock) {
      const int64_t count = std::min(size - start, kPowerBlock);
      if (count < kPowerBlock) std::fill_n(block, kPowerBlock, Computed(1));
      for (int64_t i = 0; i < count; ++i) block[i] = static_cast<Computed>(x[start + i]);
      power_of_block(block, y, result);
      for (int64_t i = 0; i < count; ++i) to[start + i] = static_cast<T>(result[i]);
    }
  };
  if constexpr (std::same_as<T, float>) {
    if (y < -4 || y > 4) return run(double());
  }
  run(T());
}

const LoopTable& integer_pow_loops() {
  static const LoopTable table = [] {
    LoopTable loops{};
    for_each_compute_type([&]<class T>() {
      using X = typename OperandOf<Square, T>::type;
      loops[static_cast<size_t>(kDTypeOf<T>)] = {best_loop_of<integer_pow_loop<X>, X>(),
                                                 kDTypeOf<X>};
    });
    return loops;
  }();
  return table;
}

struct Floor {
  template <Float T>
  T operator()(T x) const {
    return std::floor(x);
  }
};
struct Ceil {
  template <Float T>
  T operator()(T x) const {
    return std::ceil(x);
  }
};
struct RoundAway {
  template <Float T>
  T operator()(T x) const {
    return std::round(x);
  }
};
struct RoundEven {
  template <Float T>
  T operator()(T x) const {
    return std::nearbyint(x);
  }
};
struct IsFinite {
  template <Float T>
  bool operator()(T x) const {
    return std::fabs(x) <= std::numeric_limits<T>::max();
  }
};

struct Not {
  static constexpr bool kSignless = true;
  template <Unsigned T>
  T operator()(T x) const {
    return static_cast<T>(~x);
  }
};
struct LogicalNot {
  uint8_t operator()(uint8_t x) const { return x == 0; }
};
// By sums of ever more bits side by side, so that the loop is vectorized: H. Warren, "Hacker's
// Delight", 5-1.
struct PopulationCount {
  static constexpr bool kSignless = true;
  template <Unsigned T>
  T operator()(T x) const {
    using Wide = Wrapping<T>;
    constexpr auto kAll = static_cast<Wide>(~Wide(0));
    constexpr Wide kOf2 = kAll / 3, kOf4 = kAll / 15 * 3, kOf8 = kAll / 255 * 15;
    Wide sums = x;
    sums -= (sums >> 1) & kOf2;
    sums = (sums & kOf4) + ((sums >> 2) & kOf4);
    sums = (sums + (sums >> 4)) & kOf8;
    for (size_t bits = 8; bits < 8 * sizeof(T); bits *= 2) sums += sums >> bits;
    return static_cast<T>(sums & 0x7f);
  }
};
// `unused` is the number of bits of the type above those of the value.
struct CountLeadingZeros {
  static constexpr bool kSignless = true;
  template <Unsigned T>
  T operator()(T x, int64_t unused) const {
    return static_cast<T>(std::countl_zero(x) - unused);
  }
};

struct Real {
  template <Float T>
  T operator()(T x) const {
    return x;
  }
  template <Float T>
  T operator()(std::complex<T> x) const {
    return x.real();
  }
};
struct Imag {
  template <Float T>
  T operator()(T) const {
    return T(0);
  }
  template <Float T>
  T operator()(std::complex<T> x) const {
    return x.imag();
  }
};
struct Conj {
  template <Float T>
  T operator()(T x) const {
    return x;
  }
  template <Complex T>
  T operator()(T x) const {
    return std::conj(x);
  }
};

// `widths` is 256 times the exponent's bits plus the mantissa's bits.
struct ReducePrecision {
  template <Float T>
  T operator()(T x, int64_t widths) const {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
    constexpr int kExponent = static_cast<int>(sizeof(T)) * 8 - 1 - kMantissa;
    if (x != x) return x;
    const auto exponent = static_cast<int>(std::min<int64_t>(widths / 256, kExponent));
    const auto mantissa = static_cast<int>(std::min<int64_t>(widths % 256, kMantissa));
    T rounded = x;
    if (const int dropped = kMantissa - mantissa; dropped > 0) {
      auto bits = std::bit_cast<Bits>(x);
      const Bits is_odd = (bits >> dropped) & 1;
      bits += (Bits(1) << (dropped - 1)) - 1 + is_odd;
      rounded = std::bit_cast<T>(static_cast<Bits>((bits >> dropped) << dropped));
    }
    if (exponent == kExponent) return rounded;
    // Exponents of the largest and of the least normal number are limit and 1 - limit.
    const int limit = (1 << (exponent - 1)) - 1;
    const T magnitude = std::fabs(rounded);
    if (magnitude >= std::ldexp(T(1), limit + 1)) {
      return std::copysign(std::numeric_limits<T>::infinity(), x);
    }
    return magnitude < std::ldexp(T(1), 1 - limit) ? std::copysign(T(0), x) : rounded;
  }
};

using Types = std::span<const ShapeDtype>;

ElementwiseSpec make_not(Types inputs, Types outputs, const Params* params) {
  if (inputs[0].dtype() != DType::kBool) return make_unary<Not>(inputs, outputs, params);
  const TypedLoop loop = {best_loop<unary_loop<LogicalNot, uint8_t>>(), DType::kBool};
  return {.loop = loop, .loads = {DType::kBool}};
}

ElementwiseSpec make_round(Types inputs, Types outputs, const Params* params) {
  const bool is_to_even = params_as<RoundParams>(params).rounding_method == 1;
  return is_to_even ? make_unary<RoundEven>(inputs, outputs, params)
                    : make_unary<RoundAway>(inputs, outputs, params);
}

ElementwiseSpec make_integer_pow(Types inputs, Types outputs, const Params* params) {
  const int64_t y = params_as<IntegerPowParams>(params).y;
  const DType dtype = inputs[0].dtype();
  if (dtype == DType::kBool || (is_integer(dtype) && y < 0)) return {};
  if (y == 2) return make_unary<Square>(inputs, outputs, params);
  return elementwise(integer_pow_loops(), dtype, y);
}

int64_t exponent_bits(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 11;
    case DType::kFloat16:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
      return 5;
    case DType::kFloat8E4M3:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E4M3B11FNUZ:
      return 4;
    case DType::kFloat8E3M4:
      return 3;
    case DType::kFloat4E2M1FN:
      return 2;
    default:
      return 8;
  }
}

// An exponent as wide as the dtype's limits nothing, and keeps subnormal numbers.
ElementwiseSpec make_reduce_precision(Types inputs, Types, const Params* params) {
  const auto& p = params_as<ReducePrecisionParams>(params);
  const DType dtype = inputs[0].dtype();
  const int64_t exponent = p.exponent_bits < exponent_bits(dtype) ? p.exponent_bits : 255;
  const int64_t mantissa = std::min<int64_t>(p.mantissa_bits, 255);
  return elementwise(unary_loops<ReducePrecision>(), dtype, exponent * 256 + mantissa);
}

// Counts bits of the value read as unsigned.
template <class Op>
ElementwiseSpec make_count(Types inputs, Types, const Params*) {
  const DType dtype = inputs[0].dtype();
  if (!is_integer(dtype)) return {};
  const DType load = unsigned_dtype(dtype), compute = compute_dtype(load);
  return {.loop = unary_loops<Op>()[static_cast<size_t>(compute)],
          .loads = {load},
          .extra = dtype_info(compute).bits - dtype_info(load).bits};
}

// Arithmetic on numbers; bools have no kernel.
template <class Op>
ElementwiseSpec make_number(Types inputs, Types outputs, const Params* params) {
  if (inputs[0].dtype() == DType::kBool) return {};
  return make_unary<Op>(inputs, outputs, params);
}

ElementwiseSpec make_abs(Types inputs, Types, const Params*) {
  if (inputs[0].dtype() == DType::kBool) return {};
  static const LoopTable loops =
      with_loop(unary_loops<Abs>(), DType::kComplex64, {complex_abs_loop(), DType::kFloat32});
  return elementwise(loops, inputs[0].dtype());
}

constexpr KernelRow kRows[] = {
    {"abs", make_abs},
    {"ceil", make_unary<Ceil>},
    {"clz", make_count<CountLeadingZeros>},
    {"conj", make_unary<Conj>},
    {"floor", make_unary<Floor>},
    {"imag", make_unary<Imag>},
    {"integer_pow", make_integer_pow},
    {"is_finite", make_unary<IsFinite>},
    {"neg", make_number<Neg>},
    {"not", make_not},
    {"population_count", make_count<PopulationCount>},
    {"real", make_unary<Real>},
    {"reduce_precision", make_reduce_precision},
    {"round", make_round},
    {"sign", make_number<Sign>},
    {"square", make_number<Square>},
};

}  // namespace

std::span<const KernelRow> basic_unary_rows() { return kRows; }

}  // namespace farcall::native
