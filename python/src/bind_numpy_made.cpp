// farcall.numpy: windows, matrices, grids, polynomials and histograms.
#include "bind.h"

#include <optional>
#include <string>

#include <farcall/core/error.h>
#include <farcall/numpy/histograms.h>
#include <farcall/numpy/matrices.h>
#include <farcall/numpy/polynomials.h>
#include <farcall/numpy/windows.h>

#include "array_object.h"
#include "bound_function.h"
#include "convert.h"

namespace farcall::python {

// A number of bins, or the edges.
template <>
struct Argument<numpy::Bins> {
  static numpy::Bins from(nb::handle object, ArgumentPlace place) {
    if (PyUnicode_Check(object.ptr())) {
      throw Error(ErrorCode::kUnimplemented,
                  fmt::format("{}: {} must be a number or edges, got {}", place.function,
                              place.name, repr_of(object)));
    }
    if (!PySequence_Check(object.ptr())) return Argument<int64_t>::from(object, place);
    const Array edges = Argument<ListedArray>::from(object, place);
    if (edges.rank() == 0) return Argument<int64_t>::from(object, place);
    return edges;
  }
};

// Bins for each axis, or one specification for all axes.
struct AxisBins {
  bool is_for_all;
  std::vector<numpy::Bins> bins;

  std::vector<numpy::Bins> of_axes(size_t rank) const {
    return is_for_all ? std::vector<numpy::Bins>(rank, bins[0]) : bins;
  }
};
template <>
struct Argument<AxisBins> {
  static AxisBins from(nb::handle object, ArgumentPlace place) {
    AxisBins result = {.is_for_all = true};
    const bool is_word = PyUnicode_Check(object.ptr());
    if (is_word || !PySequence_Check(object.ptr()) ||
        (is_array(object.ptr()) && array_of(object.ptr()).rank() == 0)) {
      result.bins.push_back(Argument<numpy::Bins>::from(object, place));
      return result;
    }
    result.is_for_all = false;
    for (size_t i = 0; i < nb::len(object); ++i) {
      result.bins.push_back(Argument<numpy::Bins>::from(nb::object(object[i]), place));
    }
    return result;
  }
};

// The bins of a 2-d histogram. A sequence of more than two numbers is the edges of both axes.
struct PlaneBins {
  std::vector<numpy::Bins> bins;
};
template <>
struct Argument<PlaneBins> {
  static PlaneBins from(nb::handle object, ArgumentPlace place) {
    const bool is_list = PySequence_Check(object.ptr()) && !PyUnicode_Check(object.ptr()) &&
                         !(is_array(object.ptr()) && array_of(object.ptr()).rank() == 0);
    if (is_list && nb::len(object) > 2) {
      return {std::vector<numpy::Bins>(2, Argument<numpy::Bins>::from(object, place))};
    }
    return {Argument<AxisBins>::from(object, place).of_axes(2)};
  }
};

// None, or for each axis None or (first edge, last edge).
struct AxisRanges {
  std::vector<numpy::BinRange> ranges;
};
template <>
struct Argument<AxisRanges> {
  static AxisRanges from(nb::handle object, ArgumentPlace place) {
    AxisRanges result;
    if (object.is_none()) return result;
    if (!PySequence_Check(object.ptr())) {
      throw TypeError(fmt::format("{}: {} must be a pair for each axis, got {}", place.function,
                                  place.name, repr_of(object)));
    }
    for (size_t i = 0; i < nb::len(object); ++i) {
      const nb::object each(object[i]);
      result.ranges.push_back(Argument<numpy::BinRange>::from(each, place));
    }
    return result;
  }
};

// False, True, or a string, which means "unscaled".
template <>
struct Argument<numpy::PolyfitCovariance> {
  static numpy::PolyfitCovariance from(nb::handle object, ArgumentPlace place) {
    if (PyUnicode_Check(object.ptr())) return numpy::PolyfitCovariance::kUnscaled;
    return Argument<bool>::from(object, place) ? numpy::PolyfitCovariance::kScaled
                                               : numpy::PolyfitCovariance::kNone;
  }
};

namespace {

using OptionalArray = std::optional<Array>;
using OptionalDType = std::optional<DType>;
using OptionalSize = std::optional<int64_t>;
using Sizes = std::vector<int64_t>;

void bind_grids(nb::module_& module) {
  const Parameter columns = {"M", nb::none()}, k = {"k", 0}, dtype = {"dtype", nb::none()};
  def_function<1>(
      module, "eye",
      [](int64_t rows, OptionalSize columns, int64_t k, OptionalDType dtype, nb::handle device) {
        return to_python(numpy::eye(rows, columns, k, dtype), device);
      },
      {"N", columns, k, dtype, {"device", nb::none()}});
  def_function(module, "identity",
               [](int64_t n, OptionalDType dtype) { return numpy::eye(n, n, 0, dtype); },
               {"n", dtype});
  def_function(module, "tri",
               [](int64_t rows, OptionalSize columns, int64_t k, OptionalDType dtype) {
                 return numpy::tri(rows, columns, k, dtype.value_or(DType::kFloat32));
               },
               {"N", columns, k, dtype});
  def_function(module, "tril_indices", numpy::tril_indices, {"n", k, {"m", nb::none()}});
  def_function(module, "triu_indices", numpy::triu_indices, {"n", k, {"m", nb::none()}});
  def_function(module, "diag", numpy::diag, {"v", k});
  def_function(module, "diagflat", numpy::diagflat, {"v", k});
  def_function(module, "vander", numpy::vander, {"x", {"N", nb::none()}, {"increasing", false}});
  def_function(module, "_meshgrid",
               [](const std::vector<Array>& xi, bool sparse, const std::string& indexing) {
                 return numpy::meshgrid(xi, indexing, sparse);
               },
               {"xi", "sparse", "indexing"});
  def_function(module, "indices",
               [](const Sizes& dimensions, OptionalDType dtype, bool sparse) -> nb::object {
                 if (!sparse) return to_python(numpy::indices(dimensions, dtype));
                 return nb::tuple(to_python(numpy::sparse_indices(dimensions, dtype)));
               },
               {"dimensions", dtype, {"sparse", false}});
}

void bind_window_functions(nb::module_& module) {
  const std::pair<const char*, Array (*)(int64_t)> windows[] = {{"bartlett", numpy::bartlett},
                                                                {"blackman", numpy::blackman},
                                                                {"hamming", numpy::hamming},
                                                                {"hanning", numpy::hanning}};
  for (const auto& [name, function] : windows) def_function(module, name, function, {"M"});
  def_function(module, "kaiser", numpy::kaiser, {"M", "beta"});
}

void bind_covariances(nb::module_& module) {
  const Parameter y = {"y", nb::none()}, rowvar = {"rowvar", true}, dtype = {"dtype", nb::none()};
  def_function(
      module, "cov",
      [](const Array& m, const OptionalArray& y, bool rowvar, bool bias, OptionalSize ddof,
         const OptionalArray& fweights, const OptionalArray& aweights, OptionalDType dtype) {
        return numpy::cov(m, {y, rowvar, bias, ddof, fweights, aweights, dtype});
      },
      {"m",
       y,
       rowvar,
       {"bias", false},
       {"ddof", nb::none()},
       {"fweights", nb::none()},
       {"aweights", nb::none()},
       dtype});
  def_function(module, "corrcoef",
               [](const Array& x, const OptionalArray& y, bool rowvar, OptionalDType dtype) {
                 return numpy::corrcoef(x, {.y = y, .rowvar = rowvar, .dtype = dtype});
               },
               {"x", y, rowvar, dtype});
}

void bind_polynomials(nb::module_& module) {
  def_function<1>(module, "polyval",
                  [](const Array& p, const Array& x, nb::handle) { return numpy::polyval(p, x); },
                  {"p", "x", {"unroll", 16}});
  const std::pair<const char*, Array (*)(const Array&, const Array&)> sums[] = {
      {"polyadd", numpy::polyadd}, {"polysub", numpy::polysub}};
  for (const auto& [name, function] : sums) {
    def_function(module, name,
                 [function = function](const ListedArray& a1, const ListedArray& a2) {
                   return function(a1, a2);
                 },
                 {"a1", "a2"});
  }
  def_function(module, "polyder",
               [](const ListedArray& p, int64_t order) { return numpy::polyder(p, order); },
               {"p", {"m", 1}});
  def_function(module, "polyint",
               [](const ListedArray& p, int64_t order, const std::optional<ListedArray>& k) {
                 return numpy::polyint(p, order, k ? OptionalArray(k->array) : std::nullopt);
               },
               {"p", {"m", 1}, {"k", nb::none()}});
  def_function(module, "poly", numpy::poly, {"seq_of_zeros"});
  const Parameter trim = {"trim_leading_zeros", false};
  def_function<1>(module, "polymul",
                  [](const ListedArray& a1, const ListedArray& a2, bool trim) {
                    return numpy::polymul(a1, a2, trim);
                  },
                  {"a1", "a2", trim});
  def_function<1>(module, "polydiv",
                  [](const ListedArray& u, const ListedArray& v, bool trim) {
                    const auto [quotient, remainder] = numpy::polydiv(u, v, trim);
                    return std::pair(quotient, remainder);
                  },
                  {"u", "v", trim});
  def_function<1>(
      module, "roots",
      [](const ListedArray& p, bool strip_zeros) { return numpy::roots(p, strip_zeros); },
      {"p", {"strip_zeros", true}});
  def_function(
      module, "polyfit",
      [](const Array& x, const Array& y, int64_t degree, std::optional<double> rcond, bool full,
         const OptionalArray& weights, numpy::PolyfitCovariance covariance) -> nb::object {
        if (full) covariance = numpy::PolyfitCovariance::kNone;
        const numpy::Polyfit fit = numpy::polyfit(x, y, degree, {rcond, weights, covariance});
        if (full) {
          return to_python(
              std::tuple(fit.coefficients, fit.residuals, fit.rank, fit.singular, fit.rcond));
        }
        if (fit.covariance.is_null()) return to_python(fit.coefficients);
        return to_python(std::pair(fit.coefficients, fit.covariance));
      },
      {"x", "y", "deg", {"rcond", nb::none()}, {"full", false}, {"w", nb::none()}, {"cov", false}});
}

void bind_histograms(nb::module_& module) {
  const Parameter bins = {"bins", 10}, range = {"range", nb::none()},
                  weights = {"weights", nb::none()}, density = {"density", nb::none()};
  def_function<1>(
      module, "bincount",
      [](const Array& x, const OptionalArray& weights, int64_t minlength, OptionalSize length) {
        return numpy::bincount(x, {weights, minlength, length});
      },
      {"x", weights, {"minlength", 0}, {"length", nb::none()}});
  // The weights have no effect.
  def_function(module, "histogram_bin_edges",
               [](const Array& a, const numpy::Bins& bins, const numpy::BinRange& range,
                  nb::handle) { return numpy::histogram_bin_edges(a, bins, range); },
               {"a", bins, range, weights});
  def_function(module, "histogram",
               [](const Array& a, const numpy::Bins& bins, const numpy::BinRange& range,
                  const OptionalArray& weights, bool density) {
                 const auto [counts, edges] = numpy::histogram(a, bins, range, {weights, density});
                 return std::pair(counts, edges[0]);
               },
               {"a", bins, range, weights, density});
  def_function(module, "histogram2d",
               [](const Array& x, const Array& y, const PlaneBins& bins, const AxisRanges& ranges,
                  const OptionalArray& weights, bool density) {
                 const Array points = numpy::stack({x, y}, 1);
                 const auto [counts, edges] =
                     numpy::histogramdd(points, bins.bins, ranges.ranges, {weights, density});
                 return std::tuple(counts, edges[0], edges[1]);
               },
               {"x", "y", bins, range, weights, density});
  def_function(module, "histogramdd",
               [](const Array& sample, const AxisBins& bins, const AxisRanges& ranges,
                  const OptionalArray& weights, bool density) {
                 const size_t rank =
                     sample.rank() == 2 ? static_cast<size_t>(sample.shape()[1]) : 0;
                 const auto [counts, edges] = numpy::histogramdd(sample, bins.of_axes(rank),
                                                                 ranges.ranges, {weights, density});
                 return std::pair(counts, edges);
               },
               {"sample", bins, range, weights, density});
}

}  // namespace

void bind_numpy_made(nb::module_& module) {
  bind_histograms(module);
  bind_polynomials(module);
  bind_grids(module);
  bind_window_functions(module);
  bind_covariances(module);
}

}  // namespace farcall::python
