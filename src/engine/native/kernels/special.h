// Functions of mathematics that <cmath> and <complex> lack, or have with other corners.
#pragma once

#include <complex>

namespace farcall::native {

double digamma(double x);
double polygamma(double order, double x);
double erf_inv(double y);
double log_gamma(double x);
float log_gamma(float x);

std::complex<double> complex_log1p(std::complex<double> z);
std::complex<double> complex_expm1(std::complex<double> z);
std::complex<double> complex_logistic(std::complex<double> z);
std::complex<double> complex_pow(std::complex<double> base, std::complex<double> exponent);

}  // namespace farcall::native
