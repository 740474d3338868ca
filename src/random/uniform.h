// Uniform samples for the functions of this folder; callers have checked the arguments.
#pragma once

#include <span>

#include <farcall/trace/array.h>

namespace farcall::random {

// In [0, 1), of a dtype that float_form accepts.
Array unit_interval(const Array& key, std::span<const int64_t> shape, DType dtype);
// In [low, high).
Array between(const Array& key, std::span<const int64_t> shape, DType dtype, double low,
              double high);
// -log(1 - u).
Array exponential_samples(const Array& key, std::span<const int64_t> shape, DType dtype);

}  // namespace farcall::random
