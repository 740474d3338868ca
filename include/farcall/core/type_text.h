// Types of several arrays as text.
#pragma once

#include <span>
#include <string>

#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>

namespace farcall {

// "f32[2,3], i32[]"
FARCALL_API std::string types_to_string(std::span<const ShapeDtype> types);

}  // namespace farcall
