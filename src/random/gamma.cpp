// Gamma samples by rejection, their derivative with respect to the parameter, and distributions
// based on them.
#include <cmath>
#include <tuple>

#include <farcall/ops/lax.h>
#include <farcall/ops/loops.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/custom_rules.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/vmap.h>

#include "ops/internal/rules.h"
#include "random/checks.h"
#include "random/primitives.h"
#include "random/uniform.h"

namespace farcall::random {
namespace {

Array choose(const Array& which, const Array& if_true, const Array& if_false) {
  return lax::select_n(which, {if_false, if_true});
}

struct Normal {
  Array key, x, v;
};
FARCALL_TREE(Normal, key, x, v);
struct Proposal {
  Array key, x_squared, v, u;
};
FARCALL_TREE(Proposal, key, x_squared, v, u);

// A normal sample x for which 1 + c x is positive.
Normal positive_normal(const Array& key, const Array& c) {
  const DType dtype = c.dtype();
  const Normal init{key, scalar_of(dtype, 0), scalar_of(dtype, -1)};
  return lax::while_loop(
      [](const Normal& now) { return lax::le(now.v, scalar_of(now.v.dtype(), 0)); },
      [&](const Normal& now) {
        const Array x = normal(subkey(now.key, 1), {}, dtype);
        return Normal{subkey(now.key, 0), x, lax::add(scalar_of(dtype, 1), lax::mul(x, c))};
      },
      init);
}

// G. Marsaglia and W. Tsang, "A simple method for generating gamma variables" (ACM Transactions on
// Mathematical Software, 2000). Returns v, where the sample is d v, for a parameter of at least 1.
Array accepted(const Array& key, const Array& d, const Array& c) {
  using namespace lax;
  const DType dtype = d.dtype();
  const Array zero = scalar_of(dtype, 0), one = scalar_of(dtype, 1);
  // u = 2 is always rejected.
  const Proposal init{key, zero, one, scalar_of(dtype, 2)};
  const auto is_rejected = [&](const Proposal& p) {
    const Array squeeze = sub(one, mul(scalar_of(dtype, 0.0331), mul(p.x_squared, p.x_squared)));
    const Array bound =
        add(mul(p.x_squared, scalar_of(dtype, 0.5)), mul(d, add(sub(one, p.v), log(p.v))));
    return bitwise_and(ge(p.u, squeeze), ge(log(p.u), bound));
  };
  const auto propose = [&](const Proposal& p) {
    const Normal n = positive_normal(subkey(p.key, 1), c);
    return Proposal{subkey(p.key, 0), mul(n.x, n.x), mul(mul(n.v, n.v), n.v),
                    unit_interval(subkey(p.key, 2), {}, dtype)};
  };
  return lax::while_loop(is_rejected, propose, init).v;
}

// Parameters below 1 are increased by 1: Gamma(a) has the distribution of Gamma(a + 1) U^(1 / a).
Array gamma_sample(const Array& key, const Array& a, bool is_log) {
  using namespace lax;
  const DType dtype = a.dtype();
  const Array zero = scalar_of(dtype, 0), one = scalar_of(dtype, 1);
  const Array third = scalar_of(dtype, 1.0 / 3);
  const Array is_large = ge(a, one);
  const Array d = sub(choose(is_large, a, add(a, one)), third);
  const Array v = accepted(subkey(key, 0), d, div(third, sqrt(d)));
  const Array last = subkey(key, 1);
  if (is_log) {
    const Array log_u = neg(exponential_samples(last, {}, dtype));
    const Array is_plain = bitwise_or(is_large, eq(log_u, zero));
    return add(add(log(d), log(v)), choose(is_plain, zero, mul(log_u, div(one, a))));
  }
  const Array u = sub(one, unit_interval(last, {}, dtype));
  return mul(mul(d, v), choose(is_large, one, pow(u, div(one, a))));
}

// Uses one key per element.
Array gamma_samples(const Array& key, const Array& a, bool is_log) {
  static const auto sample = jit(
      [](const Array& key, const Array& a, bool is_log) {
        const int64_t size = a.size();
        const Array keys = random_split(key, {&size, 1});
        const Array samples = vmap([is_log](const Array& one, const Array& parameter) {
          return gamma_sample(one, parameter, is_log);
        })(keys, numpy::ravel(a));
        return numpy::reshape(samples, a.shape());
      },
      {.name = "random_gamma"});
  if (a.size() == 0) return a;
  return sample(key, a, is_log);
}

// The derivative of a sample with respect to `a`, by implicit differentiation at a constant value
// of the distribution function.
Array slope_of(const Array& sample, const Array& a, bool is_log) {
  if (!is_log) return lax::random_gamma_grad(a, sample);
  const DType dtype = a.dtype();
  const double least = std::ldexp(1.0, float_form("loggamma", dtype).min_exponent);
  const Array x = lax::exp(sample);
  const Array safe = choose(lax::eq(x, scalar_of(dtype, 0)), scalar_of(dtype, least), x);
  return lax::div(lax::random_gamma_grad(a, safe), safe);
}

Array differentiable_samples(const Array& key, const Array& a, bool is_log) {
  using Pair = std::tuple<Array, Array>;
  const auto sample = [is_log](const Array& k, const Array& x) {
    return gamma_samples(k, x, is_log);
  };
  const auto rule = [is_log](const Pair& primals, const Pair& tangents) {
    const auto& [k, x] = primals;
    const Array found = differentiable_samples(k, x, is_log);
    return std::pair(found, lax::mul(std::get<1>(tangents), slope_of(found, x, is_log)));
  };
  return custom_jvp(sample, rule, {.name = is_log ? "loggamma" : "gamma"})(key, a);
}

Array checked_samples(std::string_view function, const Array& key, const Array& a,
                      const OptionalShape& shape, DType dtype, bool is_log) {
  const Array typed = one_key(function, key);
  float_form(function, dtype);
  const Shape size = common_shape(function, shape, {a.shape()});
  return differentiable_samples(typed, in_shape(in_dtype(a, dtype), size), is_log);
}

Array softmax(const Array& x) {
  const Array most = lax::stop_gradient(numpy::max(x, -1, /*keepdims=*/true));
  const Array weights = lax::exp(x - most);
  return weights / numpy::sum(weights, -1, /*keepdims=*/true);
}

}  // namespace

Array gamma(const Array& key, const Array& a, const OptionalShape& shape, DType dtype) {
  return checked_samples("gamma", key, a, shape, dtype, /*is_log=*/false);
}

Array loggamma(const Array& key, const Array& a, const OptionalShape& shape, DType dtype) {
  return checked_samples("loggamma", key, a, shape, dtype, /*is_log=*/true);
}

// x / (x + y) of gamma samples x and y, scaled so that the larger one is 1.
Array beta(const Array& key, const Array& a, const Array& b, const OptionalShape& shape,
           DType dtype) {
  const Array typed = one_key("beta", key);
  check_float("beta", dtype);
  const Shape size = common_shape("beta", shape, {a.shape(), b.shape()});
  const Array log_x = loggamma(subkey(typed, 0), parameter("beta", a, dtype), size, dtype);
  const Array log_y = loggamma(subkey(typed, 1), parameter("beta", b, dtype), size, dtype);
  const Array most = lax::max(log_x, log_y);
  const Array x = lax::exp(lax::sub(log_x, most)), y = lax::exp(lax::sub(log_y, most));
  return lax::div(x, lax::add(x, y));
}

Array dirichlet(const Array& key, const Array& alpha, const OptionalShape& shape, DType dtype) {
  const Array typed = one_key("dirichlet", key);
  check_float("dirichlet", dtype);
  if (alpha.rank() == 0) {
    invalid_argument("dirichlet: alpha must have at least one dimension, got a scalar");
  }
  const auto last = alpha.shape().last(1);
  const Shape front = common_shape("dirichlet", shape, {alpha.shape().first(alpha.rank() - 1)});
  return softmax(loggamma(typed, in_dtype(alpha, dtype), joined<Shape>(front, last), dtype));
}

Array chisquare(const Array& key, const Array& df, const OptionalShape& shape, DType dtype) {
  const Array typed = one_key("chisquare", key);
  check_float("chisquare", dtype);
  const Shape size = common_shape("chisquare", shape, {df.shape()});
  const Array two = scalar_of(dtype, 2);
  const Array half = lax::div(parameter("chisquare", df, dtype), two);
  return lax::mul(lax::exp(loggamma(typed, half, size, dtype)), two);
}

Array f(const Array& key, const Array& dfnum, const Array& dfden, const OptionalShape& shape,
        DType dtype) {
  const Array typed = one_key("f", key);
  check_float("f", dtype);
  const Shape size = common_shape("f", shape, {dfnum.shape(), dfden.shape()});
  const Array above = parameter("f", dfnum, dtype), below = parameter("f", dfden, dtype);
  const Array x = chisquare(subkey(typed, 1), above, size, dtype) / above;
  return x / (chisquare(subkey(typed, 0), below, size, dtype) / below);
}

Array t(const Array& key, const Array& df, const OptionalShape& shape, DType dtype) {
  const Array typed = one_key("t", key);
  check_float("t", dtype);
  const Shape size = common_shape("t", shape, {df.shape()});
  const Array half = lax::div(parameter("t", df, dtype), scalar_of(dtype, 2));
  const Array n = normal(subkey(typed, 0), size, dtype);
  return n * lax::sqrt(half / gamma(subkey(typed, 1), half, size, dtype));
}

Array generalized_normal(const Array& key, const Array& p, ListOf<int64_t> shape, DType dtype) {
  const Array typed = one_key("generalized_normal", key);
  check_float("generalized_normal", dtype);
  const Shape size = checked_shape("generalized_normal", shape);
  const Array order = 1.0 / settled(p, dtype);
  const Array g = gamma(subkey(typed, 0), order, size, dtype);
  return rademacher(subkey(typed, 1), size, dtype) * numpy::power(g, order);
}

}  // namespace farcall::random
