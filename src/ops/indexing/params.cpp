// Conversion of indexing parameters to and from the values in program text.
#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/primitives/indexing.h>

namespace farcall {
namespace {

struct ModeName {
  std::string_view name;
  GatherScatterMode mode;
};
// A mode is printed with its first name.
constexpr ModeName kModeNames[] = {
    {"clip", GatherScatterMode::kClip},
    {"fill_or_drop", GatherScatterMode::kFillOrDrop},
    {"fill", GatherScatterMode::kFillOrDrop},
    {"drop", GatherScatterMode::kFillOrDrop},
    {"promise_in_bounds", GatherScatterMode::kPromiseInBounds},
};

}  // namespace

Value to_value(const PaddingDimension& v) {
  return ValueList{to_value(v.low), to_value(v.high), to_value(v.interior)};
}

void from_value(const Value& value, PaddingDimension& out) {
  const ValueList& list = detail::list_of(value, 3);
  from_value(list[0], out.low);
  from_value(list[1], out.high);
  from_value(list[2], out.interior);
}

size_t hash_of(const PaddingDimension& v) {
  return detail::hash_of(std::vector<int64_t>{v.low, v.high, v.interior});
}

std::string_view mode_name(GatherScatterMode mode) {
  for (const ModeName& row : kModeNames) {
    if (row.mode == mode) return row.name;
  }
  return "";
}

GatherScatterMode parse_mode(std::string_view name) {
  for (const ModeName& row : kModeNames) {
    if (row.name == name) return row.mode;
  }
  invalid_argument(
      fmt::format("mode must be clip, fill, drop or promise_in_bounds; got \"{}\"", name));
}

Value to_value(GatherScatterMode v) { return std::string(mode_name(v)); }

void from_value(const Value& value, GatherScatterMode& out) {
  std::string name;
  from_value(value, name);
  out = parse_mode(name);
}

Shape window_sizes(const ScatterParams& params, const ShapeDtype& operand,
                   const ShapeDtype& updates) {
  Shape sizes(operand.rank(), 1);
  size_t next = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto is_in = [&](const std::vector<int64_t>& dims) {
      return std::ranges::find(dims, static_cast<int64_t>(i)) != dims.end();
    };
    if (is_in(params.inserted_window_dims) || is_in(params.operand_batching_dims)) continue;
    sizes[i] = updates.shape()[static_cast<size_t>(params.update_window_dims[next++])];
  }
  return sizes;
}

}  // namespace farcall
