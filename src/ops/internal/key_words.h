// The words of random keys: uint32[..., 2].
#pragma once

#include <span>
#include <vector>

#include <farcall/trace/array.h>

namespace farcall {

// The type of the words of keys; other types unchanged.
ShapeDtype key_words_type(ShapeDtype type);
std::vector<ShapeDtype> key_words_types(std::span<const ShapeDtype> types);
bool has_keys(std::span<const ShapeDtype> types);

Array wrap_key_words(const Array& words);
Array unwrap_key_words(const Array& keys);

}  // namespace farcall
