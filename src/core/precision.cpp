#include <farcall/core/precision.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"default", "high", "highest"};

}  // namespace

std::string_view precision_name(Precision precision) {
  return kNames[static_cast<size_t>(precision)];
}

Precision precision_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    invalid_argument(fmt::format("precision must be default, high or highest, got \"{}\"", name));
  }
  return static_cast<Precision>(found - kNames.begin());
}

// 0 for none, else 1 more than the number of the pair.
unsigned precision_flag(std::optional<OperandPrecisions> precision) {
  if (!precision) return 0;
  return 1 + static_cast<unsigned>(precision->first) * kNames.size() +
         static_cast<unsigned>(precision->second);
}

std::optional<OperandPrecisions> default_precision() {
  const unsigned value = flag_value(Flag::kMatmulPrecision);
  if (value == 0) return std::nullopt;
  return OperandPrecisions{static_cast<Precision>((value - 1) / kNames.size()),
                           static_cast<Precision>((value - 1) % kNames.size())};
}

PrecisionScope::PrecisionScope(std::optional<OperandPrecisions> precision) {
  if (precision) scope_.emplace(Flag::kMatmulPrecision, precision_flag(precision));
}

}  // namespace farcall
