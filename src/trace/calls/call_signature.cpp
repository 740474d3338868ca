#include <farcall/trace/call_signature.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/program/params.h>
#include <farcall/trace/varying.h>

#include "trace/internal/axis_tracking.h"

namespace farcall::detail {

std::atomic<uint64_t> definition_changes{0};

void CallSignature::add_varying_axes(std::span<const Array> array_arguments) {
  const AxisTracking* const tracking = AxisTracking::current();
  if (!tracking) return;
  const std::string name = fmt::format("varying over {}", fmt::join(tracking->axes(), ", "));
  axes.emplace_back(name, static_cast<int64_t>(tracking->diverging()));
  for (const Array& array : array_arguments) {
    axes.emplace_back(name, static_cast<int64_t>(varying_axes(array)));
  }
}

bool CallSignature::operator==(const CallSignature& other) const {
  return config == other.config && types == other.types && axes == other.axes &&
         arguments == other.arguments;
}

size_t CallSignature::hash() const {
  size_t hash = arguments.hash();
  mix(hash, config);
  for (const ShapeDtype& type : types) mix(hash, type.hash());
  return hash;
}

}  // namespace farcall::detail
