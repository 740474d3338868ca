// Permutations, and choices among the entries of an array.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <farcall/ops/cumulative.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>

#include "ops/internal/numpy.h"
#include "ops/internal/rules.h"
#include "random/checks.h"
#include "random/primitives.h"
#include "random/uniform.h"

namespace farcall::random {
namespace {

int64_t count_of(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

// Sorts by random words. The number of rounds makes it unlikely (at most 1 in size^3) that two
// elements draw the same words in all rounds.
Array shuffled(const Array& given, const Array& given_x, int64_t axis) {
  Array key = given, x = given_x;
  const double words = std::log(static_cast<double>(std::max<int64_t>(1, x.size()))) /
                       std::log(std::numeric_limits<uint32_t>::max());
  for (auto rounds = static_cast<int>(std::ceil(3 * words)); rounds > 0; --rounds) {
    const Array operands[] = {random_bits(subkey(key, 1), 32, x.shape()), x};
    x = lax::sort(operands, axis)[1];
    key = subkey(key, 0);
  }
  return x;
}

Array counted(int64_t size, DType dtype) { return lax::iota(dtype, {size}, 0); }

// For each of `wanted`, the number of smaller elements in the sorted `values`, by binary search.
Array places_among(const Array& values, const Array& wanted) {
  const auto word = [](int64_t value) { return Array::scalar(static_cast<int32_t>(value)); };
  const int64_t size = values.size();
  Array place = numpy::zeros(wanted.shape(), DType::kInt32);
  for (auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size))); step > 0;
       step /= 2) {
    const Array next = lax::add(place, word(step));
    const Array last = lax::min(next, word(size));
    const Array before = numpy::take(values, {lax::sub(last, word(1))});
    const Array is_less = lax::bitwise_and(lax::le(next, word(size)), lax::lt(before, wanted));
    place = numpy::where(is_less, next, place);
  }
  return place;
}

void check_size(const ChoiceOptions& options, int64_t draws, int64_t entries) {
  if (entries <= 0) invalid_argument("choice: a has no entries to choose from");
  if (!options.replace && draws > entries) {
    invalid_argument(fmt::format("choice: {} entries cannot be drawn from {} without replacement",
                                 draws, entries));
  }
}

// The indices that choice draws with probabilities p.
Array weighted_places(const Array& key, const Array& p, std::span<const int64_t> shape,
                      int64_t entries, const ChoiceOptions& options) {
  const Array chances = as_float("choice", p);
  if (chances.rank() != 1 || chances.size() != entries) {
    invalid_argument(
        fmt::format("choice: p must have a probability for each of the {} entries, shape "
                    "[{}]; got shape {}",
                    entries, entries, shape_to_string(p.shape())));
  }
  const DType dtype = chances.dtype();
  if (options.replace) {
    const Array sums = lax::cumsum(chances, 0);
    const Array total = numpy::take(sums, {int64_t{-1}});
    const Array one = scalar_of(dtype, 1);
    return places_among(sums, lax::mul(total, lax::sub(one, unit_interval(key, shape, dtype))));
  }
  // T. Vieira, "Gumbel-max trick and weighted reservoir sampling" (2014): the largest perturbed
  // logarithms.
  const Array perturbed = lax::add(gumbel(key, {entries}, dtype, options.mode), lax::log(chances));
  return numpy::reshape(lax::top_k(perturbed, count_of(shape), 0).indices, shape);
}

// The indices that choice draws.
Array places(const Array& key, std::span<const int64_t> shape, int64_t entries,
             const ChoiceOptions& options) {
  if (options.p) {
    return lax::convert_element_type(weighted_places(key, *options.p, shape, entries, options),
                                     options.index_dtype);
  }
  if (options.replace) return randint(key, shape, 0, entries, options.index_dtype);
  const Array all = shuffled(key, counted(entries, options.index_dtype), 0);
  return numpy::reshape(lax::slice(all, {0}, {count_of(shape)}), shape);
}

}  // namespace

Array permutation(const Array& key, int64_t x, DType dtype) {
  const Array typed = one_key("permutation", key);
  return shuffled(typed, counted(std::max<int64_t>(0, x), dtype), 0);
}

Array permutation(const Array& key, const Array& x, int64_t axis, bool independent) {
  const Array typed = one_key("permutation", key);
  if (x.rank() == 0) {
    invalid_argument(
        fmt::format("permutation: x must have at least one dimension, or be an integer with a "
                    "known value; got {}",
                    x.type().to_string()));
  }
  const int64_t along = numpy::normalize_axis(axis, x.rank(), "permutation");
  if (independent || x.rank() == 1) return shuffled(typed, x, along);
  const Array order = shuffled(typed, counted(x.shape()[along], DType::kInt32), 0);
  return numpy::take(x, order, along);
}

Array choice(const Array& key, int64_t a, ListOf<int64_t> shape, const ChoiceOptions& options) {
  const Array typed = one_key("choice", key);
  const Shape size = checked_shape("choice", shape);
  if (count_of(size) == 0) return numpy::zeros(size, options.index_dtype);
  check_size(options, count_of(size), a);
  return places(typed, size, a, options);
}

Array choice(const Array& key, const Array& a, ListOf<int64_t> shape,
             const ChoiceOptions& options) {
  const Array typed = one_key("choice", key);
  if (a.rank() == 0) {
    invalid_argument(fmt::format(
        "choice: a must have at least one dimension, or be an integer with a known value; got {}",
        a.type().to_string()));
  }
  const int64_t axis = numpy::normalize_axis(options.axis, a.rank(), "choice");
  const Shape size = checked_shape("choice", shape);
  const auto before = a.shape().first(static_cast<size_t>(axis));
  const auto after = a.shape().subspan(static_cast<size_t>(axis) + 1);
  const Shape result = joined<Shape>(joined<Shape>(before, size), after);
  const int64_t draws = count_of(size), entries = a.shape()[axis];
  if (draws == 0) return numpy::zeros(size, a.dtype());
  check_size(options, draws, entries);
  if (!options.p && !options.replace) {
    std::vector<int64_t> starts(a.rank(), 0), limits(a.shape().begin(), a.shape().end());
    limits[static_cast<size_t>(axis)] = draws;
    return numpy::reshape(lax::slice(permutation(typed, a, axis), starts, limits), result);
  }
  return numpy::reshape(numpy::take(a, places(typed, size, entries, options), axis), result);
}

namespace {

// The indices of the largest perturbed logits: draws without replacement.
Array distinct_categories(const Array& key, const Array& logits, int64_t axis,
                          std::span<const int64_t> shape, int64_t draws,
                          const CategoricalOptions& options) {
  if (draws > logits.shape()[axis]) {
    invalid_argument(
        fmt::format("categorical: {} of {} categories cannot be drawn without replacement", draws,
                    logits.shape()[axis]));
  }
  const Array perturbed =
      lax::add(logits, gumbel(key, logits.shape(), logits.dtype(), options.mode));
  const int64_t last = static_cast<int64_t>(logits.rank()) - 1;
  const Array found = lax::top_k(numpy::moveaxis(perturbed, axis, -1), draws, last).indices;
  return numpy::reshape(numpy::moveaxis(found, -1, 0), shape);
}

}  // namespace

Array categorical(const Array& key, const Array& logits, const CategoricalOptions& options) {
  const Array typed = one_key("categorical", key);
  if (logits.rank() == 0) {
    invalid_argument("categorical: logits must have at least one dimension, got a scalar");
  }
  const Array given = in_dtype(logits, logits.dtype());
  float_form("categorical", given.dtype());
  const int64_t axis = numpy::normalize_axis(options.axis, logits.rank(), "categorical");
  Shape batch = to_shape(logits.shape());
  batch.erase(batch.begin() + axis);
  const Shape shape = common_shape("categorical", options.shape, {batch});
  const auto num_front = static_cast<std::ptrdiff_t>(shape.size() - batch.size());
  const Shape front(shape.begin(), shape.begin() + num_front);
  if (!options.replace) {
    return lax::convert_element_type(
        distinct_categories(typed, given, axis, shape, count_of(front), options),
        options.index_dtype);
  }
  Shape drawn = shape;
  drawn.insert(drawn.begin() + num_front + axis, logits.shape()[axis]);
  const Array perturbed = gumbel(typed, drawn, given.dtype(), options.mode) + given;
  return lax::argmax(perturbed, num_front + axis, options.index_dtype);
}

}  // namespace farcall::random
