// Parameters of the primitives that work on keys of random number generators.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <farcall/program/params.h>

namespace farcall {

// random_bits: for each key, an array of this shape of unsigned integers with bit_width bits (8,
// 16, 32 or 64).
struct RandomBitsParams {
  int64_t bit_width = 32;
  std::vector<int64_t> shape;
  static constexpr auto fields() {
    return std::tuple(field("bit_width", &RandomBitsParams::bit_width),
                      field("shape", &RandomBitsParams::shape));
  }
};

// random_split: for each key, an array of new keys of this shape.
struct RandomSplitParams {
  std::vector<int64_t> shape;
  static constexpr auto fields() { return std::tuple(field("shape", &RandomSplitParams::shape)); }
};

// random_wrap: the words of keys, uint32[..., 2], as an array of keys. "fry" is threefry2x32.
struct RandomWrapParams {
  std::string impl = "fry";
  static constexpr auto fields() { return std::tuple(field("impl", &RandomWrapParams::impl)); }
};

}  // namespace farcall
