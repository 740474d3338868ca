// farcall.numpy.fft and farcall.scipy.fft.
#include "bind.h"

#include <string>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/numpy/fft.h>
#include <farcall/scipy/fft.h>

#include "bound_function.h"
#include "text.h"

namespace farcall::python {

template <>
struct Argument<numpy::fft::Norm> {
  static numpy::fft::Norm from(nb::handle object, ArgumentPlace place) {
    using numpy::fft::Norm;
    const std::string name =
        PyUnicode_Check(object.ptr()) ? Argument<std::string>::from(object, place) : "";
    if (object.is_none() || name == "backward") return Norm::kBackward;
    if (name == "ortho") return Norm::kOrtho;
    if (name == "forward") return Norm::kForward;
    invalid_argument(fmt::format("{}: {} must be 'backward', 'ortho' or 'forward', got {}",
                                 place.function, place.name, repr_of(object)));
  }
};

// None and "backward", or "ortho".
struct IsOrthonormal {
  bool value;
};
template <>
struct Argument<IsOrthonormal> {
  static IsOrthonormal from(nb::handle object, ArgumentPlace place) {
    return {!object.is_none() && index_of_word(object, place, {"backward", "ortho"}) == 1};
  }
};

// The type of a cosine transform, of which only one is available.
struct CosineType {};
template <>
struct Argument<CosineType> {
  static CosineType from(nb::handle object, ArgumentPlace place) {
    const int64_t type = Argument<int64_t>::from(object, place);
    if (type == 2) return {};
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("{}: {} must be 2, got {}", place.function, place.name, type));
  }
};

void bind_fft(nb::module_& module) {
  namespace fft = numpy::fft;
  const Parameter norm = {"norm", nb::none()};
  using AlongOne = Array (*)(const Array&, fft::Size, int64_t, fft::Norm);
  const std::pair<const char*, AlongOne> one[] = {{"fft", fft::fft},   {"ifft", fft::ifft},
                                                  {"rfft", fft::rfft}, {"irfft", fft::irfft},
                                                  {"hfft", fft::hfft}, {"ihfft", fft::ihfft}};
  for (const auto& [name, function] : one) {
    def_function(module, name, function, {"a", {"n", nb::none()}, {"axis", -1}, norm});
  }
  using AlongSeveral = Array (*)(const Array&, const fft::Sizes&, const numpy::Axes&, fft::Norm);
  const auto def_several = [&](const char* name, AlongSeveral function, const nb::object& axes) {
    def_function(module, name, function, {"a", {"s", nb::none()}, {"axes", axes}, norm});
  };
  def_several("fftn", fft::fftn, nb::none());
  def_several("ifftn", fft::ifftn, nb::none());
  def_several("rfftn", fft::rfftn, nb::none());
  def_several("irfftn", fft::irfftn, nb::none());
  const nb::object last_two = nb::make_tuple(-2, -1);
  def_several("fft2", fft::fft2, last_two);
  def_several("ifft2", fft::ifft2, last_two);
  def_several("rfft2", fft::rfft2, last_two);
  def_several("irfft2", fft::irfft2, last_two);
  const Parameter dtype = {"dtype", nb::none()};
  const auto def_frequencies = [&](const char* name, auto function) {
    def_function<2>(
        module, name,
        [function](int64_t n, const Array& d, std::optional<DType> dtype, nb::handle device) {
          return to_python(function(n, d, dtype), device);
        },
        {"n", {"d", 1.0}, dtype, {"device", nb::none()}});
  };
  def_frequencies("fftfreq", fft::fftfreq);
  def_frequencies("rfftfreq", fft::rfftfreq);
  def_function(module, "fftshift", fft::fftshift, {"x", {"axes", nb::none()}});
  def_function(module, "ifftshift", fft::ifftshift, {"x", {"axes", nb::none()}});
}

void bind_scipy_fft(nb::module_& module) {
  namespace fft = scipy::fft;
  const Parameter type = {"type", 2}, norm = {"norm", nb::none()};
  const auto def_one = [&](const char* name, auto function) {
    def_function(module, name,
                 [function](const Array& x, CosineType, std::optional<int64_t> n, int64_t axis,
                            IsOrthonormal norm) { return function(x, n, axis, norm.value); },
                 {"x", type, {"n", nb::none()}, {"axis", -1}, norm});
  };
  def_one("dct", fft::dct);
  def_one("idct", fft::idct);
  const auto def_several = [&](const char* name, auto function) {
    def_function(
        module, name,
        [function](const Array& x, CosineType, const numpy::fft::Sizes& s, const numpy::Axes& axes,
                   IsOrthonormal norm) { return function(x, s, axes, norm.value); },
        {"x", type, {"s", nb::none()}, {"axes", nb::none()}, norm});
  };
  def_several("dctn", fft::dctn);
  def_several("idctn", fft::idctn);
}

}  // namespace farcall::python
