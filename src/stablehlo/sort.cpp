// sort and top_k; their orders are written as comparisons.
#include <array>
#include <limits>

#include <fmt/format.h>

#include <farcall/primitives/cumulative.h>

#include "stablehlo/rules.h"

namespace farcall::stablehlo {
namespace {

// The numbers that order a key: itself, or the parts of a complex number.
Values parts_of(Emitter& e, const Value& key) {
  if (!is_complex(key.type.dtype())) return {key};
  const ShapeDtype part = part_of(key.type);
  return {e.op("stablehlo.real", {key}, part), e.op("stablehlo.imag", {key}, part)};
}

// Whether a is less than b in lexicographic order. NaN is greater than all numbers.
Value is_below(Emitter& e, const Values& a, const Values& b) {
  const ShapeDtype truth(DType::kBool, {});
  Value result;
  for (size_t i = a.size(); i > 0; --i) {
    const Value &x = a[i - 1], &y = b[i - 1];
    Value below = e.compare("LT", x, y), same = e.compare("EQ", x, y);
    if (is_floating(x.type.dtype())) {
      const Value is_nan_x = e.compare("NE", x, x), is_nan_y = e.compare("NE", y, y);
      const Value is_number_x = e.op("stablehlo.not", {is_nan_x}, truth);
      below = e.op("stablehlo.or", {below, e.op("stablehlo.and", {is_number_x, is_nan_y}, truth)},
                   truth);
      same =
          e.op("stablehlo.or", {same, e.op("stablehlo.and", {is_nan_x, is_nan_y}, truth)}, truth);
    }
    result =
        result.name.empty()
            ? below
            : e.op("stablehlo.or", {below, e.op("stablehlo.and", {same, result}, truth)}, truth);
  }
  return result;
}

Values sort(Emitter& e, const Call& call) {
  const auto& p = call.params<SortParams>();
  if (call.result().rank() == 0) return {call.inputs.begin(), call.inputs.end()};
  std::vector<ShapeDtype> types;
  for (const Value& input : call.inputs) {
    // XLA's CPU compiler does not sort packed elements.
    if (dtype_info(input.type.dtype()).bits < 8) return {};
    types.insert(types.end(), 2, ShapeDtype(input.type.dtype(), {}));
  }
  const std::string body = e.region(types, [&](const Values& pairs) -> Values {
    Values first, second;
    for (size_t i = 0; i < static_cast<size_t>(p.num_keys); ++i) {
      for (Value& part : parts_of(e, pairs[2 * i])) first.push_back(std::move(part));
      for (Value& part : parts_of(e, pairs[2 * i + 1])) second.push_back(std::move(part));
    }
    return {is_below(e, first, second)};
  });
  return e.op("stablehlo.sort", call.inputs, call.results,
              fmt::format("dimension = {} : i64, is_stable = true", p.dimension),
              std::span(&body, 1));
}

}  // namespace

// Sorts in the total order of IEEE 754, in which 0.0 is above -0.0. NaNs are given a positive sign
// first, which puts them above all numbers.
Values top_k(Emitter& e, const Call& call) {
  const auto& p = call.params<TopKParams>();
  Value x = call.inputs[0];
  const DType dtype = x.type.dtype();
  if (dtype_info(dtype).bits < 8) return {};
  std::string compare = "comparison_direction = #stablehlo<comparison_direction GT>";
  if (is_floating(dtype)) {
    const Value nan = e.number(ShapeDtype(dtype, {}), std::numeric_limits<double>::quiet_NaN());
    x = e.select(e.compare("NE", x, x), e.broadcast(nan, x.type.shape()), x);
    compare += ", compare_type = #stablehlo<comparison_type TOTALORDER>";
  }
  const ShapeDtype places = x.type.with_dtype(DType::kInt32);
  const Value iota =
      e.op("stablehlo.iota", Values{}, places, fmt::format("iota_dimension = {} : i64", p.axis));
  const ShapeDtype element(dtype, {}), place(DType::kInt32, {});
  const std::string body =
      e.region(std::array{element, element, place, place}, [&](const Values& pairs) -> Values {
        return {
            e.op("stablehlo.compare", {pairs[0], pairs[1]}, ShapeDtype(DType::kBool, {}), compare)};
      });
  const Values sorted =
      e.op("stablehlo.sort", Values{x, iota}, std::array{x.type, places},
           fmt::format("dimension = {} : i64, is_stable = true", p.axis), std::span(&body, 1));
  const std::vector<int64_t> zeros(x.type.rank(), 0), ones(x.type.rank(), 1);
  Values results;
  for (size_t i = 0; i < sorted.size(); ++i) {
    results.push_back(e.op("stablehlo.slice", {sorted[i]}, call.results[i],
                           slice_text(zeros, call.results[i].shape(), ones)));
  }
  return results;
}

void add_sort(Rules& rules) {
  rules["sort"] = sort;
  rules["top_k"] = top_k;
}

}  // namespace farcall::stablehlo
