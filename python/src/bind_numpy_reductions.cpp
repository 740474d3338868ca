// farcall.numpy: reductions.
#include "bind.h"

#include <optional>
#include <string>

#include <farcall/core/error.h>
#include <farcall/numpy/reductions.h>

#include "bound_function.h"

namespace farcall::python {
namespace {

using numpy::Axes;
using OptionalArray = std::optional<Array>;
using OptionalDType = std::optional<DType>;
using OptionalAxis = std::optional<int64_t>;

}  // namespace

void bind_numpy_reductions(nb::module_& module) {
  const Parameter axis = {"axis", nb::none()}, dtype = {"dtype", nb::none()},
                  out = {"out", nb::none()}, keepdims = {"keepdims", false},
                  initial = {"initial", nb::none()}, where = {"where", nb::none()},
                  ddof = {"ddof", 0};

  using Sum = Array (*)(const Array&, const Axes&, const numpy::SumOptions&);
  const std::pair<const char*, Sum> sums[] = {{"sum", numpy::sum}, {"prod", numpy::prod}};
  for (const auto& [name, function] : sums) {
    def_function(module, name,
                 [function = function](const Array& a, const Axes& axes, OptionalDType dtype, NoOut,
                                       bool keepdims, const OptionalArray& initial,
                                       const OptionalArray& where, bool promote_integers) {
                   return function(a, axes, {{keepdims, initial, where}, dtype, promote_integers});
                 },
                 {"a", axis, dtype, out, keepdims, initial, where, {"promote_integers", true}});
  }
  const std::pair<const char*, Sum> nan_sums[] = {{"nansum", numpy::nansum},
                                                  {"nanprod", numpy::nanprod}};
  for (const auto& [name, function] : nan_sums) {
    def_function(module, name,
                 [function = function](const Array& a, const Axes& axes, OptionalDType dtype, NoOut,
                                       bool keepdims, const OptionalArray& initial,
                                       const OptionalArray& where) {
                   return function(a, axes, {{keepdims, initial, where}, dtype});
                 },
                 {"a", axis, dtype, out, keepdims, initial, where});
  }

  using Extreme = Array (*)(const Array&, const Axes&, const numpy::ExtremeOptions&);
  const std::pair<const char*, Extreme> extremes[] = {
      {"max", numpy::max},
      {"min", numpy::min},
      {"nanmax", numpy::nanmax},
      {"nanmin", numpy::nanmin},
  };
  for (const auto& [name, function] : extremes) {
    def_function(module, name,
                 [function = function](const Array& a, const Axes& axes, NoOut, bool keepdims,
                                       const OptionalArray& initial, const OptionalArray& where) {
                   return function(a, axes, {keepdims, initial, where});
                 },
                 {"a", axis, out, keepdims, initial, where});
  }

  using Test = Array (*)(const Array&, const Axes&, bool, const OptionalArray&);
  const std::pair<const char*, Test> tests[] = {{"any", numpy::any}, {"all", numpy::all}};
  for (const auto& [name, function] : tests) {
    def_function(module, name,
                 [function = function](const Array& a, const Axes& axes, NoOut, bool keepdims,
                                       const OptionalArray& where) {
                   return function(a, axes, keepdims, where);
                 },
                 {"a", axis, out, keepdims, where});
  }
  def_function(module, "ptp",
               [](const Array& a, const Axes& axes, NoOut, bool keepdims) {
                 return numpy::ptp(a, axes, keepdims);
               },
               {"a", axis, out, keepdims});
  def_function(module, "count_nonzero", numpy::count_nonzero, {"a", axis, keepdims});

  // ---- means
  const auto mean = [](auto function) {
    return [function](const Array& a, const Axes& axes, OptionalDType dtype, NoOut, bool keepdims,
                      const OptionalArray& where) {
      return function(a, axes, numpy::MeanOptions{keepdims, dtype, where});
    };
  };
  using Mean = Array (*)(const Array&, const Axes&, const numpy::MeanOptions&);
  def_function<1>(module, "mean", mean(static_cast<Mean>(numpy::mean)),
                  {"a", axis, dtype, out, keepdims, where});
  def_function(module, "nanmean", mean(static_cast<Mean>(numpy::nanmean)),
               {"a", axis, dtype, out, keepdims, where});

  using Spread = Array (*)(const Array&, const Axes&, const numpy::VarOptions&);
  const std::pair<const char*, Spread> spreads[] = {{"var", numpy::var}, {"std", numpy::std}};
  for (const auto& [name, function] : spreads) {
    def_function<3>(
        module, name,
        [name = name, function = function](const Array& a, const Axes& axes, OptionalDType dtype,
                                           NoOut, double ddof, bool keepdims,
                                           const OptionalArray& where, const OptionalArray& mean,
                                           std::optional<double> correction) {
          if (correction && ddof != 0) {
            invalid_argument(
                fmt::format("{}: ddof and correction are the same option; pass only one", name));
          }
          return function(a, axes, {{keepdims, dtype, where}, correction.value_or(ddof), mean});
        },
        {"a",
         axis,
         dtype,
         out,
         ddof,
         keepdims,
         where,
         {"mean", nb::none()},
         {"correction", nb::none()}});
  }
  const std::pair<const char*, Spread> nan_spreads[] = {{"nanvar", numpy::nanvar},
                                                        {"nanstd", numpy::nanstd}};
  for (const auto& [name, function] : nan_spreads) {
    def_function(module, name,
                 [function = function](const Array& a, const Axes& axes, OptionalDType dtype, NoOut,
                                       double ddof, bool keepdims, const OptionalArray& where,
                                       const OptionalArray& mean) {
                   return function(a, axes, {{keepdims, dtype, where}, ddof, mean});
                 },
                 {"a", axis, dtype, out, ddof, keepdims, where, {"mean", nb::none()}});
  }
  def_function(module, "average",
               [](const Array& a, const Axes& axes, const OptionalArray& weights, bool returned,
                  bool keepdims) {
                 const numpy::Average found = numpy::average(a, axes, weights, keepdims);
                 if (!returned) return to_python(found.mean);
                 return to_python(std::pair(found.mean, found.weight));
               },
               {"a", axis, {"weights", nb::none()}, {"returned", false}, keepdims});

  // ---- positions
  using Position = Array (*)(const Array&, OptionalAxis, bool);
  const std::pair<const char*, Position> positions[] = {{"argmax", numpy::argmax},
                                                        {"argmin", numpy::argmin},
                                                        {"nanargmax", numpy::nanargmax},
                                                        {"nanargmin", numpy::nanargmin}};
  for (const auto& [name, function] : positions) {
    def_function(module, name,
                 [function = function](const Array& a, OptionalAxis axis, NoOut, bool keepdims) {
                   return function(a, axis, keepdims);
                 },
                 {"a", axis, out, keepdims});
  }
}

}  // namespace farcall::python
