// Elementwise functions of mathematics.
#include <cmath>
#include <numbers>

#include "engine/native/kernels/elementwise.h"
#include "engine/native/kernels/rows.h"
#include "engine/native/kernels/special.h"

namespace farcall::native {
namespace {

// Functions that the standard library has for real and complex numbers, and for real ones only.
#define FARCALL_STD_FUNCTION(Name, function)                                             \
  struct Name {                                                                          \
    template <class T>                                                                   \
    requires Float<T> || Complex<T> T operator()(T x) const { return std::function(x); } \
  };
#define FARCALL_STD_REAL_FUNCTION(Name, function) \
  struct Name {                                   \
    template <Float T>                            \
    T operator()(T x) const {                     \
      return std::function(x);                    \
    }                                             \
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

#undef FARCALL_STD_FUNCTION
#undef FARCALL_STD_REAL_FUNCTION

// Complex functions of our own are worked out in double for both widths.
template <Complex T>
T in_double(std::complex<double> (*function)(std::complex<double>), T x) {
  return T(function(std::complex<double>(x)));
}

struct Exp2 {
  template <Float T>
  T operator()(T x) const {
    return std::exp2(x);
  }
  template <Complex T>
  T operator()(T x) const {
    return T(std::exp(std::complex<double>(x) * std::numbers::ln2));
  }
};
struct Expm1 {
  template <Float T>
  T operator()(T x) const {
    return std::expm1(x);
  }
  template <Complex T>
  T operator()(T x) const {
    return in_double(complex_expm1, x);
  }
};
struct Log1p {
  template <Float T>
  T operator()(T x) const {
    return std::log1p(x);
  }
  template <Complex T>
  T operator()(T x) const {
    return in_double(complex_log1p, x);
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
  template <Complex T>
  T operator()(T x) const {
    return in_double(complex_logistic, x);
  }
};
struct Rsqrt {
  template <Float T>
  T operator()(T x) const {
    return 1 / std::sqrt(x);
  }
  template <Complex T>
  T operator()(T x) const {
    return T(1.0 / std::sqrt(std::complex<double>(x)));
  }
};
struct BesselI0e {
  template <Float T>
  T operator()(T x) const {
    return static_cast<T>(bessel_i0e(x));
  }
};
struct BesselI1e {
  template <Float T>
  T operator()(T x) const {
    return static_cast<T>(bessel_i1e(x));
  }
};
struct Digamma {
  template <Float T>
  T operator()(T x) const {
    return static_cast<T>(digamma(x));
  }
};
struct ErfInv {
  template <Float T>
  T operator()(T y) const {
    return static_cast<T>(erf_inv(y));
  }
};
struct Lgamma {
  template <Float T>
  T operator()(T x) const {
    return log_gamma(x);
  }
};

constexpr KernelRow kRows[] = {
    {"acos", make_unary<Acos>},
    {"acosh", make_unary<Acosh>},
    {"asin", make_unary<Asin>},
    {"asinh", make_unary<Asinh>},
    {"atan", make_unary<Atan>},
    {"atanh", make_unary<Atanh>},
    {"cbrt", make_unary<Cbrt>},
    {"cos", make_unary<Cos>},
    {"bessel_i0e", make_unary<BesselI0e>},
    {"bessel_i1e", make_unary<BesselI1e>},
    {"cosh", make_unary<Cosh>},
    {"digamma", make_unary<Digamma>},
    {"erf", make_unary<Erf>},
    {"erf_inv", make_unary<ErfInv>},
    {"erfc", make_unary<Erfc>},
    {"exp", make_unary<Exp>},
    {"exp2", make_unary<Exp2>},
    {"expm1", make_unary<Expm1>},
    {"lgamma", make_unary<Lgamma>},
    {"log", make_unary<Log>},
    {"log1p", make_unary<Log1p>},
    {"logistic", make_unary<Logistic>},
    {"rsqrt", make_unary<Rsqrt>},
    {"sin", make_unary<Sin>},
    {"sinh", make_unary<Sinh>},
    {"sqrt", make_unary<Sqrt>},
    {"tan", make_unary<Tan>},
    {"tanh", make_unary<Tanh>},
};

}  // namespace

std::span<const KernelRow> math_rows() { return kRows; }

}  // namespace farcall::native
