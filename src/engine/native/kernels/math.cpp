// Elementwise functions of mathematics.
#include <cmath>

#include "engine/native/kernels/elementwise.h"
#include "engine/native/kernels/rows.h"
#include "engine/native/kernels/special.h"

namespace farcall::native {
namespace {

// Functions that the standard library has for real and complex numbers, and for real ones only.
// Those of complex<float> are worked out in double: the library's own lose digits.
#define FARCALL_STD_REAL_FUNCTION(Name, function) \
  struct Name {                                   \
    template <Float T>                            \
    T operator()(T x) const {                     \
      return std::function(x);                    \
    }                                             \
  };
#define FARCALL_STD_FUNCTION(Name, function)                         \
  struct Name {                                                      \
    template <Float T>                                               \
    T operator()(T x) const {                                        \
      return std::function(x);                                       \
    }                                                                \
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
FARCALL_STD_REAL_FUNCTION(Cbrt, cbrt)
FARCALL_STD_REAL_FUNCTION(Erf, erf)
FARCALL_STD_REAL_FUNCTION(Erfc, erfc)
FARCALL_STD_REAL_FUNCTION(Log10, log10)
FARCALL_STD_REAL_FUNCTION(Log2, log2)

#undef FARCALL_STD_FUNCTION
#undef FARCALL_STD_REAL_FUNCTION

// Functions of our own, which are worked out in a wider type.
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
  T operator()(T x) const {
    return std::exp2(x);
  }
  template <Float T>
  std::complex<T> operator()(std::complex<T> x) const {
    return std::complex<T>(complex_exp2(widened(x)));
  }
};
struct Expm1 {
  template <Float T>
  T operator()(T x) const {
    return std::expm1(x);
  }
  template <Float T>
  std::complex<T> operator()(std::complex<T> x) const {
    return std::complex<T>(complex_expm1(widened(x)));
  }
};
struct Log1p {
  template <Float T>
  T operator()(T x) const {
    return std::log1p(x);
  }
  template <Float T>
  std::complex<T> operator()(std::complex<T> x) const {
    return std::complex<T>(complex_log1p(widened(x)));
  }
};
struct Logistic {
  template <Float T>
  T operator()(T x) const {
    if (x < 0) {
      const T e = std::exp(x);
      return e / (1 + e);
    }
    return 1 / (1 + std::exp(-x));
  }
  template <Float T>
  std::complex<T> operator()(std::complex<T> x) const {
    return std::complex<T>(complex_logistic(widened(x)));
  }
};
struct Rsqrt {
  template <Float T>
  T operator()(T x) const {
    return 1 / std::sqrt(x);
  }
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

constexpr KernelRow kRows[] = {
    {"acos", make_unary<Acos>},           {"acosh", make_unary<Acosh>},
    {"asin", make_unary<Asin>},           {"asinh", make_unary<Asinh>},
    {"atan", make_unary<Atan>},           {"atanh", make_unary<Atanh>},
    {"cbrt", make_unary<Cbrt>},           {"cos", make_unary<Cos>},
    {"bessel_i0", make_unary<BesselI0>},  {"bessel_i0e", make_unary<BesselI0e>},
    {"bessel_i1", make_unary<BesselI1>},  {"bessel_i1e", make_unary<BesselI1e>},
    {"cosh", make_unary<Cosh>},           {"cospi", make_unary<CosPi>},
    {"digamma", make_unary<Digamma>},     {"erf", make_unary<Erf>},
    {"erf_inv", make_unary<ErfInv>},      {"erfc", make_unary<Erfc>},
    {"erfcx", make_unary<Erfcx>},         {"exp", make_unary<Exp>},
    {"exp2", make_unary<Exp2>},           {"expm1", make_unary<Expm1>},
    {"factorial", make_unary<Factorial>}, {"gamma", make_unary<Gamma>},
    {"lgamma", make_unary<Lgamma>},       {"log", make_unary<Log>},
    {"log10", make_unary<Log10>},         {"log1p", make_unary<Log1p>},
    {"log2", make_unary<Log2>},           {"log_ndtr", make_unary<LogNdtr>},
    {"logistic", make_unary<Logistic>},   {"logit", make_unary<Logit>},
    {"ndtr", make_unary<Ndtr>},           {"ndtri", make_unary<Ndtri>},
    {"rsqrt", make_unary<Rsqrt>},         {"sin", make_unary<Sin>},
    {"sinh", make_unary<Sinh>},           {"sinpi", make_unary<SinPi>},
    {"sqrt", make_unary<Sqrt>},           {"tan", make_unary<Tan>},
    {"tanh", make_unary<Tanh>},
};

}  // namespace

std::span<const KernelRow> math_rows() { return kRows; }

}  // namespace farcall::native
