#include "random/checks.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/promotion.h>

#include "ops/internal/key_words.h"
#include "random/primitives.h"

namespace farcall::random {
namespace {

struct NamedForm {
  DType dtype;
  FloatForm form;
};
constexpr NamedForm kForms[] = {
    {DType::kFloat16, {16, 10, -14}},         {DType::kBFloat16, {16, 7, -126}},
    {DType::kFloat32, {32, 23, -126}},        {DType::kFloat64, {64, 52, -1022}},
    {DType::kFloat8E5M2, {8, 2, -14}},        {DType::kFloat8E4M3, {8, 3, -6}},
    {DType::kFloat8E3M4, {8, 4, -2}},         {DType::kFloat8E4M3FN, {8, 3, -6}},
    {DType::kFloat8E4M3B11FNUZ, {8, 3, -10}}, {DType::kFloat8E5M2FNUZ, {8, 2, -15}},
    {DType::kFloat8E4M3FNUZ, {8, 3, -7}},
};

}  // namespace

GivenKeys given_keys(std::string_view function, const Array& keys) {
  if (is_key(keys.dtype())) return {keys, false};
  const bool are_words =
      keys.dtype() == DType::kUInt32 && keys.rank() > 0 && keys.shape().back() == 2;
  if (are_words) return {wrap_key_words(keys), true};
  throw TypeError(fmt::format(
      "{}: key must be a key made by random.key(seed), or its words, an array of uint32 "
      "whose last dimension has size 2; got {}",
      function, keys.type().to_string()));
}

GivenKeys given_key(std::string_view function, const Array& key) {
  GivenKeys given = given_keys(function, key);
  if (given.keys.rank() == 0) return given;
  invalid_argument(
      fmt::format("{}: takes a single key, got an array of keys of shape {}. Map over keys "
                  "with vmap",
                  function, shape_to_string(given.keys.shape())));
}

Array one_key(std::string_view function, const Array& key) { return given_key(function, key).keys; }

Array subkey(const Array& key, int64_t i) {
  return random_fold_in(key, Array::scalar(static_cast<uint32_t>(i)));
}

FloatForm float_form(std::string_view function, DType dtype) {
  for (const auto& [known, form] : kForms) {
    if (known == dtype) return form;
  }
  invalid_argument(fmt::format("{}: dtype must be a float of 8, 16, 32 or 64 bits, got {}",
                               function, dtype_name(dtype)));
}

void check_float(std::string_view function, DType dtype) {
  if (is_floating(dtype)) return;
  invalid_argument(fmt::format("{}: dtype must be a float, got {}", function, dtype_name(dtype)));
}

void check_integer(std::string_view function, DType dtype) {
  if (is_integer(dtype)) return;
  invalid_argument(
      fmt::format("{}: dtype must be an integer, got {}", function, dtype_name(dtype)));
}

Shape checked_shape(std::string_view function, std::span<const int64_t> shape) {
  for (const int64_t size : shape) {
    if (size >= 0) continue;
    invalid_argument(fmt::format("{}: shape must have sizes of 0 and more, got {}", function,
                                 shape_to_string(shape)));
  }
  return {shape.begin(), shape.end()};
}

Shape common_shape(std::string_view function, const OptionalShape& shape,
                   std::initializer_list<std::span<const int64_t>> parameters) {
  std::vector<std::span<const int64_t>> all(parameters);
  if (!shape) return with_error_prefix(function, [&] { return numpy::broadcast_shapes(all); });
  Shape wanted = checked_shape(function, *shape);
  all.insert(all.begin(), wanted);
  if (with_error_prefix(function, [&] { return numpy::broadcast_shapes(all); }) == wanted) {
    return wanted;
  }
  std::string shapes;
  for (const auto each : parameters) shapes += (shapes.empty() ? "" : ", ") + shape_to_string(each);
  invalid_argument(fmt::format("{}: parameters of shapes {} do not broadcast to shape {}", function,
                               shapes, shape_to_string(wanted)));
}

Array parameter(std::string_view function, const Array& x, DType dtype) {
  const ShapeDtype types[] = {x.type(), ShapeDtype(dtype, {})};
  const DType common = with_error_prefix(function, [&] { return promote_types(types).dtype; });
  if (common == dtype) return in_dtype(x, dtype);
  throw TypeError(
      fmt::format("{}: a parameter of dtype {} does not fit into dtype {}; give dtype={}, or "
                  "convert the parameter first",
                  function, dtype_name(x.dtype()), dtype_name(dtype), dtype_name(common)));
}

Array in_dtype(const Array& x, DType dtype) { return convert(x, {dtype, false}); }

Array settled(const Array& x, DType dtype) { return x.type().weak_type() ? in_dtype(x, dtype) : x; }

Array as_float(std::string_view function, const Array& x) {
  const ShapeDtype type = x.type();
  const PromotedDType to = with_error_prefix(function, [&] {
    return promote_to_inexact({&type, 1});
  });
  return in_dtype(x, to.weak_type ? default_float() : to.dtype);
}

Array in_shape(const Array& x, std::span<const int64_t> shape) {
  return numpy::broadcast_to(x, shape);
}

}  // namespace farcall::random
