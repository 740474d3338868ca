// farcall.numpy: indices, and selecting, replacing, inserting and deleting elements. Names with an
// underscore are private to farcall's Python package.
#include "bind.h"

#include <optional>
#include <string>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/numpy/matrices.h>
#include <farcall/numpy/places.h>
#include <farcall/ops/numpy_indexing.h>

#include "array_object.h"
#include "bound_function.h"
#include "convert.h"

namespace farcall::python {

// None, one number for all dimensions, or a tuple with one for each.
struct FillValues {
  std::vector<Array> all;
};
template <>
struct Argument<FillValues> {
  static FillValues from(nb::handle object, ArgumentPlace place) {
    if (object.is_none()) return {};
    if (!nb::isinstance<nb::tuple>(object)) return {{Argument<Array>::from(object, place)}};
    return {Argument<std::vector<Array>>::from(object, place)};
  }
};

template <>
struct Argument<numpy::Outside> {
  static numpy::Outside from(nb::handle object, ArgumentPlace place) {
    return static_cast<numpy::Outside>(index_of_word(object, place, {"raise", "wrap", "clip"}));
  }
};

// The mode of put; None counts negative indices from the end, and clamps others.
struct PutMode {
  std::optional<numpy::Outside> outside;
};
template <>
struct Argument<PutMode> {
  static PutMode from(nb::handle object, ArgumentPlace place) {
    if (object.is_none()) return {};
    const bool is_wrap = index_of_word(object, place, {"clip", "wrap"}) == 1;
    return {is_wrap ? numpy::Outside::kWrap : numpy::Outside::kClip};
  }
};

// The argument `inplace`, which must be false.
struct NotInPlace {};
template <>
struct Argument<NotInPlace> {
  static NotInPlace from(nb::handle object, ArgumentPlace place) {
    if (!Argument<bool>::from(object, place)) return {};
    invalid_argument(fmt::format("{}: arrays are immutable; give inplace=False and use the result",
                                 place.function));
  }
};

// "C" (row-major) or "F" (column-major).
struct CountingOrder {
  bool first_fastest;
};
template <>
struct Argument<CountingOrder> {
  static CountingOrder from(nb::handle object, ArgumentPlace place) {
    return {index_of_word(object, place, {"C", "F"}) == 1};
  }
};

namespace {

using Sizes = std::vector<int64_t>;
using ArrayList = std::vector<Array>;
using OptionalArray = std::optional<Array>;
using OptionalAxis = std::optional<int64_t>;
using OptionalDType = std::optional<DType>;
using OptionalSize = std::optional<int64_t>;

nb::tuple as_tuple(const ArrayList& arrays) { return nb::tuple(to_python(arrays)); }

void bind_choices(nb::module_& module) {
  const Parameter size = {"size", nb::none()}, fill_value = {"fill_value", nb::none()},
                  axis = {"axis", nb::none()}, zero = {"fill_value", 0};
  def_function<2>(
      module, "nonzero",
      [](const Array& a, OptionalSize size, FillValues fills) {
        if (a.rank() == 0) {
          invalid_argument("nonzero: a must have a dimension, got a scalar; use atleast_1d");
        }
        if (!size) return as_tuple(numpy::nonzero(a));
        if (fills.all.size() == 1) fills.all.resize(a.rank(), fills.all[0]);
        return as_tuple(numpy::nonzero(a, *size, fills.all));
      },
      {"a", size, fill_value});
  def_function<2>(module, "argwhere",
                  [](const Array& a, OptionalSize size, const FillValues& fills) {
                    return numpy::argwhere(a, {size, fills.all});
                  },
                  {"a", size, fill_value});
  def_function<2>(module, "flatnonzero",
                  [](const Array& a, OptionalSize size, const FillValues& fills) {
                    return numpy::flatnonzero(a, {size, fills.all});
                  },
                  {"a", size, fill_value});
  def_function<3>(module, "compress",
                  [](const ListedArray& condition, const Array& a, OptionalAxis axis,
                     OptionalSize size, const Array& fill, NoOut) {
                    return numpy::compress(condition, a, axis, {size, fill});
                  },
                  {"condition", "a", axis, size, zero, {"out", nb::none()}});
  def_function<2>(module, "extract",
                  [](const Array& condition, const Array& a, OptionalSize size, const Array& fill) {
                    return numpy::extract(condition, a, {size, fill});
                  },
                  {"condition", "arr", size, zero});
  def_function(module, "_unique",
               [](const Array& ar, int64_t size, const OptionalArray& fill, bool equal_nan) {
                 const numpy::Distinct found = numpy::unique(ar, size, fill, equal_nan);
                 return std::tuple(found.values, found.index, found.inverse, found.counts);
               },
               {"ar", "size", "fill_value", "equal_nan"});
  using SetFunction = Array (*)(const Array&, const Array&, const numpy::SetOptions&);
  const std::pair<const char*, SetFunction> sets[] = {{"_setdiff1d", numpy::setdiff1d},
                                                      {"_setxor1d", numpy::setxor1d}};
  for (const auto& [name, function] : sets) {
    def_function(module, name,
                 [function = function](const Array& ar1, const Array& ar2, int64_t size,
                                       const OptionalArray& fill, bool assume_unique) {
                   return function(ar1, ar2, {size, fill, assume_unique});
                 },
                 {"ar1", "ar2", "size", "fill_value", "assume_unique"});
  }
  def_function(module, "_intersect1d",
               [](const Array& ar1, const Array& ar2, int64_t size, const OptionalArray& fill) {
                 const auto [values, first, second] = numpy::intersect1d(ar1, ar2, {size, fill});
                 return std::tuple(values, first, second);
               },
               {"ar1", "ar2", "size", "fill_value"});
  def_function(module, "choose",
               [](const Array& a, const ArrayList& choices, NoOut, numpy::Outside outside) {
                 return numpy::choose(a, choices, outside);
               },
               {"a", "choices", {"out", nb::none()}, {"mode", "raise"}});
}

void bind_indices(nb::module_& module) {
  const Parameter k = {"k", 0};
  def_function(module, "diag_indices",
               [](int64_t n, int64_t ndim) { return as_tuple(numpy::diag_indices(n, ndim)); },
               {"n", {"ndim", 2}});
  def_function(module, "diag_indices_from",
               [](const Array& arr) { return as_tuple(numpy::diag_indices_from(arr)); }, {"arr"});
  def_function(module, "tril_indices_from",
               [](const ListedArray& arr, int64_t k) { return numpy::tril_indices_from(arr, k); },
               {"arr", k});
  def_function(module, "triu_indices_from",
               [](const ListedArray& arr, int64_t k) { return numpy::triu_indices_from(arr, k); },
               {"arr", k});
  def_function(module, "_ix", [](const ArrayList& args) { return as_tuple(numpy::ix_(args)); },
               {"args"});
  def_function(module, "unravel_index",
               [](const Array& indices, const Sizes& shape) {
                 return as_tuple(numpy::unravel_index(indices, shape));
               },
               {"indices", "shape"});
  def_function(
      module, "_ravel_multi_index",
      [](const ArrayList& indices, const Sizes& dims, numpy::Outside outside, CountingOrder order,
         OptionalDType dtype) {
        return numpy::ravel_multi_index(indices, dims, {outside, order.first_fastest, dtype});
      },
      {"multi_index", "dims", "mode", "order", "dtype"});
}

void bind_replacements(nb::module_& module) {
  const Parameter axis = {"axis", nb::none()}, inplace = {"inplace", true};
  def_function<1>(module, "fill_diagonal",
                  [](const Array& a, const ListedArray& val, bool wrap, NotInPlace) {
                    return numpy::fill_diagonal(a, val, wrap);
                  },
                  {"a", "val", {"wrap", false}, inplace});
  def_function<1>(module, "place",
                  [](const Array& arr, const Array& mask, const ListedArray& vals, NotInPlace) {
                    return numpy::place(arr, mask, vals);
                  },
                  {"arr", "mask", "vals", inplace});
  def_function<1>(module, "put",
                  [](const Array& a, const ListedArray& ind, const ListedArray& v, PutMode mode,
                     NotInPlace) { return numpy::put(a, ind, v, mode.outside); },
                  {"a", "ind", "v", {"mode", nb::none()}, inplace});
  def_function(module, "_delete",
               [](const Array& arr, const Sizes& slices, OptionalAxis axis) {
                 return numpy::delete_(arr, slices, axis);
               },
               {"arr", "obj", axis});
  def_function(module, "_insert",
               [](const Array& arr, const Sizes& before, const ListedArray& values,
                  OptionalAxis axis) { return numpy::insert(arr, before, values, axis); },
               {"arr", "obj", "values", axis});
  def_function(module, "_insert_block",
               [](const Array& arr, int64_t before, const ListedArray& values, OptionalAxis axis) {
                 return numpy::insert_block(arr, before, values, axis);
               },
               {"arr", "obj", "values", axis});
  def_function(module, "resize",
               [](const Array& a, const Sizes& shape) { return numpy::resize(a, shape); },
               {"a", "new_shape"});
  def_function<1>(module, "repeat",
                  [](const Array& a, const ListedArray& repeats, OptionalAxis axis,
                     OptionalSize total) { return numpy::repeat(a, repeats, axis, total); },
                  {"a", "repeats", axis, {"total_repeat_length", nb::none()}});
}

}  // namespace

void bind_numpy_places(nb::module_& module) {
  bind_choices(module);
  bind_indices(module);
  bind_replacements(module);
}

}  // namespace farcall::python
