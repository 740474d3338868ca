// What the functions of farcall::numpy::linalg share.
#pragma once

#include <string_view>
#include <utility>

#include <farcall/trace/array.h>

namespace farcall::numpy::linalg {

// x as strong floats or complex numbers; integers become floats.
Array strong_inexact(const Array& x, std::string_view function);
// Both in one such dtype, each with its own shape.
std::pair<Array, Array> strong_inexact(const Array& x, const Array& y, std::string_view function);

}  // namespace farcall::numpy::linalg
