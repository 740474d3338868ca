// Random numbers (namespace farcall::random), bit-identical to those of jax.random for the same
// key, shape and dtype. Functions are pure: the key alone determines the result.
//
// A key is an array of dtype key<fry> (typed), or of two uint32 (raw). Functions take both, and
// return keys of the kind that they get. Functions that draw numbers take one key; use vmap for
// several.
//
// An omitted shape is the broadcast shape of the parameters. A given shape must be one to which the
// parameters broadcast. Parameters are converted to `dtype`; most functions raise TypeError if the
// conversion could lose information. The sources of the algorithms are named in src/random/.
//
// All raise Error (INVALID_ARGUMENT) or TypeError naming the function if the operands do not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::random {

using OptionalShape = std::optional<Shape>;

// ---- keys ----

// The key of an integer seed: its high and its low 32 bits.
FARCALL_API Array key(const Array& seed);
FARCALL_API Array PRNGKey(const Array& seed);  // raw
// New keys that are independent of each other and of the given one.
FARCALL_API Array split(const Array& key, ListOf<int64_t> shape = {2});
// A new key from a key and the low 32 bits of an integer.
FARCALL_API Array fold_in(const Array& key, const Array& data);
// Returns the key itself.
FARCALL_API Array clone(const Array& key);
// The words of keys, uint32[..., 2], and the keys of such words.
FARCALL_API Array key_data(const Array& keys);
FARCALL_API Array wrap_key_data(const Array& words, std::string_view impl = "threefry2x32");
// The name of the generator: "threefry2x32".
FARCALL_API std::string key_impl(const Array& keys);
// Raises INVALID_ARGUMENT, listing the generators, if none has this name.
FARCALL_API DType key_dtype(std::string_view impl);
// The hash function behind all generators, elementwise; operands are uint32, of one shape or
// scalars.
FARCALL_API std::pair<Array, Array> threefry2x32(const Array& key1, const Array& key2,
                                                 const Array& x1, const Array& x2);

// ---- integers ----

// Random bits: an unsigned dtype.
FARCALL_API Array bits(const Array& key, ListOf<int64_t> shape = {}, DType dtype = DType::kUInt32);
// In [minval, maxval); minval if that interval is empty.
FARCALL_API Array randint(const Array& key, ListOf<int64_t> shape, const Array& minval,
                          const Array& maxval, DType dtype = DType::kInt32);
// -1 or 1.
FARCALL_API Array rademacher(const Array& key, ListOf<int64_t> shape = {},
                             DType dtype = DType::kInt32);
// bool. `mode` "high" draws twice as many bits, for accuracy at small probabilities.
FARCALL_API Array bernoulli(const Array& key, const Array& p = 0.5, const OptionalShape& shape = {},
                            std::string_view mode = "low");
// The number of trials with probability p up to the first success; at least 1.
FARCALL_API Array geometric(const Array& key, const Array& p, const OptionalShape& shape = {},
                            DType dtype = DType::kInt32);
// With mean lam.
FARCALL_API Array poisson(const Array& key, const Array& lam, const OptionalShape& shape = {},
                          DType dtype = DType::kInt32);
// The number of successes in n trials with probability p, as a float.
FARCALL_API Array binomial(const Array& key, const Array& n, const Array& p,
                           const OptionalShape& shape = {}, DType dtype = DType::kFloat32);
// The number of occurrences of each outcome in n trials, along the last dimension of p. `shape` is
// that of the result; n broadcasts to it without the last dimension. Any dtype of numbers.
FARCALL_API Array multinomial(const Array& key, const Array& n, const Array& p,
                              const OptionalShape& shape = {}, DType dtype = DType::kFloat32,
                              int64_t unroll = 1);

// ---- selection ----

struct CategoricalOptions {
  int64_t axis = -1;
  OptionalShape shape = {};  // ends with the shape of the logits without the axis
  bool replace = true;
  std::string mode = "low";  // passed to gumbel
  DType index_dtype = DType::kInt32;
};
// Indices along the axis, drawn with probabilities proportional to exp(logits).
FARCALL_API Array categorical(const Array& key, const Array& logits,
                              const CategoricalOptions& options = {});

struct ChoiceOptions {
  bool replace = true;
  std::optional<Array> p = {};  // probabilities, one for each entry
  int64_t axis = 0;
  std::string mode = "low";  // passed to gumbel, if not `replace`
  DType index_dtype = DType::kInt32;
};
// Draws entries of `a` along the axis, or integers in [0, a).
FARCALL_API Array choice(const Array& key, const Array& a, ListOf<int64_t> shape = {},
                         const ChoiceOptions& options = {});
FARCALL_API Array choice(const Array& key, int64_t a, ListOf<int64_t> shape = {},
                         const ChoiceOptions& options = {});

// Shuffles the entries along the axis; with `independent`, each line along the axis separately. The
// second function shuffles the integers in [0, x).
FARCALL_API Array permutation(const Array& key, const Array& x, int64_t axis = 0,
                              bool independent = false);
FARCALL_API Array permutation(const Array& key, int64_t x, DType dtype = DType::kInt32);

// ---- floats ----

// In [minval, maxval).
FARCALL_API Array uniform(const Array& key, ListOf<int64_t> shape = {},
                          DType dtype = DType::kFloat32, const Array& minval = 0.0,
                          const Array& maxval = 1.0);
// Complex dtypes are allowed; the variance is 1.
FARCALL_API Array normal(const Array& key, ListOf<int64_t> shape = {},
                         DType dtype = DType::kFloat32);
// In the open interval (lower, upper).
FARCALL_API Array truncated_normal(const Array& key, const Array& lower, const Array& upper,
                                   const OptionalShape& shape = {}, DType dtype = DType::kFloat32);
// exp(sigma x) for a normal x.
FARCALL_API Array lognormal(const Array& key, const Array& sigma = 1.0,
                            const OptionalShape& shape = {}, DType dtype = DType::kFloat32);
// With mean 1.
FARCALL_API Array exponential(const Array& key, ListOf<int64_t> shape = {},
                              DType dtype = DType::kFloat32);
// `mode` is "low", "high" or "highest"; the latter two have more precision in the tails.
FARCALL_API Array gumbel(const Array& key, ListOf<int64_t> shape = {},
                         DType dtype = DType::kFloat32, std::string_view mode = "low");
// The standard distributions, with location 0 and scale 1. maxwell is the length of a vector of
// three normal numbers.
FARCALL_API Array laplace(const Array& key, ListOf<int64_t> shape = {},
                          DType dtype = DType::kFloat32);
FARCALL_API Array logistic(const Array& key, ListOf<int64_t> shape = {},
                           DType dtype = DType::kFloat32);
FARCALL_API Array cauchy(const Array& key, ListOf<int64_t> shape = {},
                         DType dtype = DType::kFloat32);
FARCALL_API Array maxwell(const Array& key, ListOf<int64_t> shape = {},
                          DType dtype = DType::kFloat32);
// loc plus or minus scale times a maxwell number. The result has the shape `shape` (if empty, that
// of the parameters) followed by the broadcast shape of the parameters.
FARCALL_API Array double_sided_maxwell(const Array& key, const Array& loc, const Array& scale,
                                       ListOf<int64_t> shape = {}, DType dtype = DType::kFloat32);
// scale * x^(1 / concentration) for an exponential x.
FARCALL_API Array weibull_min(const Array& key, const Array& scale, const Array& concentration,
                              ListOf<int64_t> shape = {}, DType dtype = DType::kFloat32);
// With density b x^(-b - 1) for x >= 1.
FARCALL_API Array pareto(const Array& key, const Array& b, const OptionalShape& shape = {},
                         DType dtype = DType::kFloat32);
// `scale` times the length of a vector of two normal numbers.
FARCALL_API Array rayleigh(const Array& key, const Array& scale, const OptionalShape& shape = {},
                           DType dtype = DType::kFloat32);
// The inverse Gaussian distribution with this mean and scale 1.
FARCALL_API Array wald(const Array& key, const Array& mean, const OptionalShape& shape = {},
                       DType dtype = DType::kFloat32);
// With a density that rises from `left` to `mode` and falls to `right`.
FARCALL_API Array triangular(const Array& key, const Array& left, const Array& mode,
                             const Array& right, const OptionalShape& shape = {},
                             DType dtype = DType::kFloat32);

// ---- based on gamma samples, which are differentiable with respect to `a` ----

// With shape `a` and scale 1.
FARCALL_API Array gamma(const Array& key, const Array& a, const OptionalShape& shape = {},
                        DType dtype = DType::kFloat32);
// The logarithm of such samples; it does not underflow for small parameters.
FARCALL_API Array loggamma(const Array& key, const Array& a, const OptionalShape& shape = {},
                           DType dtype = DType::kFloat32);
// On (0, 1), with shapes a and b.
FARCALL_API Array beta(const Array& key, const Array& a, const Array& b,
                       const OptionalShape& shape = {}, DType dtype = DType::kFloat32);
// Vectors along the last dimension, with concentrations alpha; `shape` is that of the result
// without that dimension.
FARCALL_API Array dirichlet(const Array& key, const Array& alpha, const OptionalShape& shape = {},
                            DType dtype = DType::kFloat32);
// chisquare, f and t have these degrees of freedom.
FARCALL_API Array chisquare(const Array& key, const Array& df, const OptionalShape& shape = {},
                            DType dtype = DType::kFloat32);
FARCALL_API Array f(const Array& key, const Array& dfnum, const Array& dfden,
                    const OptionalShape& shape = {}, DType dtype = DType::kFloat32);
FARCALL_API Array t(const Array& key, const Array& df, const OptionalShape& shape = {},
                    DType dtype = DType::kFloat32);
// With density proportional to exp(-|x|^p).
FARCALL_API Array generalized_normal(const Array& key, const Array& p, ListOf<int64_t> shape = {},
                                     DType dtype = DType::kFloat32);

// ---- vectors and matrices ----

// `shape` is that of the result without its last dimension. `method` is the factorization of the
// covariance: "cholesky", or, for singular ones, "eigh" or "svd". dtype defaults to that of the
// parameters.
FARCALL_API Array multivariate_normal(const Array& key, const Array& mean, const Array& cov,
                                      const OptionalShape& shape = {},
                                      std::optional<DType> dtype = {},
                                      std::string_view method = "cholesky");
// Uniform in the unit ball of the p-norm in d dimensions.
FARCALL_API Array ball(const Array& key, int64_t d, const Array& p = 2.0,
                       ListOf<int64_t> shape = {}, DType dtype = DType::kFloat32);
// n x m (default n x n) matrices with orthonormal rows or columns; unitary for complex dtypes.
FARCALL_API Array orthogonal(const Array& key, int64_t n, ListOf<int64_t> shape = {},
                             DType dtype = DType::kFloat32, std::optional<int64_t> m = {});

}  // namespace farcall::random
