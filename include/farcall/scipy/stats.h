// Distributions by scipy's names (namespace farcall::stats), a namespace each, and statistics of
// samples. Parameters are promoted to floats and broadcast; outside of their range values are NaN.
//
// All raise Error (INVALID_ARGUMENT) naming the function, such as "norm.pdf", for operands that do
// not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::stats {

// The normal distribution of mean loc and standard deviation scale.
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

// The standard normal distribution cut off below a and above b, scaled and moved.
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

// The generalized normal distribution of shape beta.
namespace gennorm {
FARCALL_API Array logpdf(const Array& x, const Array& beta);
FARCALL_API Array pdf(const Array& x, const Array& beta);
FARCALL_API Array cdf(const Array& x, const Array& beta);
}  // namespace gennorm

// The beta distribution of shapes a and b on [loc, loc + scale].
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

// The Cauchy distribution about loc.
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

// The gamma distribution of shape a.
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

// The chi-squared distribution of df degrees of freedom.
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

// The exponential distribution from loc on, of mean scale above it.
namespace expon {
FARCALL_API Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace expon

// The Gumbel distribution of the greatest of many values.
namespace gumbel_r {
FARCALL_API Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace gumbel_r

// The Gumbel distribution of the least of many values: that of the greatest, mirrored.
namespace gumbel_l {
FARCALL_API Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace gumbel_l

// The Laplace distribution of mean loc.
namespace laplace {
FARCALL_API Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
}  // namespace laplace

// The logistic distribution of mean loc.
namespace logistic {
FARCALL_API Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
FARCALL_API Array isf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace logistic

// The Pareto distribution of shape b, from loc + scale on.
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

// Student's distribution of df degrees of freedom.
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

// The von Mises distribution on the circle.
namespace vonmises {
FARCALL_API Array logpdf(const Array& x, const Array& kappa);
FARCALL_API Array pdf(const Array& x, const Array& kappa);
}  // namespace vonmises

// The Cauchy distribution wrapped about the circle.
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

// The beta-binomial distribution: a binomial one whose probability has a beta distribution.
namespace betabinom {
FARCALL_API Array logpmf(const Array& k, const Array& n, const Array& a, const Array& b,
                         const Array& loc = 0);
FARCALL_API Array pmf(const Array& k, const Array& n, const Array& a, const Array& b,
                      const Array& loc = 0);
}  // namespace betabinom

// The binomial distribution: successes among n trials of probability p.
namespace binom {
FARCALL_API Array logpmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0);
FARCALL_API Array pmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0);
}  // namespace binom

// The geometric distribution: trials of probability p up to the first success.
namespace geom {
FARCALL_API Array logpmf(const Array& k, const Array& p, const Array& loc = 0);
FARCALL_API Array pmf(const Array& k, const Array& p, const Array& loc = 0);
}  // namespace geom

// The multinomial distribution: how often each outcome comes in n trials.
namespace multinomial {
FARCALL_API Array logpmf(const Array& x, const Array& n, const Array& p);
FARCALL_API Array pmf(const Array& x, const Array& n, const Array& p);
}  // namespace multinomial

// The negative binomial distribution: failures before the n-th success of probability p.
namespace nbinom {
FARCALL_API Array logpmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0);
FARCALL_API Array pmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0);
}  // namespace nbinom

// The Poisson distribution of mean mu.
namespace poisson {
FARCALL_API Array logpmf(const Array& k, const Array& mu, const Array& loc = 0);
FARCALL_API Array pmf(const Array& k, const Array& mu, const Array& loc = 0);
FARCALL_API Array cdf(const Array& k, const Array& mu, const Array& loc = 0);
}  // namespace poisson

// The Dirichlet distribution of concentrations alpha, a vector. x is [k, …], points of the simplex,
// or [k - 1, …], all of their coordinates but the last.
namespace dirichlet {
FARCALL_API Array logpdf(const Array& x, const Array& alpha);
FARCALL_API Array pdf(const Array& x, const Array& alpha);
}  // namespace dirichlet

// The normal distribution of vectors.
// x is [..., n], as mean is where it is no scalar; cov is [..., n, n], or a scalar or vector that
// stands for a diagonal.
namespace multivariate_normal {
FARCALL_API Array logpdf(const Array& x, const Array& mean, const Array& cov);
FARCALL_API Array pdf(const Array& x, const Array& mean, const Array& cov);
}  // namespace multivariate_normal

// ---- samples; without an axis, of all elements ----

struct Mode {
  Array mode, count;
};
// The most frequent value along the axis, the least of several, and how often it comes. NaN is a
// value like others.
FARCALL_API Mode mode(const Array& x, std::optional<int64_t> axis = 0, bool keepdims = false);
// The standard error of the mean: the standard deviation by the root of the number of elements,
// those that are NaN left out if `ignores_nan`.
FARCALL_API Array sem(const Array& x, std::optional<int64_t> axis = 0, int64_t ddof = 1,
                      bool ignores_nan = false, bool keepdims = false);
// The rank of each element, from 1 on. `method` says what equal elements get: "average", "min",
// "max", "dense" (no rank is left out) or "ordinal" (ranks in their order). Without an axis the
// result is flat.
FARCALL_API Array rankdata(const Array& x, std::string_view method = "average",
                           std::optional<int64_t> axis = {});

}  // namespace farcall::stats
