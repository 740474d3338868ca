// Functions of mathematics that <cmath> and <complex> lack, or have with other corners.
#pragma once

#include <complex>

namespace farcall::native {

double digamma(double x);
double polygamma(double order, double x);
double zeta(double x, double q);  // of Hurwitz: the sum of (q + k)^-x over k >= 0
double erf_inv(double y);
// The incomplete gamma function, regularised: the lower and the upper part.
double igamma(double a, double x);
double igammac(double a, double x);
// The derivative of igamma by its parameter.
double igamma_grad_a(double a, double x);
// The incomplete beta function, regularised.
double incomplete_beta(double a, double b, double x);
// Modified Bessel functions of the first kind, times e^-|x|.
double bessel_i0e(double x);
double bessel_i1e(double x);
double log_gamma(double x);
float log_gamma(float x);

std::complex<double> complex_log1p(std::complex<double> z);
std::complex<double> complex_expm1(std::complex<double> z);
std::complex<double> complex_logistic(std::complex<double> z);
std::complex<double> complex_pow(std::complex<double> base, std::complex<double> exponent);

}  // namespace farcall::native
