// Elementwise operations of two operands.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "engine/native/kernels/elementwise/complex_math.h"
#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/elementwise/math_loops.h"
#include "engine/native/kernels/elementwise/remainder.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/special/special.h"

namespace farcall::native {
namespace {

struct Add {
  static constexpr bool kSignless = true;
  template <class T>
  T operator()(T x, T y) const {
    return add(x, y);
  }
};
struct Sub {
  static constexpr bool kSignless = true;
  template <class T>
  T operator()(T x, T y) const {
    return subtract(x, y);
  }
};
struct Mul {
  static constexpr bool kSignless = true;
  template <class T>
  T operator()(T x, T y) const {
    return multiply(x, y);
  }
};

// The quotient of integers; y is not 0, and x / y fits T. Those of at most 32 bits are divided as
// floats that hold them, so that loops are vectorized: a quotient that is no integer differs from
// the next one by at least 1 / (|x| + |y|) of it, which is more than its rounding error.
template <Integer T>
T quotient(T x, T y) {
  if constexpr (sizeof(T) == 8) {
    return x / y;
  } else {
    using Wide = std::conditional_t<sizeof(T) == 4, double, float>;
    return static_cast<T>(static_cast<Wide>(x) / static_cast<Wide>(y));
  }
}

// The same as a conditional expression, without branches, which would keep loops with divisions
// from being vectorized.
template <Integer T>
T choose(bool condition, T if_true, T if_false) {
  const auto mask = static_cast<T>(-static_cast<T>(condition));
  return static_cast<T>((if_true & mask) | (if_false & ~mask));
}

// What integers are divided by: 1 in place of 0 and -1.
template <Integer T>
T ordinary_divisor(T y) {
  return choose(y == 0 || (Signed<T> && y == static_cast<T>(-1)), T(1), y);
}

// Division of integers by zero gives -1 (all bits set); the lowest integer divided by -1 is itself.
struct Div {
  template <Integer T>
  T operator()(T x, T y) const {
    const T whole = quotient(x, ordinary_divisor(y));
    const T signed_whole = choose(Signed<T> && y == static_cast<T>(-1), subtract(T(0), x), whole);
    return choose(y == 0, static_cast<T>(-1), signed_whole);
  }
  template <class T>
  requires Float<T> || Complex<T> T operator()(T x, T y) const { return x / y; }
};
// The remainder has the dividend's sign.
struct Rem {
  template <Integer T>
  T operator()(T x, T y) const {
    const T by = ordinary_divisor(y);
    const T rest = subtract(x, multiply(quotient(x, by), by));
    return choose(y == 0, x, rest);
  }
  template <Float T>
  T operator()(T x, T y) const {
    return std::fmod(x, y);
  }
};
struct Max {
  template <class T>
  T operator()(T x, T y) const {
    return maximum(x, y);
  }
};
struct Min {
  template <class T>
  T operator()(T x, T y) const {
    return minimum(x, y);
  }
};

// Powers of floats and complex numbers; integers have integer_power.
struct Pow {
  double operator()(double x, double y) const { return std::pow(x, y); }
  template <Float T>
  std::complex<T> operator()(std::complex<T> x, std::complex<T> y) const {
    using Wide = std::complex<Wider<T>>;
    return std::complex<T>(complex_pow(Wide(x.real(), x.imag()), Wide(y.real(), y.imag())));
  }
};
#define FARCALL_SPECIAL_FUNCTION(Name, function)                 \
  struct Name {                                                  \
    template <Float T>                                           \
    T operator()(T x, T y) const {                               \
      return static_cast<T>(function(Wider<T>(x), Wider<T>(y))); \
    }                                                            \
  };

FARCALL_SPECIAL_FUNCTION(Beta, beta)
FARCALL_SPECIAL_FUNCTION(Betaln, log_beta)
FARCALL_SPECIAL_FUNCTION(Igamma, igamma)
FARCALL_SPECIAL_FUNCTION(IgammaGradA, igamma_grad_a)
FARCALL_SPECIAL_FUNCTION(Igammac, igammac)
FARCALL_SPECIAL_FUNCTION(Polygamma, polygamma)
FARCALL_SPECIAL_FUNCTION(RandomGammaGrad, random_gamma_grad)
FARCALL_SPECIAL_FUNCTION(Zeta, zeta)

#undef FARCALL_SPECIAL_FUNCTION

// Euclid's algorithm on absolute values, in unsigned arithmetic: the lowest integer's does not fit
// the signed type.
struct Gcd {
  template <Integer T>
  T operator()(T x, T y) const {
    using U = std::make_unsigned_t<T>;
    const auto magnitude = [](T value) {
      return static_cast<U>(value < 0 ? U(0) - static_cast<U>(value) : static_cast<U>(value));
    };
    U a = magnitude(x), b = magnitude(y);
    while (b != 0) a = static_cast<U>(std::exchange(b, static_cast<U>(a % b)));
    return static_cast<T>(a);
  }
};
struct Atan2 {
  // -i log((x + iy) / sqrt(x^2 + y^2))
  template <Complex T>
  T operator()(T y_in, T x_in) const {
    const std::complex<double> x(x_in), y(y_in), i(0, 1);
    return T(-i * std::log((x + i * y) / std::sqrt(x * x + y * y)));
  }
};
struct Nextafter {
  // The next number in the order of bits, towards zero or away from it. Without branches, so that
  // the loop is vectorized.
  template <Float T>
  T operator()(T x, T y) const {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const auto bits = std::bit_cast<Bits>(x);
    const bool is_away = (x < y) == (x > 0);
    const T beside = std::bit_cast<T>(is_away ? bits + 1 : bits - 1);
    const T least = std::numeric_limits<T>::denorm_min();
    const T beside_zero = y > 0 ? least : -least;
    const T other = x == 0 ? beside_zero : beside;
    const T number = x == y ? y : other;
    return x != x || y != y ? x + y : number;
  }
};

struct And {
  static constexpr bool kSignless = true;
  template <Unsigned T>
  T operator()(T x, T y) const {
    return x & y;
  }
};
struct Or {
  static constexpr bool kSignless = true;
  template <Unsigned T>
  T operator()(T x, T y) const {
    return x | y;
  }
};
struct Xor {
  static constexpr bool kSignless = true;
  template <Unsigned T>
  T operator()(T x, T y) const {
    return x ^ y;
  }
};

// Shifting by the width or more leaves only the sign. Negative counts are large unsigned ones.
template <class T>
bool is_shifted_out(T count) {
  return static_cast<std::make_unsigned_t<T>>(count) >= 8 * sizeof(T);
}
struct ShiftLeft {
  static constexpr bool kSignless = true;
  template <Unsigned T>
  T operator()(T x, T count) const {
    return is_shifted_out(count) ? T(0) : static_cast<T>(static_cast<Wrapping<T>>(x) << count);
  }
};
struct ShiftRightLogical {
  static constexpr bool kSignless = true;
  template <Unsigned T>
  T operator()(T x, T count) const {
    return is_shifted_out(count) ? T(0) : static_cast<T>(x >> count);
  }
};
struct ShiftRightArithmetic {
  template <Signed T>
  T operator()(T x, T count) const {
    return static_cast<T>(x >> (is_shifted_out(count) ? 8 * sizeof(T) - 1 : count));
  }
};

struct MakeComplex {
  template <Float T>
  std::complex<T> operator()(T real, T imag) const {
    return {real, imag};
  }
};

// The numbers of a block whose powers are computed by squaring, so that the loops are vectorized.
template <Integer T>
struct PowerBlock {
  static constexpr int64_t kSize = 256;
  // The bits of the exponents that are used while a number is in registers.
  static constexpr int kBits = 2;
  T bases[kSize], powers[kSize];
  std::make_unsigned_t<T> exponents[kSize];

  // The first bits begin the powers, and after the last ones no square is needed.
  template <bool kAreFirst, bool kAreLast>
  void multiply_by_bits(int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const T base = bases[i], square = multiply(base, base);
      const auto exponent = exponents[i];
      const bool has_first = (exponent & 1) != 0, has_second = (exponent & 2) != 0;
      const T power = kAreFirst ? choose(has_first, base, T(1))
                                : choose(has_first, multiply(powers[i], base), powers[i]);
      powers[i] = choose(has_second, multiply(power, square), power);
      if constexpr (!kAreLast) {
        bases[i] = multiply(square, square);
        exponents[i] = static_cast<std::make_unsigned_t<T>>(exponent >> kBits);
      }
    }
  }
};

template <Integer T>
void integer_power(const void* const* inputs, void* output, int64_t size, int64_t) {
  using Block = PowerBlock<T>;
  const auto* x = static_cast<const T*>(inputs[0]);
  const auto* y = static_cast<const T*>(inputs[1]);
  auto* result = static_cast<T*>(output);
  Block block;
  for (int64_t first = 0; first < size; first += Block::kSize) {
    const int64_t count = std::min(size - first, Block::kSize);
    std::make_unsigned_t<T> all = 0;
    for (int64_t i = 0; i < count; ++i) {
      const T base = x[first + i], exponent = y[first + i];
      // The inverse is 1 or -1 itself, and rounded to 0 for others.
      const bool is_inverse = Signed<T> && exponent < 0;
      const bool is_zero = is_inverse && base != 1 && base != static_cast<T>(-1);
      const T other = static_cast<T>(2 - (exponent & 1));
      block.bases[i] = choose(is_zero, T(0), base);
      block.exponents[i] =
          static_cast<std::make_unsigned_t<T>>(choose(is_inverse, other, exponent));
      all |= block.exponents[i];
    }
    if (all >> Block::kBits == 0) {
      block.template multiply_by_bits<true, true>(count);
    } else {
      block.template multiply_by_bits<true, false>(count);
      for (all >>= Block::kBits; all >> Block::kBits != 0; all >>= Block::kBits) {
        block.template multiply_by_bits<false, false>(count);
      }
      block.template multiply_by_bits<false, true>(count);
    }
    std::copy_n(block.powers, count, result + first);
  }
}

using Types = std::span<const ShapeDtype>;

ElementwiseSpec make_pow(Types inputs, Types, const Params*) {
  if (inputs[0].dtype() == DType::kBool) return {};
  static const LoopTable loops = [] {
    LoopTable table = with_math_loops(binary_loops<Pow>(), MathFunction::kPow);
    for_each_compute_type([&]<class T>() {
      if constexpr (Integer<T>) {
        table[static_cast<size_t>(kDTypeOf<T>)] = {best_loop<integer_power<T>>(), kDTypeOf<T>};
      }
    });
    return table;
  }();
  return elementwise(loops, inputs[0].dtype());
}

// For bools, a sum is "or" and a product is "and".
template <class Op, class BoolOp>
ElementwiseSpec make_arithmetic(Types inputs, Types outputs, const Params* params) {
  if (inputs[0].dtype() == DType::kBool) {
    const auto& loop = binary_loops<BoolOp>()[static_cast<size_t>(DType::kUInt8)].loop;
    return {.loop = {loop, DType::kBool}, .loads = {DType::kBool, DType::kBool}};
  }
  return make_binary<Op>(inputs, outputs, params);
}

// `function` for floats where it has a loop, and `Op` for other types.
template <MathFunction function, class Op>
ElementwiseSpec make_math(Types inputs, Types, const Params*) {
  if (inputs[0].dtype() == DType::kBool) return {};
  return elementwise(with_math_loops(binary_loops<Op>(), function), inputs[0].dtype());
}

template <class Op>
ElementwiseSpec make_number(Types inputs, Types outputs, const Params* params) {
  if (inputs[0].dtype() == DType::kBool) return {};
  return make_binary<Op>(inputs, outputs, params);
}

ElementwiseSpec make_rem(Types inputs, Types, const Params*) {
  if (inputs[0].dtype() == DType::kBool) return {};
  static const LoopTable loops = [] {
    LoopTable table = with_loop(binary_loops<Rem>(), DType::kFloat32,
                                {float32_remainder_loop(), DType::kFloat32});
    const Loop loop = float64_remainder_loop();
    return loop ? with_loop(table, DType::kFloat64, {loop, DType::kFloat64}) : table;
  }();
  return elementwise(loops, inputs[0].dtype());
}

ElementwiseSpec make_div(Types inputs, Types, const Params*) {
  if (inputs[0].dtype() == DType::kBool) return {};
  static const LoopTable loops =
      with_loop(binary_loops<Div>(), DType::kComplex64, {complex_div_loop(), DType::kComplex64});
  return elementwise(loops, inputs[0].dtype());
}

// load_dtype makes the value signed or unsigned. A negative count is read as a large number.
template <class Op, DType (*load_dtype)(DType)>
ElementwiseSpec make_shift(Types inputs, Types, const Params*) {
  const DType dtype = inputs[0].dtype();
  if (!is_integer(dtype)) return {};
  const DType load = load_dtype(dtype);
  return {.loop = binary_loops<Op>()[static_cast<size_t>(compute_dtype(load))],
          .loads = {load, compute_dtype(dtype)}};
}

// ---- nextafter of narrow floats: a step in the order of their bits

struct NarrowFormat {
  uint32_t sign;  // the bit; 0 when there are no negative values
  bool has_minus_zero;
};

// A number in the format and as a float.
struct NarrowNumber {
  uint32_t bits;
  float value;
};

// The result is y if both are equal, as in C. Without branches, which would be guessed wrong every
// other time.
uint32_t narrow_step(NarrowNumber from, NarrowNumber to, uint32_t nan, NarrowFormat format) {
  const float x = from.value, y = to.value;
  const bool is_away_from_zero = (x < 0) == (y < x);
  const uint32_t next = is_away_from_zero ? from.bits + 1 : from.bits - 1;
  const bool is_minus_zero = (next == format.sign) & !format.has_minus_zero;
  const uint32_t of_number = is_minus_zero ? 0 : next;
  const uint32_t of_zero = y > 0 ? 1 : format.sign | 1;
  const bool is_zero = (x == 0) & (format.sign != 0);
  const uint32_t step = is_zero ? of_zero : of_number;
  const bool is_nan = (x != x) | (y != y);
  const uint32_t result = x == y ? to.bits : step;
  return is_nan ? nan : result;
}

template <class Bits>
void narrow_steps(const Bits* from, const Bits* to, const float* x, const float* y, int64_t count,
                  uint32_t nan, NarrowFormat format, Bits* results) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    results[i] = static_cast<Bits>(narrow_step({from[i], x[i]}, {to[i], y[i]}, nan, format));
  }
}

template <class Bits>
void nextafter_loop(const void* const* inputs, void* output, int64_t size, int64_t extra) {
  const auto dtype = static_cast<DType>(extra);
  const auto& info = dtype_info(dtype);
  const auto widen = narrow_to_float(dtype);
  const bool is_fnuz = info.name.ends_with("fnuz");
  const NarrowFormat format = {dtype == DType::kFloat8E8M0FNU ? 0 : 1u << (info.bits - 1),
                               !is_fnuz};
  Bits nan = 0;
  const float float_nan = std::numeric_limits<float>::quiet_NaN();
  float_to_narrow(dtype)(&float_nan, &nan, 1, {});
  static const auto steps = best_loop<narrow_steps<Bits>>();
  float x[kBlock], y[kBlock];
  for (int64_t start = 0; start < size; start += kBlock) {
    const int64_t count = std::min(size - start, kBlock);
    const auto* from = static_cast<const Bits*>(inputs[0]) + start;
    const auto* to = static_cast<const Bits*>(inputs[1]) + start;
    widen(from, x, count, {});
    widen(to, y, count, {});
    steps(from, to, x, y, count, nan, format, static_cast<Bits*>(output) + start);
  }
}

ElementwiseSpec make_nextafter(Types inputs, Types outputs, const Params* params) {
  const DType dtype = inputs[0].dtype();
  if (!is_narrow_float(dtype)) return make_binary<Nextafter>(inputs, outputs, params);
  const Loop loop = byte_width(dtype) == 1 ? nextafter_loop<uint8_t> : nextafter_loop<uint16_t>;
  return {.loop = {loop, dtype}, .loads = {dtype, dtype}, .extra = static_cast<int64_t>(dtype)};
}

constexpr KernelRow kRows[] = {
    {"add", make_arithmetic<Add, Or>},
    {"and", make_binary<And>},
    {"atan2", make_math<MathFunction::kAtan2, Atan2>},
    {"beta", make_binary<Beta>},
    {"betaln", make_math<MathFunction::kBetaln, Betaln>},
    {"complex", make_binary<MakeComplex>},
    {"div", make_div},
    {"max", make_binary<Max>},
    {"min", make_binary<Min>},
    {"mul", make_arithmetic<Mul, And>},
    {"nextafter", make_nextafter},
    {"or", make_binary<Or>},
    {"gcd", make_binary<Gcd>},
    {"igamma", make_binary<Igamma>},
    {"igamma_grad_a", make_binary<IgammaGradA>},
    {"igammac", make_binary<Igammac>},
    {"polygamma", make_binary<Polygamma>},
    {"random_gamma_grad", make_binary<RandomGammaGrad>},
    {"zeta", make_math<MathFunction::kZeta, Zeta>},
    {"pow", make_pow},
    {"rem", make_rem},
    {"shift_left", make_shift<ShiftLeft, unsigned_dtype>},
    {"shift_right_arithmetic", make_shift<ShiftRightArithmetic, signed_dtype>},
    {"shift_right_logical", make_shift<ShiftRightLogical, unsigned_dtype>},
    {"sub", make_number<Sub>},
    {"xor", make_binary<Xor>},
};

}  // namespace

std::span<const KernelRow> binary_rows() { return kRows; }

}  // namespace farcall::native
