// farcall.scipy.stats: statistics of samples, and distributions; those functions are named
// distribution.function.
#include "bind.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/scipy/stats.h>

#include "bound_function.h"

namespace farcall::python {
namespace {

void bind_continuous(nb::module_& module) {
  def_function(module, "norm.logpdf", stats::norm::logpdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "norm.pdf", stats::norm::pdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "norm.cdf", stats::norm::cdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "norm.logcdf", stats::norm::logcdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "norm.sf", stats::norm::sf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "norm.logsf", stats::norm::logsf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "norm.ppf", stats::norm::ppf, {"q", {"loc", 0}, {"scale", 1}});
  def_function(module, "norm.isf", stats::norm::isf, {"q", {"loc", 0}, {"scale", 1}});
  def_function(module, "truncnorm.logpdf", stats::truncnorm::logpdf,
               {"x", "a", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "truncnorm.pdf", stats::truncnorm::pdf,
               {"x", "a", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "truncnorm.logcdf", stats::truncnorm::logcdf,
               {"x", "a", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "truncnorm.cdf", stats::truncnorm::cdf,
               {"x", "a", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "truncnorm.logsf", stats::truncnorm::logsf,
               {"x", "a", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "truncnorm.sf", stats::truncnorm::sf,
               {"x", "a", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "gennorm.logpdf", stats::gennorm::logpdf, {"x", "beta"});
  def_function(module, "gennorm.pdf", stats::gennorm::pdf, {"x", "beta"});
  def_function(module, "gennorm.cdf", stats::gennorm::cdf, {"x", "beta"});
  def_function(module, "beta.logpdf", stats::beta::logpdf,
               {"x", "a", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "beta.pdf", stats::beta::pdf, {"x", "a", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "beta.cdf", stats::beta::cdf, {"x", "a", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "beta.logcdf", stats::beta::logcdf,
               {"x", "a", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "beta.sf", stats::beta::sf, {"x", "a", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "beta.logsf", stats::beta::logsf, {"x", "a", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "cauchy.logpdf", stats::cauchy::logpdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "cauchy.pdf", stats::cauchy::pdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "cauchy.cdf", stats::cauchy::cdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "cauchy.logcdf", stats::cauchy::logcdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "cauchy.sf", stats::cauchy::sf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "cauchy.logsf", stats::cauchy::logsf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "cauchy.ppf", stats::cauchy::ppf, {"q", {"loc", 0}, {"scale", 1}});
  def_function(module, "cauchy.isf", stats::cauchy::isf, {"q", {"loc", 0}, {"scale", 1}});
  def_function(module, "gamma.logpdf", stats::gamma::logpdf, {"x", "a", {"loc", 0}, {"scale", 1}});
  def_function(module, "gamma.pdf", stats::gamma::pdf, {"x", "a", {"loc", 0}, {"scale", 1}});
  def_function(module, "gamma.cdf", stats::gamma::cdf, {"x", "a", {"loc", 0}, {"scale", 1}});
  def_function(module, "gamma.logcdf", stats::gamma::logcdf, {"x", "a", {"loc", 0}, {"scale", 1}});
  def_function(module, "gamma.sf", stats::gamma::sf, {"x", "a", {"loc", 0}, {"scale", 1}});
  def_function(module, "gamma.logsf", stats::gamma::logsf, {"x", "a", {"loc", 0}, {"scale", 1}});
  def_function(module, "chi2.logpdf", stats::chi2::logpdf, {"x", "df", {"loc", 0}, {"scale", 1}});
  def_function(module, "chi2.pdf", stats::chi2::pdf, {"x", "df", {"loc", 0}, {"scale", 1}});
  def_function(module, "chi2.cdf", stats::chi2::cdf, {"x", "df", {"loc", 0}, {"scale", 1}});
  def_function(module, "chi2.logcdf", stats::chi2::logcdf, {"x", "df", {"loc", 0}, {"scale", 1}});
  def_function(module, "chi2.sf", stats::chi2::sf, {"x", "df", {"loc", 0}, {"scale", 1}});
  def_function(module, "chi2.logsf", stats::chi2::logsf, {"x", "df", {"loc", 0}, {"scale", 1}});
  def_function(module, "expon.logpdf", stats::expon::logpdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "expon.pdf", stats::expon::pdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "expon.cdf", stats::expon::cdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "expon.logcdf", stats::expon::logcdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "expon.sf", stats::expon::sf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "expon.logsf", stats::expon::logsf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "expon.ppf", stats::expon::ppf, {"q", {"loc", 0}, {"scale", 1}});
  def_function(module, "gumbel_r.logpdf", stats::gumbel_r::logpdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "gumbel_r.pdf", stats::gumbel_r::pdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "gumbel_r.logcdf", stats::gumbel_r::logcdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "gumbel_r.cdf", stats::gumbel_r::cdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "gumbel_r.sf", stats::gumbel_r::sf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "gumbel_r.logsf", stats::gumbel_r::logsf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "gumbel_r.ppf", stats::gumbel_r::ppf, {"q", {"loc", 0}, {"scale", 1}});
  def_function(module, "gumbel_l.logpdf", stats::gumbel_l::logpdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "gumbel_l.pdf", stats::gumbel_l::pdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "gumbel_l.cdf", stats::gumbel_l::cdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "gumbel_l.logcdf", stats::gumbel_l::logcdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "gumbel_l.sf", stats::gumbel_l::sf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "gumbel_l.logsf", stats::gumbel_l::logsf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "gumbel_l.ppf", stats::gumbel_l::ppf, {"q", {"loc", 0}, {"scale", 1}});
  def_function(module, "laplace.logpdf", stats::laplace::logpdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "laplace.pdf", stats::laplace::pdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "laplace.cdf", stats::laplace::cdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "logistic.logpdf", stats::logistic::logpdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "logistic.pdf", stats::logistic::pdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "logistic.cdf", stats::logistic::cdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "logistic.sf", stats::logistic::sf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "logistic.ppf", stats::logistic::ppf, {"q", {"loc", 0}, {"scale", 1}});
  def_function(module, "logistic.isf", stats::logistic::isf, {"q", {"loc", 0}, {"scale", 1}});
  def_function(module, "pareto.logpdf", stats::pareto::logpdf,
               {"x", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "pareto.pdf", stats::pareto::pdf, {"x", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "pareto.logsf", stats::pareto::logsf, {"x", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "pareto.sf", stats::pareto::sf, {"x", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "pareto.cdf", stats::pareto::cdf, {"x", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "pareto.logcdf", stats::pareto::logcdf,
               {"x", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "pareto.ppf", stats::pareto::ppf, {"q", "b", {"loc", 0}, {"scale", 1}});
  def_function(module, "t.logpdf", stats::t::logpdf, {"x", "df", {"loc", 0}, {"scale", 1}});
  def_function(module, "t.pdf", stats::t::pdf, {"x", "df", {"loc", 0}, {"scale", 1}});
  def_function(module, "uniform.logpdf", stats::uniform::logpdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "uniform.pdf", stats::uniform::pdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "uniform.cdf", stats::uniform::cdf, {"x", {"loc", 0}, {"scale", 1}});
  def_function(module, "uniform.ppf", stats::uniform::ppf, {"q", {"loc", 0}, {"scale", 1}});
  def_function(module, "vonmises.logpdf", stats::vonmises::logpdf, {"x", "kappa"});
  def_function(module, "vonmises.pdf", stats::vonmises::pdf, {"x", "kappa"});
  def_function(module, "wrapcauchy.logpdf", stats::wrapcauchy::logpdf, {"x", "c"});
  def_function(module, "wrapcauchy.pdf", stats::wrapcauchy::pdf, {"x", "c"});
}

void bind_discrete(nb::module_& module) {
  def_function(module, "bernoulli.logpmf", stats::bernoulli::logpmf, {"k", "p", {"loc", 0}});
  def_function(module, "bernoulli.pmf", stats::bernoulli::pmf, {"k", "p", {"loc", 0}});
  def_function(module, "bernoulli.cdf", stats::bernoulli::cdf, {"k", "p"});
  def_function(module, "bernoulli.ppf", stats::bernoulli::ppf, {"q", "p"});
  def_function(module, "betabinom.logpmf", stats::betabinom::logpmf,
               {"k", "n", "a", "b", {"loc", 0}});
  def_function(module, "betabinom.pmf", stats::betabinom::pmf, {"k", "n", "a", "b", {"loc", 0}});
  def_function(module, "binom.logpmf", stats::binom::logpmf, {"k", "n", "p", {"loc", 0}});
  def_function(module, "binom.pmf", stats::binom::pmf, {"k", "n", "p", {"loc", 0}});
  def_function(module, "geom.logpmf", stats::geom::logpmf, {"k", "p", {"loc", 0}});
  def_function(module, "geom.pmf", stats::geom::pmf, {"k", "p", {"loc", 0}});
  def_function(module, "multinomial.logpmf", stats::multinomial::logpmf, {"x", "n", "p"});
  def_function(module, "multinomial.pmf", stats::multinomial::pmf, {"x", "n", "p"});
  def_function(module, "nbinom.logpmf", stats::nbinom::logpmf, {"k", "n", "p", {"loc", 0}});
  def_function(module, "nbinom.pmf", stats::nbinom::pmf, {"k", "n", "p", {"loc", 0}});
  def_function(module, "poisson.logpmf", stats::poisson::logpmf, {"k", "mu", {"loc", 0}});
  def_function(module, "poisson.pmf", stats::poisson::pmf, {"k", "mu", {"loc", 0}});
  def_function(module, "poisson.cdf", stats::poisson::cdf, {"k", "mu", {"loc", 0}});
}

void bind_vectors(nb::module_& module) {
  def_function(module, "dirichlet.logpdf", stats::dirichlet::logpdf, {"x", "alpha"});
  def_function(module, "dirichlet.pdf", stats::dirichlet::pdf, {"x", "alpha"});
  def_function(module, "multivariate_normal.pdf", stats::multivariate_normal::pdf,
               {"x", "mean", "cov"});
  def_function(module, "multivariate_normal.logpdf",
               [](const Array& x, const Array& mean, const Array& cov, nb::handle allow_singular) {
                 if (!allow_singular.is_none()) {
                   throw Error(ErrorCode::kUnimplemented,
                               "multivariate_normal.logpdf: allow_singular must be None");
                 }
                 return stats::multivariate_normal::logpdf(x, mean, cov);
               },
               {"x", "mean", "cov", {"allow_singular", nb::none()}});
}

using OptionalAxis = std::optional<int64_t>;

void require_propagate(const std::string& policy, const char* function) {
  if (policy == "propagate") return;
  throw Error(ErrorCode::kUnimplemented,
              fmt::format("{}: nan_policy must be 'propagate', got '{}'", function, policy));
}

void bind_samples(nb::module_& module) {
  def_function(module, "_mode",
               [](const Array& a, OptionalAxis axis, const std::string& nan_policy, bool keepdims) {
                 require_propagate(nan_policy, "mode");
                 const stats::Mode found = stats::mode(a, axis, keepdims);
                 return std::pair(found.mode, found.count);
               },
               {"a", "axis", "nan_policy", "keepdims"});
  def_function<1>(
      module, "sem",
      [](const Array& a, OptionalAxis axis, int64_t ddof, const std::string& nan_policy,
         bool keepdims) {
        if (nan_policy != "propagate" && nan_policy != "omit") {
          invalid_argument(
              fmt::format("sem: nan_policy must be 'propagate' or 'omit', got '{}'", nan_policy));
        }
        return stats::sem(a, axis, ddof, nan_policy == "omit", keepdims);
      },
      {"a", {"axis", 0}, {"ddof", 1}, {"nan_policy", "propagate"}, {"keepdims", false}});
  def_function<2>(module, "rankdata",
                  [](const Array& a, const std::string& method, OptionalAxis axis,
                     const std::string& nan_policy) {
                    require_propagate(nan_policy, "rankdata");
                    return stats::rankdata(a, method, axis);
                  },
                  {"a", {"method", "average"}, {"axis", nb::none()}, {"nan_policy", "propagate"}});
}

}  // namespace

void bind_stats(nb::module_& module) {
  bind_continuous(module);
  bind_discrete(module);
  bind_vectors(module);
  bind_samples(module);
}

}  // namespace farcall::python
