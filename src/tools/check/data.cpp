#include "tools/check/data.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <iterator>
#include <limits>

#include <farcall/core/element_number.h>

namespace farcall::tools {
namespace {

void write_real(DType dtype, double value, std::byte* out) {
  if (!convert_element(DType::kFloat64, &value, dtype, out)) {
    value = 1;  // the smallest formats have few values
    if (!convert_element(DType::kFloat64, &value, dtype, out))
      std::memset(out, 0, byte_width(dtype));
  }
}

std::complex<double> read_number(DType dtype, const std::byte* from) {
  std::complex<double> value;
  return convert_element(dtype, from, DType::kComplex128, &value) ? value
                                                                  : std::complex<double>(NAN, 0);
}

std::vector<int64_t> strides(const ShapeDtype& type, const std::optional<Layout>& layout) {
  return strides_of(type.shape(), layout ? *layout : row_major(type.rank()));
}

std::vector<std::byte> reordered(std::span<const std::byte> bytes, const ShapeDtype& type,
                                 const std::optional<Layout>& from,
                                 const std::optional<Layout>& to) {
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  const size_t width = byte_width(type.dtype());
  const auto row_major = strides(type, std::nullopt), sources = strides(type, from),
             targets = strides(type, to);
  if (sources == targets) return out;
  for (int64_t element = 0; element < type.size(); ++element) {
    int64_t source = 0, target = 0;
    for (size_t d = 0; d < type.rank(); ++d) {
      const int64_t index = element / row_major[d] % type.shape()[d];
      source += index * sources[d];
      target += index * targets[d];
    }
    std::memcpy(out.data() + static_cast<size_t>(target) * width,
                bytes.data() + static_cast<size_t>(source) * width, width);
  }
  return out;
}

}  // namespace

uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t x = state_;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::vector<std::byte> random_values(const ShapeDtype& type, uint64_t seed,
                                     const std::optional<std::pair<int64_t, int64_t>>& range,
                                     Values values) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity,
                                 -0.0};
  std::vector<std::byte> bytes(type.nbytes());
  const size_t width = byte_width(type.dtype());
  Random random(seed);
  const auto& info = dtype_info(type.dtype());
  for (size_t i = 0; i < bytes.size(); i += width) {
    const double u = random.uniform();
    const bool is_special = values == Values::kSpecial && random.uniform() < 0.5;
    std::byte* out = bytes.data() + i;
    if (range) {
      const auto count = static_cast<double>(range->second - range->first + 1);
      write_real(type.dtype(), static_cast<double>(range->first) + std::floor(u * count), out);
    } else if (is_special && is_floating(type.dtype())) {
      write_real(type.dtype(), kSpecial[random.next() % std::size(kSpecial)], out);
    } else if (is_special && is_complex(type.dtype())) {
      const std::complex<double> value(kSpecial[random.next() % std::size(kSpecial)], 2 * u - 1);
      convert_element(DType::kComplex128, &value, type.dtype(), out);
    } else if (is_special && info.kind == DTypeKind::kSigned) {
      write_real(type.dtype(), -std::floor(u * (info.bits < 8 ? 2 : 10)), out);
    } else if (info.kind == DTypeKind::kFloat && info.bits >= 16) {
      // Uses many bits: halves and quarters would sum up without rounding.
      if (type.dtype() == DType::kFloat32) {
        const auto value = static_cast<float>(2 * u - 1);
        std::memcpy(out, &value, sizeof(value));
      } else {
        write_real(type.dtype(), std::round((2 * u - 1) * 1024) / 1024, out);
      }
    } else if (info.kind == DTypeKind::kComplex) {
      const std::complex<double> value(2 * u - 1, 2 * random.uniform() - 1);
      convert_element(DType::kComplex128, &value, type.dtype(), out);
    } else if (info.kind == DTypeKind::kBool || info.bits < 4) {
      *out = static_cast<std::byte>(u < 0.5 ? 0 : 1);
    } else {
      write_real(type.dtype(), std::floor(u * (info.bits < 8 ? 4 : 10)), out);
    }
  }
  return bytes;
}

void fill(std::span<std::byte> bytes, const Pattern& pattern) {
  if (pattern.kind == Pattern::Kind::kOnes || pattern.kind == Pattern::Kind::kZeros) {
    const int byte = pattern.kind == Pattern::Kind::kOnes ? 0xff : 0;
    if (!bytes.empty()) std::memset(bytes.data(), byte, bytes.size());
    return;
  }
  Random random(pattern.seed);
  const uint64_t flip = pattern.kind == Pattern::Kind::kComplement ? ~uint64_t{0} : 0;
  for (size_t i = 0; i < bytes.size(); i += 8) {
    const uint64_t word = random.next() ^ flip;
    std::memcpy(bytes.data() + i, &word, std::min<size_t>(8, bytes.size() - i));
  }
}

std::string element_position(const ShapeDtype& type, const std::optional<Layout>& layout,
                             size_t element) {
  const auto steps = strides(type, layout);
  std::vector<int64_t> index;
  for (size_t d = 0; d < type.rank(); ++d)
    index.push_back(
        type.shape()[d] == 0 ? 0 : static_cast<int64_t>(element) / steps[d] % type.shape()[d]);
  return shape_to_string(index);
}

std::vector<std::byte> to_row_major(std::span<const std::byte> bytes, const ShapeDtype& type,
                                    const std::optional<Layout>& layout) {
  return reordered(bytes, type, layout, std::nullopt);
}

std::vector<std::byte> from_row_major(std::span<const std::byte> bytes, const ShapeDtype& type,
                                      const std::optional<Layout>& layout) {
  return reordered(bytes, type, std::nullopt, layout);
}

bool is_close(const ShapeDtype& type, std::span<const std::byte> a, std::span<const std::byte> b,
              double tolerance) {
  const DType dtype = type.dtype();
  if (!is_floating(dtype) && !is_complex(dtype)) return std::ranges::equal(a, b);
  double largest = 0, difference = 0;
  for (size_t i = 0; i < a.size(); i += byte_width(dtype)) {
    if (std::memcmp(a.data() + i, b.data() + i, byte_width(dtype)) == 0) continue;
    const auto x = read_number(dtype, a.data() + i), y = read_number(dtype, b.data() + i);
    if (std::isnan(std::abs(x)) && std::isnan(std::abs(y))) continue;
    const bool is_finite = std::isfinite(std::abs(x)), is_other_finite = std::isfinite(std::abs(y));
    // Which part of a complex number is infinite or nan depends on the formula.
    if (is_complex(dtype) && !is_finite && !is_other_finite) continue;
    if (!is_finite || !is_other_finite) return false;
    largest = std::max({largest, std::abs(x), std::abs(y)});
    difference = std::max(difference, std::abs(x - y));
  }
  return difference <= tolerance * largest;
}

}  // namespace farcall::tools
