// Reductions over dimensions. Cumulative operations are reductions over windows.
#include <array>
#include <limits>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/primitives/cumulative.h>
#include <farcall/primitives/reduce.h>

#include "stablehlo/rules.h"

namespace farcall::stablehlo {
namespace {

struct Row {
  std::string_view reduction, cumulation, operation;
};
constexpr Row kRows[] = {
    {"reduce_sum", "cumsum", "stablehlo.add"},     {"reduce_prod", "cumprod", "stablehlo.multiply"},
    {"reduce_max", "cummax", "stablehlo.maximum"}, {"reduce_min", "cummin", "stablehlo.minimum"},
    {"reduce_and", "", "stablehlo.and"},           {"reduce_or", "", "stablehlo.or"},
};

// The result of reducing no elements, as a scalar. The second value is false if the dtype has none.
std::pair<Value, bool> neutral(Emitter& e, std::string_view operation, DType dtype) {
  const ShapeDtype type(dtype, {});
  if (operation == "stablehlo.maximum") return extreme(e, type, /*is_highest=*/false);
  if (operation == "stablehlo.minimum") return extreme(e, type, /*is_highest=*/true);
  if (operation == "stablehlo.multiply") {
    if (dtype == DType::kInt1) return {Value(), false};  // it holds 0 and -1
    return {e.number(type, 1), true};
  }
  if (operation == "stablehlo.and") {
    constexpr uint64_t kOnes = ~uint64_t{0};
    if (dtype != DType::kBool && dtype_info(dtype).bits < 8) return {Value(), false};
    return {dtype == DType::kBool ? e.number(type, 1) : e.splat(type, &kOnes), true};
  }
  return {e.number(type, 0), has_zero(dtype)};
}

Rule reduce_by(std::string_view operation) {
  return [operation](Emitter& e, const Call& call) -> Values {
    const auto& axes = call.params<ReduceParams>().axes;
    if (axes.empty()) return {call.inputs[0]};
    const auto [start, is_there] = neutral(e, operation, call.dtype());
    if (!is_there) return {};
    const std::string body = reducer(e, call.dtype(), operation);
    return e.op("stablehlo.reduce", Values{call.inputs[0], start}, call.results,
                "dimensions = " + array_text(axes), std::span(&body, 1));
  };
}

// The window of an element reaches from it to the start of the dimension, or to the end if
// reversed.
Values over_windows(Emitter& e, const Call& call, const Value& start, const std::string& body) {
  const auto& p = call.params<CumulativeParams>();
  const std::vector<int64_t> ones(call.result().rank(), 1);
  ReduceWindowParams windows{.base_dilation = ones,
                             .padding = Padding(ones.size()),
                             .window_dilation = ones,
                             .window_dimensions = ones,
                             .window_strides = ones};
  const auto axis = static_cast<size_t>(p.axis);
  const int64_t size = call.result().shape()[axis];
  if (size == 0) return {call.inputs[0]};
  windows.window_dimensions[axis] = size;
  (p.reverse ? windows.padding[axis].second : windows.padding[axis].first) = size - 1;
  return e.op("stablehlo.reduce_window", Values{call.inputs[0], start}, call.results,
              windows_text(windows), std::span(&body, 1));
}

Rule cumulate_by(std::string_view operation) {
  return [operation](Emitter& e, const Call& call) -> Values {
    if (call.result().rank() == 0) return {};
    const auto [start, is_there] = neutral(e, operation, call.dtype());
    if (!is_there) return {};
    return over_windows(e, call, start, reducer(e, call.dtype(), operation));
  };
}

// log(exp(a) + exp(b)). The difference of equal infinities is NaN, so they are handled separately.
Values cumlogsumexp(Emitter& e, const Call& call) {
  const ShapeDtype type(call.dtype(), {});
  const auto [lowest, is_there] = extreme(e, type, /*is_highest=*/false);
  if (!is_there || !is_floating(call.dtype()) || call.result().rank() == 0) return {};
  const std::string body = e.region(std::array{type, type}, [&](const Values& x) -> Values {
    const Value greater = e.op("stablehlo.maximum", {x[0], x[1]}, type);
    const Value difference = e.op("stablehlo.subtract", {x[0], x[1]}, type);
    const Value size = e.op("stablehlo.abs", {difference}, type);
    const Value small =
        e.op("stablehlo.exponential", {e.op("stablehlo.negate", {size}, type)}, type);
    const Value is_infinite = e.op(
        "stablehlo.and",
        {e.compare("EQ", x[0], x[1]),
         e.op("stablehlo.not", {e.op("stablehlo.is_finite", {x[0]}, type.with_dtype(DType::kBool))},
              type.with_dtype(DType::kBool))},
        type.with_dtype(DType::kBool));
    const Value sum =
        e.op("stablehlo.add", {greater, e.op("stablehlo.log_plus_one", {small}, type)}, type);
    return {e.select(is_infinite, greater, sum)};
  });
  return over_windows(e, call, lowest, body);
}

// Reduces pairs of a value and its index to the more extreme value. NaN counts as more extreme than
// numbers; of equal values the first wins.
Rule arg_reduce(bool is_max) {
  return [is_max](Emitter& e, const Call& call) -> Values {
    const auto& p = call.params<ArgReduceParams>();
    const Value& x = call.inputs[0];
    // Places that do not fit into a narrow dtype wrap at the end only.
    const DType places_dtype = byte_width(call.dtype()) < 4 ? DType::kInt32 : call.dtype();
    const ShapeDtype type(x.type.dtype(), {}), index(places_dtype, {}), truth(DType::kBool, {});
    const auto [start, is_there] = extreme(e, type, !is_max);
    if (!is_there) return {};
    const Value places = e.op("stablehlo.iota", Values{}, x.type.with_dtype(places_dtype),
                              fmt::format("iota_dimension = {} : i64", p.axis));
    const Value zero = e.number(index, 0);
    const std::string body =
        e.region(std::array{type, index, type, index}, [&](const Values& v) -> Values {
          const auto both = [&](const Value& a, const Value& b) {
            return e.op("stablehlo.and", {a, b}, truth);
          };
          const auto either = [&](const Value& a, const Value& b) {
            return e.op("stablehlo.or", {a, b}, truth);
          };
          const Value is_nan0 = e.compare("NE", v[0], v[0]), is_nan1 = e.compare("NE", v[2], v[2]);
          const Value is_number1 = e.op("stablehlo.not", {is_nan1}, truth);
          const Value is_better =
              either(e.compare(is_max ? "GT" : "LT", v[0], v[2]), both(is_nan0, is_number1));
          const Value is_equal = either(e.compare("EQ", v[0], v[2]), both(is_nan0, is_nan1));
          const Value is_first = either(is_better, both(is_equal, e.compare("LT", v[1], v[3])));
          return {e.select(is_first, v[0], v[2]), e.select(is_first, v[1], v[3])};
        });
    const std::array results = {call.result().with_dtype(type.dtype()),
                                call.result().with_dtype(places_dtype)};
    const std::array axis = {p.axis};
    const Values reduced = e.op("stablehlo.reduce", Values{x, places, start, zero}, results,
                                "dimensions = " + array_text(axis), std::span(&body, 1));
    return {e.convert(reduced[1], call.dtype())};
  };
}

}  // namespace

std::pair<Value, bool> extreme(Emitter& e, ShapeDtype type, bool is_highest) {
  const DTypeInfo& info = dtype_info(type.dtype());
  uint64_t bits = 0;
  switch (info.kind) {
    case DTypeKind::kBool:
      return {e.number(type, is_highest ? 1 : 0), true};
    case DTypeKind::kUnsigned:
      bits = is_highest ? ~uint64_t{0} >> (64 - info.bits) : 0;
      return {e.splat(type, &bits), true};
    case DTypeKind::kSigned: {
      const int64_t highest = static_cast<int64_t>(~uint64_t{0} >> (65 - info.bits));
      const int64_t number = is_highest ? highest : -highest - 1;
      return {e.splat(type, &number), true};
    }
    case DTypeKind::kFloat: {
      // Narrower floats may lack infinities.
      if (info.bits < 16) return {Value(), false};
      const double infinity = std::numeric_limits<double>::infinity();
      return {e.number(type, is_highest ? infinity : -infinity), true};
    }
    default:
      return {Value(), false};
  }
}

std::string reducer(Emitter& e, DType dtype, std::string_view operation) {
  const ShapeDtype type(dtype, {});
  return e.region(std::array{type, type}, [&](const Values& x) {
    return Values{e.op(of_dtype(operation, dtype), x, type)};
  });
}

void add_reductions(Rules& rules) {
  for (const Row& row : kRows) {
    rules[row.reduction] = reduce_by(row.operation);
    if (!row.cumulation.empty()) rules[row.cumulation] = cumulate_by(row.operation);
  }
  rules["cumlogsumexp"] = cumlogsumexp;
  rules["argmax"] = on_bytes(arg_reduce(/*is_max=*/true));
  rules["argmin"] = on_bytes(arg_reduce(/*is_max=*/false));
}

}  // namespace farcall::stablehlo
