// farcall.scipy.signal.
#include "bind.h"

#include <optional>
#include <string>

#include <farcall/core/error.h>
#include <farcall/scipy/signal.h>

#include "bound_function.h"
#include "convolve_mode.h"

namespace farcall::python {

template <>
struct Argument<signal::Method> {
  static signal::Method from(nb::handle object, ArgumentPlace place) {
    return index_of_word(object, place, {"auto", "direct", "fft"}) == 2 ? signal::Method::kFft
                                                                        : signal::Method::kDirect;
  }
};

template <>
struct Argument<signal::Trend> {
  static signal::Trend from(nb::handle object, ArgumentPlace place) {
    return static_cast<signal::Trend>(index_of_word(object, place, {"linear", "constant"}));
  }
};

// The fill value outside of matrices, which must be zero.
struct ZerosOutside {};
template <>
struct Argument<ZerosOutside> {
  static ZerosOutside from(nb::handle object, ArgumentPlace place) {
    const nb::object wanted =
        std::string_view(place.name) == "boundary" ? nb::object(nb::str("fill")) : nb::cast(0);
    const int is_wanted = PyObject_RichCompareBool(object.ptr(), wanted.ptr(), Py_EQ);
    if (is_wanted < 0) nb::raise_python_error();
    if (is_wanted) return {};
    throw Error(
        ErrorCode::kUnimplemented,
        fmt::format("{}: only boundary='fill' with fillvalue=0 is supported", place.function));
  }
};

void bind_signal(nb::module_& module) {
  const Parameter mode = {"mode", "full"}, method = {"method", "auto"},
                  precision = {"precision", nb::none()}, boundary = {"boundary", "fill"},
                  fillvalue = {"fillvalue", 0};
  using Convolve = Array (*)(const Array&, const Array&, signal::Mode, signal::Method);
  const std::pair<const char*, Convolve> convolutions[] = {{"convolve", signal::convolve},
                                                           {"correlate", signal::correlate}};
  for (const auto& [name, function] : convolutions) {
    def_function(module, name,
                 [function = function](const Array& in1, const Array& in2, signal::Mode mode,
                                       signal::Method method, AnyPrecision precision) {
                   const PrecisionScope scope(precision);
                   return function(in1, in2, mode, method);
                 },
                 {"in1", "in2", mode, method, precision});
  }
  using OfPlanes = Array (*)(const Array&, const Array&, signal::Mode);
  const std::pair<const char*, OfPlanes> of_planes[] = {{"convolve2d", signal::convolve2d},
                                                        {"correlate2d", signal::correlate2d}};
  for (const auto& [name, function] : of_planes) {
    def_function(module, name,
                 [function = function](const Array& in1, const Array& in2, signal::Mode mode,
                                       ZerosOutside, ZerosOutside, AnyPrecision precision) {
                   const PrecisionScope scope(precision);
                   return function(in1, in2, mode);
                 },
                 {"in1", "in2", mode, boundary, fillvalue, precision});
  }
  def_function(module, "fftconvolve", signal::fftconvolve,
               {"in1", "in2", mode, {"axes", nb::none()}});
  // The last argument exists for compatibility with JAX and is ignored.
  def_function(
      module, "detrend",
      [](const Array& data, int64_t axis, signal::Trend trend,
         const std::vector<int64_t>& breakpoints, nb::handle) {
        return signal::detrend(data, {axis, trend, breakpoints});
      },
      {"data", {"axis", -1}, {"type", "linear"}, {"bp", 0}, {"overwrite_data", nb::none()}});
}

}  // namespace farcall::python
