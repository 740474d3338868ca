// Mathematical functions that <cmath> and <complex> lack, or have with other special values or less
// accuracy. Each is computed in T: double for float results, long double for double results
// (Wider). The error of a result is then little more than its rounding.
#pragma once

#include <complex>
#include <type_traits>

namespace farcall::native {

template <class T>
using Wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;

// ---- gamma.cpp
template <class T>
T gamma_function(T x);
template <class T>
T factorial(T x);  // gamma(x + 1)
template <class T>
T digamma(T x);
template <class T>
T polygamma(T order, T x);
template <class T>
T zeta(T x, T q);  // Hurwitz zeta: the sum of (q + k)^-x over k >= 0
template <class T>
T beta(T a, T b);
template <class T>
T log_beta(T a, T b);  // the logarithm of |beta(a, b)|
double log_gamma(double x);
float log_gamma(float x);

// ---- incomplete.cpp
// The regularized incomplete gamma functions: lower and upper.
template <class T>
T igamma(T a, T x);
template <class T>
T igammac(T a, T x);
// The derivative of igamma by a.
template <class T>
T igamma_grad_a(T a, T x);
// The derivative of a sample of the gamma distribution by its parameter `a`, at a fixed value of
// the distribution function.
template <class T>
T random_gamma_grad(T a, T sample);
// The regularized incomplete beta function.
template <class T>
T incomplete_beta(T a, T b, T x);

// ---- normal.cpp
template <class T>
T erf_inv(T y);
template <class T>
T erfcx(T x);  // exp(x^2) erfc(x)
// The normal distribution function, its logarithm, and its inverse.
template <class T>
T ndtr(T x);
template <class T>
T log_ndtr(T x);
template <class T>
T ndtri(T p);
template <class T>
T logit(T x);
// sin(pi x) and cos(pi x). x is reduced before the multiplication by pi; that reduction is exact.
template <class T>
T sin_pi(T x);
template <class T>
T cos_pi(T x);

// ---- bessel.cpp
// Modified Bessel functions of the first kind, of order 0 and 1, and the same scaled by e^-|x|.
template <class T>
T bessel_i0(T x);
template <class T>
T bessel_i1(T x);
template <class T>
T bessel_i0e(T x);
template <class T>
T bessel_i1e(T x);

// ---- complex.cpp
// If a part is infinite or NaN, the result is that of the C99 (Annex G) functions used.
template <class T>
std::complex<T> complex_exp2(std::complex<T> z);
template <class T>
std::complex<T> complex_expm1(std::complex<T> z);
template <class T>
std::complex<T> complex_log1p(std::complex<T> z);
template <class T>
std::complex<T> complex_logistic(std::complex<T> z);
template <class T>
std::complex<T> complex_rsqrt(std::complex<T> z);
template <class T>
std::complex<T> complex_sign(std::complex<T> z);
template <class T>
std::complex<T> complex_pow(std::complex<T> base, std::complex<T> exponent);

}  // namespace farcall::native
