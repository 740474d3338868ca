// Resizing of images (namespace farcall::image): arrays whose dimensions are sampled anew.
//
// Raise Error (INVALID_ARGUMENT) naming the function for a shape of another rank than the image's.
#pragma once

#include <cstdint>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::image {

// How a new sample follows from its neighbours; cubic is Keys' kernel with a = -0.5.
enum class ResizeMethod { kNearest, kLinear, kLanczos3, kLanczos5, kCubic };
// The method of this name: nearest, linear, cubic, lanczos3, lanczos5, and other names of these.
FARCALL_API ResizeMethod parse_resize_method(std::string_view name);

// The image in another shape, its edges kept. The kernel grows where the image shrinks if
// `antialias`. Integers become float32, but for kNearest.
FARCALL_API Array resize(const Array& image, ListOf<int64_t> shape, ResizeMethod method,
                         bool antialias = true);

// The image scaled and moved along some dimensions, with a factor and a distance for each: the
// sample at place x goes to x scale + translation. Places are counted from the edge of the first
// sample and a sample has size one. Outside of the image is zero. Not for kNearest.
FARCALL_API Array scale_and_translate(const Array& image, ListOf<int64_t> shape,
                                      ListOf<int64_t> spatial_dims, const Array& scale,
                                      const Array& translation, ResizeMethod method,
                                      bool antialias = true);

}  // namespace farcall::image
