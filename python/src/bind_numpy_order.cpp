// farcall.numpy: sorting and searching, quantiles, cumulative functions and differences.
#include "bind.h"

#include <optional>
#include <string>
#include <variant>

#include <farcall/core/error.h>
#include <farcall/numpy/order.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>

#include "bound_function.h"

namespace farcall::python {

// None: "inverted_cdf", which alone has weights.
struct QuantileChoice {
  std::optional<numpy::QuantileMethod> method;
};
template <>
struct Argument<QuantileChoice> {
  static QuantileChoice from(nb::handle object, ArgumentPlace place) {
    const size_t found = index_of_word(
        object, place, {"linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf"});
    if (found == 5) return {};
    return {static_cast<numpy::QuantileMethod>(found)};
  }
};

// The side of equal elements: "left" (before them) or "right" (after them).
struct Side {
  bool is_right;
};
template <>
struct Argument<Side> {
  static Side from(nb::handle object, ArgumentPlace place) {
    return {index_of_word(object, place, {"left", "right"}) == 1};
  }
};

// JAX's search methods; all use the same implementation.
struct SearchMethod {};
template <>
struct Argument<SearchMethod> {
  static SearchMethod from(nb::handle object, ArgumentPlace place) {
    index_of_word(object, place, {"scan", "scan_unrolled", "sort", "compare_all"});
    return {};
  }
};

using Period = decltype(numpy::UnwrapOptions::period);
template <>
struct Argument<Period> {
  static Period from(nb::handle object, ArgumentPlace place) {
    if (PyLong_Check(object.ptr())) return Argument<int64_t>::from(object, place);
    if (PyFloat_Check(object.ptr())) return Argument<double>::from(object, place);
    return Argument<Array>::from(object, place);
  }
};

namespace {

using numpy::Axes;
using OptionalArray = std::optional<Array>;
using OptionalAxis = std::optional<int64_t>;
using OptionalDType = std::optional<DType>;

void bind_searches(nb::module_& module) {
  const Parameter axis = {"axis", -1};
  def_function(
      module, "lexsort",
      [](const std::vector<Array>& keys, int64_t axis) { return numpy::lexsort(keys, axis); },
      {"keys", axis});
  def_function(module, "partition", numpy::partition, {"a", "kth", axis});
  def_function(module, "argpartition", numpy::argpartition, {"a", "kth", axis});
  def_function(module, "sort_complex", numpy::sort_complex, {"a"});
  def_function<1>(module, "searchsorted",
                  [](const Array& a, const Array& v, Side side,
                     const std::optional<ListedArray>& sorter, SearchMethod) {
                    const Array sorted = sorter ? numpy::take(a, {sorter->array}) : a;
                    return numpy::searchsorted(sorted, v, side.is_right);
                  },
                  {"a", "v", {"side", "left"}, {"sorter", nb::none()}, {"method", "sort"}});
  def_function<1>(module, "digitize",
                  [](const Array& x, const Array& bins, bool right, std::optional<SearchMethod>) {
                    return numpy::digitize(x, bins, right);
                  },
                  {"x", "bins", {"right", false}, {"method", nb::none()}});
  def_function(module, "_isin", numpy::isin, {"element", "test_elements", "invert"});
  def_function(
      module, "interp",
      [](const Array& x, const Array& xp, const Array& fp, const OptionalArray& left,
         const OptionalArray& right, std::optional<double> period) {
        return numpy::interp(x, xp, fp, {left, right, period});
      },
      {"x", "xp", "fp", {"left", nb::none()}, {"right", nb::none()}, {"period", nb::none()}});
}

void bind_quantiles(nb::module_& module) {
  const Parameter axis = {"axis", nb::none()}, out = {"out", nb::none()},
                  overwrite = {"overwrite_input", false}, keepdims = {"keepdims", false};
  using Quantile = Array (*)(const Array&, const Array&, const numpy::QuantileOptions&);
  struct Named {
    const char* name;
    Quantile function;
    double whole;  // the q that means the last element
    bool ignores_nan;
  };
  for (const Named& f : {Named{"quantile", numpy::quantile, 1, false},
                         Named{"nanquantile", numpy::quantile, 1, true},
                         Named{"percentile", numpy::percentile, 100, false},
                         Named{"nanpercentile", numpy::percentile, 100, true}}) {
    def_function<1>(
        module, f.name,
        [f](const Array& a, const Array& q, const Axes& axes, NoOut, nb::handle,
            QuantileChoice choice, bool keepdims, const OptionalArray& weights) {
          if (choice.method && weights) {
            throw Error(ErrorCode::kUnimplemented,
                        fmt::format("{}: weights need method='inverted_cdf'", f.name));
          }
          if (choice.method)
            return f.function(a, q, {axes, *choice.method, keepdims, f.ignores_nan});
          return numpy::inverted_cdf(a, q, {weights, axes, keepdims, f.ignores_nan, f.whole});
        },
        {"a", "q", axis, out, overwrite, {"method", "linear"}, keepdims, {"weights", nb::none()}});
  }
  for (const bool ignores_nan : {false, true}) {
    def_function(module, ignores_nan ? "nanmedian" : "median",
                 [ignores_nan](const Array& a, const Axes& axes, NoOut, nb::handle, bool keepdims) {
                   return numpy::median(a, axes, keepdims, ignores_nan);
                 },
                 {"a", axis, out, overwrite, keepdims});
  }
}

void bind_running(nb::module_& module) {
  const Parameter axis = {"axis", nb::none()}, dtype = {"dtype", nb::none()},
                  out = {"out", nb::none()};
  using Running = Array (*)(const Array&, OptionalAxis, OptionalDType);
  const std::pair<const char*, Running> running[] = {{"cumsum", numpy::cumsum},
                                                     {"cumprod", numpy::cumprod},
                                                     {"nancumsum", numpy::nancumsum},
                                                     {"nancumprod", numpy::nancumprod}};
  for (const auto& [name, function] : running) {
    def_function(module, name,
                 [function = function](const Array& a, OptionalAxis axis, OptionalDType dtype,
                                       NoOut) { return function(a, axis, dtype); },
                 {"a", axis, dtype, out});
  }
  using Cumulative = Array (*)(const Array&, const numpy::CumulativeOptions&);
  const std::pair<const char*, Cumulative> cumulative[] = {
      {"cumulative_sum", numpy::cumulative_sum}, {"cumulative_prod", numpy::cumulative_prod}};
  for (const auto& [name, function] : cumulative) {
    def_function<3>(module, name,
                    [function = function](const Array& x, OptionalAxis axis, OptionalDType dtype,
                                          bool include_initial) {
                      return function(x, {axis, dtype, include_initial});
                    },
                    {"x", axis, dtype, {"include_initial", false}});
  }
}

void bind_neighbours(nb::module_& module) {
  const Parameter axis = {"axis", -1};
  def_function(module, "diff",
               [](const Array& a, int64_t n, int64_t axis, const OptionalArray& prepend,
                  const OptionalArray& append) {
                 return numpy::diff(a, {n, axis, prepend, append});
               },
               {"a", {"n", 1}, axis, {"prepend", nb::none()}, {"append", nb::none()}});
  def_function(module, "ediff1d", numpy::ediff1d,
               {"ary", {"to_end", nb::none()}, {"to_begin", nb::none()}});
  def_function(module, "trapezoid", numpy::trapezoid, {"y", {"x", nb::none()}, {"dx", 1.0}, axis});
  def_function(
      module, "unwrap",
      [](const Array& p, const OptionalArray& discont, int64_t axis, const Period& period) {
        return numpy::unwrap(p, {discont, axis, period});
      },
      {"p",
       {"discont", nb::none()},
       axis,
       {"period", std::get<double>(numpy::UnwrapOptions().period)}});
  def_function(module, "_gradient",
               [](const Array& f, const std::vector<Array>& spacings, const Axes& axes) {
                 return numpy::gradient(f, spacings, axes);
               },
               {"f", "varargs", "axis"});
}

}  // namespace

void bind_numpy_order(nb::module_& module) {
  bind_searches(module);
  bind_quantiles(module);
  bind_running(module);
  bind_neighbours(module);
}

}  // namespace farcall::python
