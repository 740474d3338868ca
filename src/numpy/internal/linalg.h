// Helpers of farcall::numpy::linalg.
#pragma once

#include <string_view>
#include <utility>

#include <farcall/trace/array.h>

namespace farcall::numpy::linalg {

// x as strongly typed floats or complex numbers; integers become floats.
Array strong_inexact(const Array& x, std::string_view function);
// Promotes both to one such dtype; each keeps its shape.
std::pair<Array, Array> strong_inexact(const Array& x, const Array& y, std::string_view function);

}  // namespace farcall::numpy::linalg
