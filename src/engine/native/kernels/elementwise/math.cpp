// Elementwise mathematical functions.
#include <algorithm>
#include <cmath>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/elementwise/math_loops.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/special/special.h"

namespace farcall::native {
namespace {

// Functions that the standard library has for complex numbers; those of real numbers are in
// vector/math.h. complex<float> is computed in double: the library's own functions lose digits.
#define FARCALL_STD_FUNCTION(Name, function)                         \
  struct Name {                                                      \
    template <Complex T>                                             \
    T operator()(T x) const {                                        \
      return T(std::function(static_cast<std::complex<double>>(x))); \
    }                                                                \
  };

FARCALL_STD_FUNCTION(Acos, acos)
FARCALL_STD_FUNCTION(Acosh, acosh)
FARCALL_STD_FUNCTION(Asin, asin)
FARCALL_STD_FUNCTION(Asinh, asinh)
FARCALL_STD_FUNCTION(Atan, atan)
FARCALL_STD_FUNCTION(Atanh, atanh)
FARCALL_STD_FUNCTION(Cos, cos)
FARCALL_STD_FUNCTION(Cosh, cosh)
FARCALL_STD_FUNCTION(Exp, exp)
FARCALL_STD_FUNCTION(Log, log)
FARCALL_STD_FUNCTION(Sin, sin)
FARCALL_STD_FUNCTION(Sinh, sinh)
FARCALL_STD_FUNCTION(Sqrt, sqrt)
FARCALL_STD_FUNCTION(Tan, tan)
FARCALL_STD_FUNCTION(Tanh, tanh)

#undef FARCALL_STD_FUNCTION

// Functions of special.h, computed in a wider type.
#define FARCALL_SPECIAL_FUNCTION(Name, function)    \
  struct Name {                                     \
    template <Float T>                              \
    T operator()(T x) const {                       \
      return static_cast<T>(function(Wider<T>(x))); \
    }                                               \
  };

FARCALL_SPECIAL_FUNCTION(BesselI0, bessel_i0)
FARCALL_SPECIAL_FUNCTION(BesselI0e, bessel_i0e)
FARCALL_SPECIAL_FUNCTION(BesselI1, bessel_i1)
FARCALL_SPECIAL_FUNCTION(BesselI1e, bessel_i1e)
FARCALL_SPECIAL_FUNCTION(CosPi, cos_pi)
FARCALL_SPECIAL_FUNCTION(Digamma, digamma)
FARCALL_SPECIAL_FUNCTION(ErfInv, erf_inv)
FARCALL_SPECIAL_FUNCTION(Erfcx, erfcx)
FARCALL_SPECIAL_FUNCTION(Factorial, factorial)
FARCALL_SPECIAL_FUNCTION(Gamma, gamma_function)
FARCALL_SPECIAL_FUNCTION(LogNdtr, log_ndtr)
FARCALL_SPECIAL_FUNCTION(Logit, logit)
FARCALL_SPECIAL_FUNCTION(Ndtr, ndtr)
FARCALL_SPECIAL_FUNCTION(Ndtri, ndtri)
FARCALL_SPECIAL_FUNCTION(SinPi, sin_pi)

#undef FARCALL_SPECIAL_FUNCTION

template <Float T>
std::complex<Wider<T>> widened(std::complex<T> x) {
  return {x.real(), x.imag()};
}

struct Exp2 {
  template <Float T>
  std::complex<T> operator()(std::complex<T> x) const {
    return std::complex<T>(complex_exp2(widened(x)));
  }
};
struct Expm1 {
  template <Float T>
  std::complex<T> operator()(std::complex<T> x) const {
    return std::complex<T>(complex_expm1(widened(x)));
  }
};
struct Log1p {
  template <Float T>
  std::complex<T> operator()(std::complex<T> x) const {
    return std::complex<T>(complex_log1p(widened(x)));
  }
};
struct Logistic {
  template <Float T>
  std::complex<T> operator()(std::complex<T> x) const {
    return std::complex<T>(complex_logistic(widened(x)));
  }
};
struct Rsqrt {
  template <Float T>
  std::complex<T> operator()(std::complex<T> x) const {
    return std::complex<T>(complex_rsqrt(widened(x)));
  }
};
struct Lgamma {
  template <Float T>
  T operator()(T x) const {
    return log_gamma(x);
  }
};

struct None {};

// `function` for float and double, and `Others` for other types.
template <MathFunction function, class Others = None>
ElementwiseSpec make_math(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype>,
                          const Params*) {
  static const LoopTable loops = with_math_loops(unary_loops<Others>(), function);
  return elementwise(loops, inputs[0].dtype());
}

constexpr KernelRow kRows[] = {
    {"acos", make_math<MathFunction::kAcos, Acos>},
    {"acosh", make_math<MathFunction::kAcosh, Acosh>},
    {"asin", make_math<MathFunction::kAsin, Asin>},
    {"asinh", make_math<MathFunction::kAsinh, Asinh>},
    {"atan", make_math<MathFunction::kAtan, Atan>},
    {"atanh", make_math<MathFunction::kAtanh, Atanh>},
    {"cbrt", make_math<MathFunction::kCbrt>},
    {"cos", make_math<MathFunction::kCos, Cos>},
    {"bessel_i0", make_math<MathFunction::kBesselI0, BesselI0>},
    {"bessel_i0e", make_math<MathFunction::kBesselI0e, BesselI0e>},
    {"bessel_i1", make_math<MathFunction::kBesselI1, BesselI1>},
    {"bessel_i1e", make_math<MathFunction::kBesselI1e, BesselI1e>},
    {"cosh", make_math<MathFunction::kCosh, Cosh>},
    {"cospi", make_math<MathFunction::kCosPi, CosPi>},
    {"digamma", make_math<MathFunction::kDigamma, Digamma>},
    {"erf", make_math<MathFunction::kErf>},
    {"erf_inv", make_math<MathFunction::kErfInv, ErfInv>},
    {"erfc", make_math<MathFunction::kErfc>},
    {"erfcx", make_math<MathFunction::kErfcx, Erfcx>},
    {"exp", make_math<MathFunction::kExp, Exp>},
    {"exp2", make_math<MathFunction::kExp2, Exp2>},
    {"expm1", make_math<MathFunction::kExpm1, Expm1>},
    {"factorial", make_math<MathFunction::kFactorial, Factorial>},
    {"gamma", make_math<MathFunction::kGamma, Gamma>},
    {"lgamma", make_math<MathFunction::kLgamma, Lgamma>},
    {"log", make_math<MathFunction::kLog, Log>},
    {"log10", make_math<MathFunction::kLog10>},
    {"log1p", make_math<MathFunction::kLog1p, Log1p>},
    {"log2", make_math<MathFunction::kLog2>},
    {"log_ndtr", make_math<MathFunction::kLogNdtr, LogNdtr>},
    {"logistic", make_math<MathFunction::kLogistic, Logistic>},
    {"logit", make_math<MathFunction::kLogit, Logit>},
    {"ndtr", make_math<MathFunction::kNdtr, Ndtr>},
    {"ndtri", make_math<MathFunction::kNdtri, Ndtri>},
    {"rsqrt", make_math<MathFunction::kRsqrt, Rsqrt>},
    {"sin", make_math<MathFunction::kSin, Sin>},
    {"sinh", make_math<MathFunction::kSinh, Sinh>},
    {"sinpi", make_math<MathFunction::kSinPi, SinPi>},
    {"sqrt", make_math<MathFunction::kSqrt, Sqrt>},
    {"tan", make_math<MathFunction::kTan, Tan>},
    {"tanh", make_math<MathFunction::kTanh, Tanh>},
};

}  // namespace

std::span<const KernelRow> math_rows() { return kRows; }

}  // namespace farcall::native
