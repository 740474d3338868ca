// Distributions with scipy's names (namespace farcall::stats), one namespace each, and statistics
// of samples. Parameters are promoted to floats and broadcast. Invalid parameters give NaN.
//
// pdf is the density, pmf the probability of a number, cdf the distribution function, and sf is 1 -
// cdf. ppf is the inverse of cdf, isf that of sf. logpdf, logpmf, logcdf and logsf are logarithms
// of these. loc shifts the distribution, scale stretches it.
//
// All raise Error (INVALID_ARGUMENT) naming the function, such as "norm.pdf", if the operands do
// not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::stats {

// The normal distribution with mean loc and standard deviation scale.
namespace norm {
FARCALL_API Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array isf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace norm

// The standard normal distribution truncated to [a, b], then scaled and shifted.
namespace truncnorm {
FARCALL_API Array logpdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
                         const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
                      const Array& scale = 1);
FARCALL_API Array logcdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
                         const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
                      const Array& scale = 1);
FARCALL_API Array logsf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
                        const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
                     const Array& scale = 1);
}  // namespace truncnorm

// The generalized normal distribution: density proportional to exp(-|x|^beta).
namespace gennorm {
FARCALL_API Array logpdf(const Array& x, const Array& beta);
FARCALL_API Array pdf(const Array& x, const Array& beta);
FARCALL_API Array cdf(const Array& x, const Array& beta);
}  // namespace gennorm

// The beta distribution with shapes a and b on [loc, loc + scale].
namespace beta {
FARCALL_API Array logpdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
                         const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
                      const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
                      const Array& scale = 1);
FARCALL_API Array logcdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
                         const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
                     const Array& scale = 1);
FARCALL_API Array logsf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
                        const Array& scale = 1);
}  // namespace beta

// The Cauchy distribution centred at loc.
namespace cauchy {
FARCALL_API Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array isf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace cauchy

// The gamma distribution with shape a.
namespace gamma {
FARCALL_API Array logpdf(const Array& x, const Array& a, const Array& loc = 0,
                         const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logcdf(const Array& x, const Array& a, const Array& loc = 0,
                         const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logsf(const Array& x, const Array& a, const Array& loc = 0,
                        const Array& scale = 1);
}  // namespace gamma

// The chi-squared distribution with df degrees of freedom.
namespace chi2 {
FARCALL_API Array logpdf(const Array& x, const Array& df, const Array& loc = 0,
                         const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& df, const Array& loc = 0,
                      const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& df, const Array& loc = 0,
                      const Array& scale = 1);
FARCALL_API Array logcdf(const Array& x, const Array& df, const Array& loc = 0,
                         const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logsf(const Array& x, const Array& df, const Array& loc = 0,
                        const Array& scale = 1);
}  // namespace chi2

// The exponential distribution on [loc, inf) with mean loc + scale.
namespace expon {
FARCALL_API Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace expon

// The Gumbel distribution of maxima.
namespace gumbel_r {
FARCALL_API Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace gumbel_r

// The Gumbel distribution of minima: the mirror image of gumbel_r.
namespace gumbel_l {
FARCALL_API Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace gumbel_l

// The Laplace distribution with mean loc.
namespace laplace {
FARCALL_API Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
}  // namespace laplace

// The logistic distribution with mean loc.
namespace logistic {
FARCALL_API Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array isf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace logistic

// The Pareto distribution with shape b on [loc + scale, inf).
namespace pareto {
FARCALL_API Array logpdf(const Array& x, const Array& b, const Array& loc = 0,
                         const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logsf(const Array& x, const Array& b, const Array& loc = 0,
                        const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logcdf(const Array& x, const Array& b, const Array& loc = 0,
                         const Array& scale = 1);
FARCALL_API Array ppf(const Array& q, const Array& b, const Array& loc = 0, const Array& scale = 1);
}  // namespace pareto

// Student's t distribution with df degrees of freedom.
namespace t {
FARCALL_API Array logpdf(const Array& x, const Array& df, const Array& loc = 0,
                         const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& df, const Array& loc = 0,
                      const Array& scale = 1);
}  // namespace t

// The uniform distribution on [loc, loc + scale].
namespace uniform {
FARCALL_API Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace uniform

// The von Mises distribution on the circle: density proportional to exp(kappa cos(x)), kappa > 0.
namespace vonmises {
FARCALL_API Array logpdf(const Array& x, const Array& kappa);
FARCALL_API Array pdf(const Array& x, const Array& kappa);
}  // namespace vonmises

// The Cauchy distribution wrapped around the circle, on [0, 2 pi], with parameter c in (0, 1).
namespace wrapcauchy {
FARCALL_API Array logpdf(const Array& x, const Array& c);
FARCALL_API Array pdf(const Array& x, const Array& c);
}  // namespace wrapcauchy

// The Bernoulli distribution: 1 with probability p, else 0.
namespace bernoulli {
FARCALL_API Array logpmf(const Array& k, const Array& p, const Array& loc = 0);
FARCALL_API Array pmf(const Array& k, const Array& p, const Array& loc = 0);
FARCALL_API Array cdf(const Array& k, const Array& p);
FARCALL_API Array ppf(const Array& q, const Array& p);
}  // namespace bernoulli

// The beta-binomial distribution: binomial, with a probability from a beta distribution.
namespace betabinom {
FARCALL_API Array logpmf(const Array& k, const Array& n, const Array& a, const Array& b,
                         const Array& loc = 0);
FARCALL_API Array pmf(const Array& k, const Array& n, const Array& a, const Array& b,
                      const Array& loc = 0);
}  // namespace betabinom

// The binomial distribution: the number of successes in n trials with probability p.
namespace binom {
FARCALL_API Array logpmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0);
FARCALL_API Array pmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0);
}  // namespace binom

// The geometric distribution: the number of trials with probability p up to the first success.
namespace geom {
FARCALL_API Array logpmf(const Array& k, const Array& p, const Array& loc = 0);
FARCALL_API Array pmf(const Array& k, const Array& p, const Array& loc = 0);
}  // namespace geom

// The multinomial distribution: the number of occurrences of each outcome in n trials.
namespace multinomial {
FARCALL_API Array logpmf(const Array& x, const Array& n, const Array& p);
FARCALL_API Array pmf(const Array& x, const Array& n, const Array& p);
}  // namespace multinomial

// The negative binomial distribution: the number of failures before the n-th success, which has
// probability p.
namespace nbinom {
FARCALL_API Array logpmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0);
FARCALL_API Array pmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0);
}  // namespace nbinom

// The Poisson distribution with mean mu.
namespace poisson {
FARCALL_API Array logpmf(const Array& k, const Array& mu, const Array& loc = 0);
FARCALL_API Array pmf(const Array& k, const Array& mu, const Array& loc = 0);
FARCALL_API Array cdf(const Array& k, const Array& mu, const Array& loc = 0);
}  // namespace poisson

// The Dirichlet distribution with concentrations alpha, a vector. x is [k, …], points of the
// simplex, or [k - 1, …], points without their last coordinate.
namespace dirichlet {
FARCALL_API Array logpdf(const Array& x, const Array& alpha);
FARCALL_API Array pdf(const Array& x, const Array& alpha);
}  // namespace dirichlet

// The multivariate normal distribution. x is [..., n]; mean is [..., n] or a scalar; cov is [...,
// n, n], or a scalar or vector that stands for a diagonal matrix.
namespace multivariate_normal {
FARCALL_API Array logpdf(const Array& x, const Array& mean, const Array& cov);
FARCALL_API Array pdf(const Array& x, const Array& mean, const Array& cov);
}  // namespace multivariate_normal

// ---- samples; without an axis, over all elements ----

struct Mode {
  Array mode, count;
};
// The most frequent value along the axis (the least one of several) and its count. NaN counts as a
// value.
FARCALL_API Mode mode(const Array& x, std::optional<int64_t> axis = 0, bool keepdims = false);
// The standard error of the mean: the standard deviation divided by the square root of the number
// of elements. If `ignores_nan`, NaNs are excluded.
FARCALL_API Array sem(const Array& x, std::optional<int64_t> axis = 0, int64_t ddof = 1,
                      bool ignores_nan = false, bool keepdims = false);
// The rank of each element, from 1. `method` defines the rank of equal elements: "average", "min",
// "max", "dense" (like "min", without gaps) or "ordinal" (distinct ranks in array order). Without
// an axis, x is flattened, and so is the result.
FARCALL_API Array rankdata(const Array& x, std::string_view method = "average",
                           std::optional<int64_t> axis = {});

}  // namespace farcall::stats
