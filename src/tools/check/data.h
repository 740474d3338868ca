// Contents of operands: random values for inputs, patterns for memory that is not initialised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/layout.h>
#include <farcall/core/shape_dtype.h>

namespace farcall::tools {

// A fast generator: gives the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 0x1234567) {}
  uint64_t next();
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

// Floats between -1 and 1; or small integers, which can serve as indices; or integers in `range`.
std::vector<std::byte> random_values(const ShapeDtype& type, uint64_t seed,
                                     const std::optional<std::pair<int64_t, int64_t>>& range);

// All bits set, which is NaN in most floats; random bytes; or the complement of those bytes.
struct Pattern {
  enum class Kind : uint8_t { kOnes, kRandom, kComplement };
  Kind kind = Kind::kOnes;
  uint64_t seed = 0;
  bool operator==(const Pattern&) const = default;
};
void fill(std::span<std::byte> bytes, const Pattern& pattern);

// The index of an element as text: "[2,3]".
std::string element_position(const ShapeDtype& type, const std::optional<Layout>& layout,
                             size_t element);

// Elements in row-major order, from memory of this layout.
std::vector<std::byte> to_row_major(std::span<const std::byte> bytes, const ShapeDtype& type,
                                    const std::optional<Layout>& layout);

// Whether all elements differ by rounding only.
bool is_close(const ShapeDtype& type, std::span<const std::byte> a, std::span<const std::byte> b,
              double tolerance);

}  // namespace farcall::tools
