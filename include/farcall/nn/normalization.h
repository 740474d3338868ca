// Normalization functions along axes, for the last layer of a network (namespace farcall::nn).
// Intermediate results neither overflow nor underflow.
//
// Integers become float32. `where` holds bools that broadcast against x; only elements with true
// are included. All raise Error (INVALID_ARGUMENT) naming the function if the operands do not fit.
#pragma once

#include <cstdint>
#include <optional>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::nn {

using numpy::Axes;

// exp(x) divided by its sum along the axes; 0 where `where` is false.
FARCALL_API Array softmax(const Array& x, const Axes& axes = -1,
                          const std::optional<Array>& where = {});
// log(softmax(x)); minus infinity where `where` is false.
FARCALL_API Array log_softmax(const Array& x, const Axes& axes = -1,
                              const std::optional<Array>& where = {});

struct LogSumExpOptions {
  std::optional<Array> b = {};  // factors of the exponentials
  bool keepdims = false;
  std::optional<Array> where = {};
};
// log(sum(b * exp(x))).
FARCALL_API Array logsumexp(const Array& x, const Axes& axes = {},
                            const LogSumExpOptions& options = {});
struct SignedLogarithm {
  Array logarithm;  // of the absolute value
  Array sign;
};
FARCALL_API SignedLogarithm signed_logsumexp(const Array& x, const Axes& axes = {},
                                             const LogSumExpOptions& options = {});
// log(mean(exp(x))).
FARCALL_API Array logmeanexp(const Array& x, const Axes& axes = {},
                             const std::optional<Array>& where = {}, bool keepdims = false);

struct StandardizeOptions {
  // Known values, in a shape that broadcasts against x; default: computed from x.
  std::optional<Array> mean = {}, variance = {};
  Array epsilon = 1e-5;
  std::optional<Array> where = {};  // the elements that the mean and variance are computed from
  // How to compute the variance. True: the mean of (x - mean)². False: the mean of x² minus the
  // square of the mean, which loses precision if the mean is large.
  bool is_two_pass = false;
};
// (x - mean) / sqrt(variance + epsilon).
FARCALL_API Array standardize(const Array& x, const Axes& axes = -1,
                              const StandardizeOptions& options = {});

// Adds an axis with 1 at position x and 0 elsewhere. dtype defaults to default floats.
FARCALL_API Array one_hot(const Array& x, int64_t num_classes, std::optional<DType> dtype = {},
                          int64_t axis = -1);

}  // namespace farcall::nn
