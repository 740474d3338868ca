// Arguments of convolutions and of reductions over windows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/ops/convolution.h>

#include "bound_function.h"
#include "convert.h"

namespace farcall::python {

// "SAME", "SAME_LOWER" or "VALID".
template <>
struct Argument<lax::PaddingKind> {
  static lax::PaddingKind from(nb::handle object, ArgumentPlace) {
    using lax::PaddingKind;
    const std::string name = PyUnicode_Check(object.ptr())
                                 ? nb::cast<std::string>(object.attr("upper")())
                                 : std::string();
    if (name == "SAME") return PaddingKind::kSame;
    if (name == "SAME_LOWER") return PaddingKind::kSameLower;
    if (name == "VALID") return PaddingKind::kValid;
    invalid_argument(
        fmt::format("padding must be 'SAME', 'SAME_LOWER' or 'VALID', got {}", repr_of(object)));
  }
};

// One pair for each dimension.
template <>
struct Argument<Padding> {
  static Padding from(nb::handle object, ArgumentPlace place) {
    Padding result;
    for (nb::handle pair : nb::iter(object)) {
      result.push_back(Argument<std::pair<int64_t, int64_t>>::from(pair, place));
    }
    return result;
  }
};

using AnyPadding = std::variant<lax::PaddingKind, Padding>;
template <>
struct Argument<AnyPadding> {
  static AnyPadding from(nb::handle object, ArgumentPlace place) {
    if (PyUnicode_Check(object.ptr())) return Argument<lax::PaddingKind>::from(object, place);
    return Argument<Padding>::from(object, place);
  }
};

using OptionalSizes = std::optional<std::vector<int64_t>>;
// One number for each of `count` dimensions; by default 1. Raises INVALID_ARGUMENT if there are not
// `count` numbers.
inline std::vector<int64_t> sizes_or_ones(const OptionalSizes& sizes, size_t count,
                                          std::string_view name) {
  if (!sizes) return std::vector<int64_t>(count, 1);
  if (sizes->size() != count) {
    invalid_argument(
        fmt::format("{} {} must be {} positive numbers", name, shape_to_string(*sizes), count));
  }
  return *sizes;
}

}  // namespace farcall::python
