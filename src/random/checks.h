// Argument checks and conversions of the functions of random numbers. All raise with the name
// `function`.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include <farcall/random/random.h>
#include <farcall/trace/array.h>

#include "core/internal/joined.h"

namespace farcall::random {

// ---- keys ----

// Typed keys of any shape; are_raw says whether they were passed as words.
struct GivenKeys {
  Array keys;
  bool are_raw = false;
};
GivenKeys given_keys(std::string_view function, const Array& keys);
// The same for a single key.
GivenKeys given_key(std::string_view function, const Array& key);
Array one_key(std::string_view function, const Array& key);
// Key i of split(key), which equals fold_in(key, i).
Array subkey(const Array& key, int64_t i);

// ---- dtypes ----

struct FloatForm {
  int bits = 0;
  int mantissa = 0;      // in bits, without the implicit one
  int min_exponent = 0;  // of the smallest normal number
};
// The format of a float dtype that can be sampled; raises for other dtypes.
FloatForm float_form(std::string_view function, DType dtype);
// Raises unless `dtype` is a float.
void check_float(std::string_view function, DType dtype);
void check_integer(std::string_view function, DType dtype);

// ---- shapes ----

// Raises if a size is negative.
Shape checked_shape(std::string_view function, std::span<const int64_t> shape);
// `shape`, to which the parameters must broadcast; by default their broadcast shape.
Shape common_shape(std::string_view function, const OptionalShape& shape,
                   std::initializer_list<std::span<const int64_t>> parameters);

// ---- parameters ----

// x in `dtype`; raises TypeError if the conversion could be lossy.
Array parameter(std::string_view function, const Array& x, DType dtype);
// x in `dtype`, converted without checks.
Array in_dtype(const Array& x, DType dtype);
// Converts a weakly typed x to `dtype`, so that computations use its precision. Others are
// unchanged.
Array settled(const Array& x, DType dtype);
// x as a float, in its own dtype if that is a float.
Array as_float(std::string_view function, const Array& x);
// x broadcast to this shape.
Array in_shape(const Array& x, std::span<const int64_t> shape);

}  // namespace farcall::random
