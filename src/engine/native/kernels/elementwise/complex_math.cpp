#include "engine/native/kernels/elementwise/complex_math.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "engine/native/kernels/special/special.h"

namespace farcall::native {
namespace {

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

constexpr int64_t kAtOnce = 128;

// The parts of several numbers. Those of complex64 are exact in float64, and so are their squares.
struct Parts {
  alignas(64) double re[kAtOnce], im[kAtOnce];
};

void split(const Complex64* x, Parts* parts, int64_t size) {
  for (int64_t i = 0; i < size; ++i) {
    parts->re[i] = x[i].real();
    parts->im[i] = x[i].imag();
  }
}
void join(const Parts* parts, Complex64* to, int64_t size) {
  for (int64_t i = 0; i < size; ++i) {
    to[i] = {static_cast<float>(parts->re[i]), static_cast<float>(parts->im[i])};
  }
}

// Loops of float64, whose output may be their input.
void apply(MathFunction function, const double* x, double* to, int64_t size) {
  const void* const inputs[] = {x};
  math_loop(function, DType::kFloat64)(inputs, to, size, 0);
}
void apply(MathFunction function, const double* x, const double* y, double* to, int64_t size) {
  const void* const inputs[] = {x, y};
  math_loop(function, DType::kFloat64)(inputs, to, size, 0);
}

bool is_finite(double x) { return std::fabs(x) <= std::numeric_limits<double>::max(); }
// The magnitude below which neither exp nor cosh overflows.
constexpr double kMostExponent = 700;

// Each function below computes all numbers but those for which `is_rare` holds, for which `scalar`
// does. `is_rare` has no branches, so that loops with it are vectorized.

struct ComplexExp {
  static Complex128 scalar(Complex128 x) { return std::exp(x); }
  static bool is_rare(double re, double im) {
    return !(std::fabs(re) < kMostExponent) | !is_finite(im);
  }
  static void run(Parts& x, int64_t size) {
    Parts turn;
    apply(MathFunction::kExp, x.re, x.re, size);
    apply(MathFunction::kCos, x.im, turn.re, size);
    apply(MathFunction::kSin, x.im, turn.im, size);
    for (int64_t i = 0; i < size; ++i) {
      x.im[i] = x.re[i] * turn.im[i];
      x.re[i] *= turn.re[i];
    }
  }
};

// log |x| = log1p(|x|^2 - 1) / 2 near 1, where the difference is exact: it has few bits.
struct ComplexLog {
  static Complex128 scalar(Complex128 x) { return std::log(x); }
  static bool is_rare(double re, double im) {
    return !is_finite(re) | !is_finite(im) | (std::fabs(re) + std::fabs(im) == 0);
  }
  static void run(Parts& x, int64_t size) {
    alignas(64) double far[kAtOnce], near[kAtOnce];
    bool is_near[kAtOnce];
    for (int64_t i = 0; i < size; ++i) {
      const double re = std::fabs(x.re[i]), im = std::fabs(x.im[i]);
      const double greater = re > im ? re : im, less = re > im ? im : re;
      far[i] = greater * greater + less * less;
      is_near[i] = far[i] > 0.5 && far[i] < 2;
      near[i] = is_near[i] ? (greater * greater - 1) + less * less : 0;
    }
    apply(MathFunction::kAtan2, x.im, x.re, x.im, size);
    apply(MathFunction::kLog, far, far, size);
    apply(MathFunction::kLog1p, near, near, size);
    for (int64_t i = 0; i < size; ++i) x.re[i] = 0.5 * (is_near[i] ? near[i] : far[i]);
  }
};

struct ComplexSqrt {
  static Complex128 scalar(Complex128 x) { return std::sqrt(x); }
  static bool is_rare(double re, double im) { return ComplexLog::is_rare(re, im); }
  static void run(Parts& x, int64_t size) {
    for (int64_t i = 0; i < size; ++i) {
      const double re = x.re[i], im = x.im[i];
      const double size_of_x = std::sqrt(re * re + im * im);
      const double greater = std::sqrt((std::fabs(re) + size_of_x) * 0.5);
      const double less = std::fabs(im) / (2 * greater);
      x.re[i] = re < 0 ? less : greater;
      x.im[i] = std::copysign(re < 0 ? greater : less, im);
    }
  }
};

// sinh and cosh of the real part, sin and cos of the imaginary part.
struct Waves {
  alignas(64) double sinh[kAtOnce], cosh[kAtOnce], sin[kAtOnce], cos[kAtOnce];

  Waves(const double* re, const double* im, int64_t size) {
    apply(MathFunction::kSinh, re, sinh, size);
    apply(MathFunction::kCosh, re, cosh, size);
    apply(MathFunction::kSin, im, sin, size);
    apply(MathFunction::kCos, im, cos, size);
  }
};

struct ComplexSinh {
  static Complex128 scalar(Complex128 x) { return std::sinh(x); }
  static bool is_rare(double re, double im) { return ComplexExp::is_rare(re, im); }
  static void run(Parts& x, int64_t size) {
    const Waves of(x.re, x.im, size);
    for (int64_t i = 0; i < size; ++i) {
      x.re[i] = of.sinh[i] * of.cos[i];
      x.im[i] = of.cosh[i] * of.sin[i];
    }
  }
};
struct ComplexCosh {
  static Complex128 scalar(Complex128 x) { return std::cosh(x); }
  static bool is_rare(double re, double im) { return ComplexExp::is_rare(re, im); }
  static void run(Parts& x, int64_t size) {
    const Waves of(x.re, x.im, size);
    for (int64_t i = 0; i < size; ++i) {
      x.re[i] = of.cosh[i] * of.cos[i];
      x.im[i] = of.sinh[i] * of.sin[i];
    }
  }
};
struct ComplexSin {
  static Complex128 scalar(Complex128 x) { return std::sin(x); }
  static bool is_rare(double re, double im) { return ComplexExp::is_rare(im, re); }
  static void run(Parts& x, int64_t size) {
    const Waves of(x.im, x.re, size);
    for (int64_t i = 0; i < size; ++i) {
      x.re[i] = of.sin[i] * of.cosh[i];
      x.im[i] = of.cos[i] * of.sinh[i];
    }
  }
};
struct ComplexCos {
  static Complex128 scalar(Complex128 x) { return std::cos(x); }
  static bool is_rare(double re, double im) { return ComplexExp::is_rare(im, re); }
  static void run(Parts& x, int64_t size) {
    const Waves of(x.im, x.re, size);
    for (int64_t i = 0; i < size; ++i) {
      x.re[i] = of.cos[i] * of.cosh[i];
      x.im[i] = -(of.sin[i] * of.sinh[i]);
    }
  }
};

// W. Kahan, "Branch cuts for complex elementary functions", 1987.
void tanh_of_parts(double* re, double* im, int64_t size) {
  alignas(64) double sinh[kAtOnce], tan[kAtOnce];
  apply(MathFunction::kSinh, re, sinh, size);
  apply(MathFunction::kTan, im, tan, size);
  for (int64_t i = 0; i < size; ++i) {
    const double steepness = 1 + tan[i] * tan[i];
    const double square = sinh[i] * sinh[i];
    const double scale = 1 / (1 + steepness * square);
    re[i] = steepness * std::sqrt(1 + square) * sinh[i] * scale;
    im[i] = tan[i] * scale;
  }
}
constexpr double kMostTanh = 20;

struct ComplexTanh {
  static Complex128 scalar(Complex128 x) { return std::tanh(x); }
  static bool is_rare(double re, double im) {
    return !(std::fabs(re) < kMostTanh) | !is_finite(im);
  }
  static void run(Parts& x, int64_t size) { tanh_of_parts(x.re, x.im, size); }
};
// tan x = -i tanh(i x)
struct ComplexTan {
  static Complex128 scalar(Complex128 x) { return std::tan(x); }
  static bool is_rare(double re, double im) { return ComplexTanh::is_rare(im, re); }
  static void run(Parts& x, int64_t size) { tanh_of_parts(x.im, x.re, size); }
};

struct ComplexDiv {
  static Complex128 scalar(Complex128 x, Complex128 y) { return x / y; }
  static bool is_rare(double re, double im, double by_re, double by_im) {
    return !is_finite(re) | !is_finite(im) | ComplexLog::is_rare(by_re, by_im);
  }
  static void run(Parts& x, const Parts& y, int64_t size) {
    for (int64_t i = 0; i < size; ++i) {
      const double re = x.re[i], im = x.im[i], by_re = y.re[i], by_im = y.im[i];
      const double square = by_re * by_re + by_im * by_im;
      x.re[i] = (re * by_re + im * by_im) / square;
      x.im[i] = (im * by_re - re * by_im) / square;
    }
  }
};

// x to the power y: exp(y log x)
struct ComplexPow {
  static Complex128 scalar(Complex128 x, Complex128 y) { return complex_pow(x, y); }
  // The exponent of a larger power might overflow.
  static bool is_rare(double re, double im, double power_re, double power_im) {
    return ComplexLog::is_rare(re, im) | !(std::fabs(power_re) < 5) | !(std::fabs(power_im) < 100) |
           (std::fabs(power_re) + std::fabs(power_im) == 0);
  }
  static void run(Parts& x, const Parts& y, int64_t size) {
    ComplexLog::run(x, size);
    for (int64_t i = 0; i < size; ++i) {
      const double re = x.re[i], im = x.im[i];
      x.re[i] = re * y.re[i] - im * y.im[i];
      x.im[i] = re * y.im[i] + im * y.re[i];
    }
    ComplexExp::run(x, size);
  }
};

// `others`: the numbers of the operands after the first one.
template <class Function, size_t... others>
void loop(const void* const* inputs, void* output, int64_t size, int64_t) {
  auto* to = static_cast<Complex64*>(output);
  for (int64_t start = 0; start < size; start += kAtOnce) {
    const int64_t count = std::min(kAtOnce, size - start);
    Parts operands[1 + sizeof...(others)], result;
    const auto read = [&](size_t i) {
      split(static_cast<const Complex64*>(inputs[i]) + start, &operands[i], count);
    };
    read(0);
    (read(others), ...);
    std::copy_n(operands[0].re, count, result.re);
    std::copy_n(operands[0].im, count, result.im);
    Function::run(result, operands[others]..., count);
    join(&result, to + start, count);
    const auto is_rare = [&](int64_t i) {
      return Function::is_rare(operands[0].re[i], operands[0].im[i], operands[others].re[i]...,
                               operands[others].im[i]...);
    };
    uint64_t rare = 0;  // as wide as the parts, so that the loop is vectorized
    for (int64_t i = 0; i < count; ++i) rare |= is_rare(i) ? ~uint64_t(0) : 0;
    const auto number = [&](size_t operand, int64_t i) {
      return Complex128(operands[operand].re[i], operands[operand].im[i]);
    };
    for (int64_t i = 0; rare && i < count; ++i) {
      if (is_rare(i))
        to[start + i] = Complex64(Function::scalar(number(0, i), number(others, i)...));
    }
  }
}

}  // namespace

Loop complex_math_loop(MathFunction function) {
  switch (function) {
    case MathFunction::kExp:
      return best_loop_of<loop<ComplexExp>, Complex64>();
    case MathFunction::kLog:
      return best_loop_of<loop<ComplexLog>, Complex64>();
    case MathFunction::kSqrt:
      return best_loop_of<loop<ComplexSqrt>, Complex64>();
    case MathFunction::kSin:
      return best_loop_of<loop<ComplexSin>, Complex64>();
    case MathFunction::kCos:
      return best_loop_of<loop<ComplexCos>, Complex64>();
    case MathFunction::kTan:
      return best_loop_of<loop<ComplexTan>, Complex64>();
    case MathFunction::kSinh:
      return best_loop_of<loop<ComplexSinh>, Complex64>();
    case MathFunction::kCosh:
      return best_loop_of<loop<ComplexCosh>, Complex64>();
    case MathFunction::kTanh:
      return best_loop_of<loop<ComplexTanh>, Complex64>();
    case MathFunction::kPow:
      return best_loop_of<loop<ComplexPow, 1>, Complex64>();
    default:
      return nullptr;
  }
}

Loop complex_div_loop() { return best_loop_of<loop<ComplexDiv, 1>, Complex64>(); }

}  // namespace farcall::native
