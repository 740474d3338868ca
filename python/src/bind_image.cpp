// farcall.image, farcall.scipy.ndimage.
#include "bind.h"

#include <fmt/format.h>

#include <farcall/nn/image.h>
#include <farcall/scipy/ndimage.h>

#include "bound_function.h"
#include "text.h"

namespace farcall::python {

// A name, or a member of Python's ResizeMethod, whose values equal those of the C++ enumeration.
template <>
struct Argument<image::ResizeMethod> {
  static image::ResizeMethod from(nb::handle object, ArgumentPlace place) {
    if (PyUnicode_Check(object.ptr())) {
      return image::parse_resize_method(Argument<std::string>::from(object, place));
    }
    nb::object type = nb::module_::import_("farcall.image").attr("ResizeMethod");
    if (!nb::isinstance(object, type)) {
      throw TypeError(fmt::format("{}: method must be a name or a ResizeMethod, got {}",
                                  place.function, repr_of(object)));
    }
    return static_cast<image::ResizeMethod>(nb::cast<int>(nb::object(object.attr("value"))));
  }
};

void bind_image(nb::module_& module) {
  using Sizes = std::vector<int64_t>;
  const Parameter antialias = {"antialias", true}, precision = {"precision", nb::none()};
  def_function(module, "resize",
               [](const Array& image, const Sizes& shape, image::ResizeMethod method,
                  bool antialias, AnyPrecision precision) {
                 const PrecisionScope scope(precision);
                 return image::resize(image, shape, method, antialias);
               },
               {"image", "shape", "method", antialias, precision});
  def_function(
      module, "scale_and_translate",
      [](const Array& image, const Sizes& shape, const Sizes& spatial_dims, const Array& scale,
         const Array& translation, image::ResizeMethod method, bool antialias,
         AnyPrecision precision) {
        const PrecisionScope scope(precision);
        return image::scale_and_translate(image, shape, spatial_dims, scale, translation, method,
                                          antialias);
      },
      {"image", "shape", "spatial_dims", "scale", "translation", "method", antialias, precision});
  def_function(
      module, "_parse_resize_method",
      [](const std::string& name) { return static_cast<int>(image::parse_resize_method(name)); },
      {"name"});
  def_function(module, "map_coordinates",
               [](const Array& input, const std::vector<Array>& coordinates, int64_t order,
                  const std::string& mode, const Array& cval) {
                 return ndimage::map_coordinates(input, coordinates, order, mode, cval);
               },
               {"input", "coordinates", "order", {"mode", "constant"}, {"cval", 0.0}});
}

}  // namespace farcall::python
