// Checks of options that foreign calls and callbacks share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <farcall/core/shape_dtype.h>

namespace farcall {

// How messages name a foreign call: ffi_call("target"). Cheap: each traced call makes it.
inline std::string call_text(std::string_view target) {
  std::string text;
  text.reserve(target.size() + 12);
  return text.append("ffi_call(\"").append(target).append("\")");
}

// Whether the types are the same, apart from weak types.
bool same_strong_types(std::span<const ShapeDtype> a, std::span<const ShapeDtype> b);

// Raises INVALID_ARGUMENT for an unknown method, listing the valid ones. `what` begins the message:
// "ffi_call("f")".
void check_vmap_method(std::string_view what, std::string_view method);

// Raises TypeError for arrays of random keys, whose words functions of other libraries get.
void check_no_keys(std::string_view what, std::span<const ShapeDtype> inputs,
                   std::span<const ShapeDtype> outputs);

// Raises INVALID_ARGUMENT for an (input, output) pair out of range, an index that is used twice, or
// a pair of different types.
void check_aliases(std::string_view what, std::span<const std::pair<int64_t, int64_t>> aliases,
                   std::span<const ShapeDtype> inputs, std::span<const ShapeDtype> outputs);

}  // namespace farcall
