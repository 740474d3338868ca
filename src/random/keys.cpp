// Creating keys, and deriving keys from keys.
#include <fmt/format.h>

#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/promotion.h>
#include <farcall/trace/interpreter.h>

#include "ops/internal/key_words.h"
#include "random/checks.h"
#include "random/primitives.h"

namespace farcall::random {
namespace {

constexpr std::string_view kThreefryName = "threefry2x32";

Array words_of_seed(std::string_view function, const Array& seed) {
  if (is_key(seed.dtype())) {
    throw TypeError(fmt::format("{}: seed must be an integer, got a key", function));
  }
  if (!is_integer(seed.dtype()) && seed.dtype() != DType::kBool) {
    throw TypeError(
        fmt::format("{}: seed must be an integer, got {}", function, seed.type().to_string()));
  }
  if (seed.rank() != 0) {
    throw TypeError(fmt::format("{}: seed must be a scalar, got {}. Map over seeds with vmap",
                                function, seed.type().to_string()));
  }
  const Array whole = strengthen(seed);
  const Array high =
      dtype_info(whole.dtype()).bits == 64
          ? in_dtype(lax::shift_right_logical(whole, in_dtype(Array(int64_t{32}), whole.dtype())),
                     DType::kUInt32)
          : Array::scalar(uint32_t{0});
  return numpy::stack({high, in_dtype(whole, DType::kUInt32)});
}

// If the seed is known, evaluates at once, so that recorded programs contain the key and not its
// computation.
template <class F>
Array at_once_if_known(const Array& seed, F make) {
  if (!seed.is_concrete()) return make();
  InterpreterScope scope(evaluator());
  return make();
}

Array as_given(const GivenKeys& given, const Array& keys) {
  return given.are_raw ? unwrap_key_words(keys) : keys;
}

}  // namespace

DType key_dtype(std::string_view impl) {
  if (impl == kThreefryName || impl == "fry") return DType::kThreefryKey;
  invalid_argument(fmt::format("unknown random number generator \"{}\"; available: \"{}\"", impl,
                               kThreefryName));
}

Array key(const Array& seed) {
  return at_once_if_known(seed, [&] { return wrap_key_words(words_of_seed("key", seed)); });
}
Array PRNGKey(const Array& seed) {
  return at_once_if_known(seed, [&] { return words_of_seed("PRNGKey", seed); });
}

Array split(const Array& key, ListOf<int64_t> shape) {
  const GivenKeys given = given_key("split", key);
  return as_given(given, random_split(given.keys, checked_shape("split", shape)));
}

Array fold_in(const Array& key, const Array& data) {
  const GivenKeys given = given_key("fold_in", key);
  if (data.rank() != 0) {
    throw TypeError(fmt::format("fold_in: data must be a scalar, got {}. Map over data with vmap",
                                data.type().to_string()));
  }
  const Array word = with_error_prefix(
      "fold_in", [&] { return lax::convert_element_type(strengthen(data), DType::kUInt32); });
  return as_given(given, random_fold_in(given.keys, word));
}

Array clone(const Array& key) {
  given_keys("clone", key);
  return key;
}

Array key_data(const Array& keys) {
  const GivenKeys given = given_keys("key_data", keys);
  return given.are_raw ? keys : unwrap_key_words(given.keys);
}

Array wrap_key_data(const Array& words, std::string_view impl) {
  with_error_prefix("wrap_key_data", [&] { return key_dtype(impl); });
  return with_error_prefix("wrap_key_data", [&] { return wrap_key_words(words); });
}

std::string key_impl(const Array& keys) {
  given_keys("key_impl", keys);
  return std::string(kThreefryName);
}

}  // namespace farcall::random
