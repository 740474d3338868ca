#include "ops/testing/elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>

#include "core/internal/visit_dtype.h"

namespace farcall::testing::detail {
namespace {

using farcall::detail::kIsComplex;
using farcall::detail::load;
using farcall::detail::store;
using farcall::detail::visit_dtype;

template <class T>
Number to_number(T value) {
  if constexpr (kIsComplex<T>) {
    return {static_cast<double>(value.real()), static_cast<double>(value.imag())};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

template <class T>
T from_number(Number number) {
  if constexpr (kIsComplex<T>) {
    using Part = typename T::value_type;
    return {static_cast<Part>(number.real()), static_cast<Part>(number.imag())};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(number.real());
  } else {
    return T(static_cast<float>(number.real()));
  }
}

bool is_nan(Number number) { return std::isnan(number.real()) || std::isnan(number.imag()); }

double beyond(double distance, double size, const Tolerance& tolerance) {
  const double off = distance - (tolerance.atol + tolerance.rtol * size);
  return std::isnan(off) ? INFINITY : off;
}

template <class T>
double excess_of(T got, T wanted, const Tolerance& tolerance) {
  if constexpr (std::is_integral_v<T>) {
    if (got == wanted) return -1;
    const auto high = static_cast<uint64_t>(std::max(got, wanted));
    const auto low = static_cast<uint64_t>(std::min(got, wanted));
    return beyond(static_cast<double>(high - low), std::abs(static_cast<double>(wanted)),
                  tolerance);
  } else {
    const Number a = to_number(got), b = to_number(wanted);
    if (a == b || (is_nan(a) && is_nan(b))) return -1;
    return beyond(std::abs(a - b), std::abs(b), tolerance);
  }
}

}  // namespace

double epsilon_of(DType dtype) {
  if (!is_inexact(dtype)) return 0;
  return visit_dtype(dtype, [](auto sample) -> double {
    using T = decltype(sample);
    if constexpr (kIsComplex<T>) {
      return std::numeric_limits<typename T::value_type>::epsilon();
    } else if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<double>(std::numeric_limits<T>::epsilon());
    } else {
      float epsilon = 1;
      while (static_cast<float>(T(1 + epsilon / 2)) != 1) epsilon /= 2;
      return epsilon;
    }
  });
}

double epsilon_of(std::span<const Array> arrays) {
  double epsilon = 0;
  for (const Array& x : arrays) epsilon = std::max(epsilon, epsilon_of(x.dtype()));
  return epsilon;
}

std::vector<Number> numbers_of(const Array& x) {
  std::vector<Number> numbers(static_cast<size_t>(x.size()));
  const auto* element = static_cast<const std::byte*>(x.data());
  visit_dtype(x.dtype(), [&](auto sample) {
    using T = decltype(sample);
    for (Number& number : numbers) {
      number = to_number(load<T>(element));
      element += sizeof(T);
    }
  });
  return numbers;
}

Array array_of(std::span<const Number> numbers, ShapeDtype type) {
  Storage storage = Storage::allocate(type.nbytes());
  auto* element = static_cast<std::byte*>(storage.data());
  visit_dtype(type.dtype(), [&](auto sample) {
    using T = decltype(sample);
    for (const Number& number : numbers) {
      store(from_number<T>(number), element);
      element += sizeof(T);
    }
  });
  return {type, std::move(storage)};
}

Array strengthened(const Array& x) {
  return x.type().weak_type() ? Array(x.type().strengthened(), x.storage()) : x;
}

Array stacked(std::span<const Array> arrays, int64_t axis) {
  const ShapeDtype part = arrays[0].type();
  const auto rank = static_cast<int64_t>(part.rank()) + 1;
  if (axis < -rank || axis >= rank) {
    invalid_argument(fmt::format("axis {} is out of range for a batch of {}, which has rank {}",
                                 axis, part.to_string(), rank));
  }
  Shape shape(part.shape().begin(), part.shape().end());
  const auto place = shape.begin() + (axis < 0 ? axis + rank : axis);
  const int64_t num_rows =
      std::accumulate(shape.begin(), place, int64_t{1}, std::multiplies<int64_t>());
  shape.insert(place, static_cast<int64_t>(arrays.size()));
  const ShapeDtype type = part.with_shape(shape);
  Storage storage = Storage::allocate(type.nbytes());
  auto* out = static_cast<std::byte*>(storage.data());
  const size_t row = part.size() == 0 ? 0 : part.nbytes() / static_cast<size_t>(num_rows);
  for (size_t first = 0; first < part.nbytes(); first += row) {
    for (const Array& x : arrays) {
      std::memcpy(out, static_cast<const std::byte*>(x.data()) + first, row);
      out += row;
    }
  }
  return {type, std::move(storage)};
}

double excess(double got, double wanted, const Tolerance& tolerance) {
  return excess_of(got, wanted, tolerance);
}

double excess(DType dtype, const std::byte* got, const std::byte* wanted,
              const Tolerance& tolerance) {
  if (is_key(dtype)) return std::memcmp(got, wanted, byte_width(dtype)) == 0 ? -1 : INFINITY;
  return visit_dtype(dtype, [&](auto sample) {
    using T = std::conditional_t<std::is_same_v<decltype(sample), bool>, uint8_t, decltype(sample)>;
    return excess_of(load<T>(got), load<T>(wanted), tolerance);
  });
}

std::vector<int64_t> index_of(int64_t element, std::span<const int64_t> shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; element /= shape[d]) index[d] = element % shape[d];
  return index;
}

std::string element_name(const std::string& name, int64_t element, std::span<const int64_t> shape) {
  if (shape.empty()) return name;
  return fmt::format("{}[{}]", name, fmt::join(index_of(element, shape), ", "));
}

}  // namespace farcall::testing::detail
