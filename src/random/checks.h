// What functions of random numbers ask of their arguments. All raise naming `function`.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include <farcall/random/random.h>
#include <farcall/trace/array.h>

namespace farcall::random {

// ---- keys ----

// Typed keys of any shape, and whether they were given as words.
struct GivenKeys {
  Array keys;
  bool are_raw = false;
};
GivenKeys given_keys(std::string_view function, const Array& keys);
// The same for a single key.
GivenKeys given_key(std::string_view function, const Array& key);
Array one_key(std::string_view function, const Array& key);
// Key i of those that split(key) gives, which is also what fold_in(key, i) gives.
Array subkey(const Array& key, int64_t i);

// ---- dtypes ----

struct FloatForm {
  int bits = 0;
  int mantissa = 0;      // bits, without the leading one
  int min_exponent = 0;  // of the smallest normal number
};
// Of a float that samples can have; raises for other dtypes.
FloatForm float_form(std::string_view function, DType dtype);
// Raises unless `dtype` is a float.
void check_float(std::string_view function, DType dtype);
void check_integer(std::string_view function, DType dtype);

// ---- shapes ----

// Raises for negative sizes.
Shape checked_shape(std::string_view function, std::span<const int64_t> shape);
// `shape`, to which these must broadcast; left out, what they broadcast to.
Shape common_shape(std::string_view function, const OptionalShape& shape,
                   std::initializer_list<std::span<const int64_t>> parameters);
Shape joined(std::span<const int64_t> front, std::span<const int64_t> back);

// ---- parameters ----

// x in `dtype`; raises TypeError where that could lose something.
Array parameter(std::string_view function, const Array& x, DType dtype);
// x in `dtype`, whatever it was, as lax.convert_element_type has it.
Array in_dtype(const Array& x, DType dtype);
// A weakly typed x in `dtype`, so that what is computed of it has its precision; others as they
// are.
Array settled(const Array& x, DType dtype);
// x as a float of its own dtype.
Array as_float(std::string_view function, const Array& x);
// x in this shape, to which it broadcasts.
Array in_shape(const Array& x, std::span<const int64_t> shape);

}  // namespace farcall::random
