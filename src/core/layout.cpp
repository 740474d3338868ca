#include <farcall/core/layout.h>

#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace farcall {

Layout row_major(size_t rank) {
  Layout layout{std::vector<int64_t>(rank)};
  std::iota(layout.major_to_minor.begin(), layout.major_to_minor.end(), 0);
  return layout;
}

bool is_row_major(const Layout& layout) {
  for (size_t i = 0; i < layout.major_to_minor.size(); ++i) {
    if (layout.major_to_minor[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

bool is_permutation(std::span<const int64_t> values) {
  std::vector<bool> seen(values.size(), false);
  for (const int64_t value : values) {
    if (value < 0 || value >= static_cast<int64_t>(values.size()) || seen[value]) return false;
    seen[value] = true;
  }
  return true;
}

std::vector<int64_t> inverse_permutation(std::span<const int64_t> permutation) {
  std::vector<int64_t> inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = static_cast<int64_t>(i);
  return inverse;
}

std::vector<int64_t> strides_of(std::span<const int64_t> shape, const Layout& layout) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    const int64_t axis = layout.major_to_minor[i];
    strides[axis] = stride;
    // Only the dimensions of an empty array can overflow here, and its strides are never used.
    if (__builtin_mul_overflow(stride, shape[axis], &stride)) stride = 0;
  }
  return strides;
}

std::string layout_to_string(const Layout& layout) {
  return fmt::format("({})", fmt::join(layout.major_to_minor, ", "));
}

}  // namespace farcall
