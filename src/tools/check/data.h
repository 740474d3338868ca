// Contents of operands: random values for inputs, patterns for memory that is not initialized.
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
  // Mixes the seed, so that the numbers of two seeds are not one sequence from two places.
  explicit Random(uint64_t seed) : state_(seed) { state_ = next(); }
  uint64_t next();
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

enum class Values : uint8_t {
  kUsual,   // floats between -1 and 1; small integers, which can serve as indices
  kSpecial  // also nan, infinities, -0 and negative integers
};

// With a range, integers of that range whatever `values` is.
std::vector<std::byte> random_values(const ShapeDtype& type, uint64_t seed,
                                     const std::optional<std::pair<int64_t, int64_t>>& range,
                                     Values values = Values::kUsual);

// All bits set, which is NaN in most floats; random bytes; the complement of those bytes; or zeros.
struct Pattern {
  enum class Kind : uint8_t { kOnes, kRandom, kComplement, kZeros };
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
// Elements in memory of this layout, from row-major order.
std::vector<std::byte> from_row_major(std::span<const std::byte> bytes, const ShapeDtype& type,
                                      const std::optional<Layout>& layout);

// Whether all elements differ by rounding only.
bool is_close(const ShapeDtype& type, std::span<const std::byte> a, std::span<const std::byte> b,
              double tolerance);

}  // namespace farcall::tools
