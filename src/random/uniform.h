// Uniform samples for the functions of this layer, which have checked their arguments.
#pragma once

#include <span>

#include <farcall/trace/array.h>

namespace farcall::random {

// In [0, 1), of a float that float_form knows.
Array unit_interval(const Array& key, std::span<const int64_t> shape, DType dtype);
// In [low, high), two scalars of that dtype.
Array between(const Array& key, std::span<const int64_t> shape, DType dtype, double low,
              double high);
// -log(1 - u).
Array exponential_samples(const Array& key, std::span<const int64_t> shape, DType dtype);

}  // namespace farcall::random
