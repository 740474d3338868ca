// Resizing of images (namespace farcall::image): resampling of arrays along dimensions.
//
// All raise Error (INVALID_ARGUMENT) naming the function if the rank of the shape is not that of
// the image.
#pragma once

#include <cstdint>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::image {

// The interpolation kernel; cubic is Keys' kernel with a = -0.5.
enum class ResizeMethod { kNearest, kLinear, kLanczos3, kLanczos5, kCubic };
// The method with this name or alias: nearest, linear, cubic, lanczos3, lanczos5, …
FARCALL_API ResizeMethod parse_resize_method(std::string_view name);

// Resamples the image to another shape; the edges stay aligned. If `antialias`, the kernel is
// widened where the image shrinks. Integers become float32, except for kNearest.
FARCALL_API Array resize(const Array& image, ListOf<int64_t> shape, ResizeMethod method,
                         bool antialias = true);

// Scales and translates the image along some dimensions, with one factor and one offset for each:
// position x moves to x scale + translation. Positions are measured from the edge of the first
// sample, in units of one sample. The image is zero outside its bounds. Not for kNearest.
FARCALL_API Array scale_and_translate(const Array& image, ListOf<int64_t> shape,
                                      ListOf<int64_t> spatial_dims, const Array& scale,
                                      const Array& translation, ResizeMethod method,
                                      bool antialias = true);

}  // namespace farcall::image
