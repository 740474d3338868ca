#include "rule_cases.h"

#include <complex>
#include <string_view>

#include <farcall/ops/lax.h>
#include <farcall/primitives/dot_general.h>
#include <farcall/primitives/elementwise.h>
#include <farcall/primitives/reduce.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/primitives/structural.h>
#include <farcall/trace/interpreter.h>

namespace farcall::testing {

std::vector<Array> RuleCase::operator()(std::span<const Array> inputs) const {
  return bind_primitive(*find_primitive(primitive), params, inputs);
}

std::string RuleCase::description() const {
  std::string text = primitive;
  for (const Array& operand : operands) {
    text += ' ';
    text += operand.type().to_string();
  }
  return text;
}

Array spread(const Shape& shape, double low, double high) {
  int64_t size = 1;
  for (const int64_t dim : shape) size *= dim;
  std::vector<double> values;
  double x = 0.37;
  for (int64_t i = 0; i < size; ++i) {
    x = x + 0.6180339887 - (x + 0.6180339887 >= 1 ? 1 : 0);
    values.push_back(low + (high - low) * x);
  }
  return Array::of<double>(values, shape);
}

namespace {

Array complex_spread(const Shape& shape) {
  return lax::complex(spread(shape), spread(shape, -0.9, 1.1));
}

const Shape kPlane = {2, 2};

// Real numbers for which a function is defined and smooth, and samples of them.
enum class Domain { kAnywhere, kPositive, kAboveOne, kInside, kUnit };
Array numbers_in(Domain domain) {
  switch (domain) {
    case Domain::kPositive:
      return spread(kPlane, 0.4, 2.7);
    case Domain::kAboveOne:
      return spread(kPlane, 1.2, 3);
    case Domain::kInside:
      return spread(kPlane, -0.8, 0.8);
    case Domain::kUnit:
      return spread(kPlane, 0.2, 0.9);
    default:
      return spread(kPlane);
  }
}

enum Kinds { B = 1, S = 2, U = 4, F = 8, C = 16, K = 32 };

struct UnaryRow {
  const char* name;
  int kinds;
  Domain domain;
};
constexpr UnaryRow kUnary[] = {
#define FARCALL_UNARY(function, primitive, kinds, result, domain, ...) \
  {primitive, kinds, Domain::domain},
#include <farcall/ops/elementwise_list.h>
};

std::vector<RuleCase> unary_cases() {
  std::vector<RuleCase> cases;
  const auto add = [&](const char* name, const Array& x, bool is_smooth = true) {
    cases.push_back({name, nullptr, {x}, is_smooth});
  };
  for (const UnaryRow& row : kUnary) {
    if (row.kinds & F) add(row.name, numbers_in(row.domain));
    const bool is_smooth = std::string_view(row.name) != "sign";
    if (row.kinds & C) add(row.name, complex_spread(kPlane), is_smooth);
    if (row.kinds & S) add(row.name, Array::of<int32_t>({3, -5, 77, 0}, {2, 2}));
  }
  for (const char* name : {"copy", "optimization_barrier"}) add(name, spread(kPlane));
  add("stop_gradient", spread(kPlane), false);
  add("exp", spread({}));
  add("exp", spread({0, 3}));
  return cases;
}

std::vector<RuleCase> binary_cases() {
  std::vector<RuleCase> cases;
  const auto add = [&](const char* name, const Array& x, const Array& y) {
    cases.push_back({name, nullptr, {x, y}});
  };
  for (const char* name : {"add", "sub", "mul", "div", "rem", "max", "min", "atan2", "nextafter",
                           "complex", "eq", "ne", "lt", "le", "gt", "ge"}) {
    const Array x = spread(kPlane), y = spread(kPlane, 0.6, 1.9);
    add(name, x, y);
    add(name, spread({}), y);
    add(name, x, spread({}, 0.6, 1.9));
    add(name, spread({}, -2, -1), spread({}, 0.6, 1.9));
  }
  for (const Shape& shape : {Shape{}, kPlane}) {
    add("pow", spread(shape, 0.4, 2.3), spread(kPlane));
    add("pow", spread(kPlane, 0.4, 2.3), spread(shape));
    for (const char* name : {"beta", "betaln"}) {
      add(name, spread(kPlane, 0.4, 2.3), spread(shape, 0.6, 3));
    }
    // Not linear; differentiable only with respect to the second operand.
    for (const char* name : {"polygamma", "zeta"}) {
      cases.push_back({name, nullptr, {Array::scalar(2.0), spread(shape, 0.4, 2.3)}, true, 1});
    }
    for (const char* name : {"igamma", "igammac"}) {
      cases.push_back(
          {name, nullptr, {spread(kPlane, 0.4, 2.3), spread(shape, 0.3, 3)}, true, 0, false});
    }
    // Without derivatives.
    for (const char* name : {"igamma_grad_a", "random_gamma_grad"}) {
      cases.push_back({name, nullptr, {spread(kPlane, 0.4, 2.3), spread(shape, 0.3, 3)}, false, 2});
    }
    // Differentiable only with respect to the last operand.
    cases.push_back({"regularized_incomplete_beta",
                     nullptr,
                     {Array::scalar(2.0), Array::scalar(0.7), spread(shape, 0.2, 0.9)},
                     true,
                     2});
  }
  for (const char* name : {"add", "sub", "mul", "div", "pow", "eq", "ne"}) {
    add(name, complex_spread(kPlane),
        lax::add(complex_spread(kPlane), Array::scalar(std::complex<double>(2, 1))));
  }
  for (const char* name : {"and", "or", "xor", "shift_left", "shift_right_logical",
                           "shift_right_arithmetic", "add", "max", "pow", "gcd"}) {
    add(name, Array::of<int32_t>({3, -5, 77, 0}, {2, 2}), Array::of<int32_t>({1, 2, 3, 4}, {2, 2}));
    add(name, Array::scalar(6), Array::of<int32_t>({1, 2, 3, 4}, {2, 2}));
  }
  return cases;
}

std::vector<RuleCase> other_elementwise_cases() {
  std::vector<RuleCase> cases;
  for (const int64_t y : {-2, 0, 1, 2, 5}) {
    const auto params = make_params(IntegerPowParams{y});
    cases.push_back({"integer_pow", params, {spread(kPlane, 0.5, 1.5)}});
    cases.push_back({"integer_pow", params, {complex_spread(kPlane)}});
  }
  cases.push_back({"round", make_params(RoundParams{1}), {spread(kPlane)}});
  const auto to = [](DType dtype) { return make_params(ConvertElementTypeParams{dtype, false}); };
  cases.push_back({"convert_element_type", to(DType::kFloat64), {spread(kPlane)}});
  cases.push_back({"convert_element_type", to(DType::kComplex128), {spread(kPlane)}});
  cases.push_back({"convert_element_type", to(DType::kFloat64), {complex_spread(kPlane)}});
  cases.push_back({"convert_element_type", to(DType::kInt32), {spread(kPlane)}});
  cases.push_back({"bitcast_convert_type",
                   make_params(BitcastConvertTypeParams{DType::kInt64}),
                   {spread(kPlane)}});
  cases.push_back(
      {"reduce_precision", make_params(ReducePrecisionParams{11, 52}), {spread(kPlane)}});
  const Array which = Array::of<bool>({true, false, false, true}, {2, 2});
  const Array index = Array::of<int32_t>({2, 0, 1, 5}, {2, 2});
  for (const Shape& shape : {Shape{}, kPlane}) {
    for (const Array& w : {which, Array::scalar(true)}) {
      cases.push_back({"select_n", nullptr, {w, spread(shape), spread(kPlane)}});
      cases.push_back({"select_n", nullptr, {w, complex_spread(kPlane), complex_spread(shape)}});
    }
    for (const Array& w : {index, Array::scalar(1)}) {
      cases.push_back({"select_n", nullptr, {w, spread(shape), spread(kPlane), spread(shape)}});
    }
    cases.push_back({"clamp",
                     nullptr,
                     {spread(shape, -0.9, -0.2), spread(kPlane, -2, 2), spread(shape, 0.3, 0.8)}});
  }
  cases.push_back({"clamp", nullptr, {spread({}, -2, -1), spread({}), spread({}, 2, 3)}});
  return cases;
}

std::vector<RuleCase> structural_cases() {
  const Array x = spread({2, 3, 4});
  return {
      {"broadcast_in_dim", make_params(BroadcastInDimParams{{2, 5, 3}, {0, 2}}), {spread({2, 3})}},
      {"broadcast_in_dim", make_params(BroadcastInDimParams{{4, 2, 3}, {1, 2}}), {spread({1, 3})}},
      {"broadcast_in_dim", make_params(BroadcastInDimParams{{2, 3}, {}}), {spread({})}},
      {"broadcast_in_dim", make_params(BroadcastInDimParams{{2, 0}, {0}}), {spread({2})}},
      {"broadcast_in_dim", make_params(BroadcastInDimParams{{1, 3}, {0, 1}}), {spread({1, 3})}},
      {"reshape", make_params(ReshapeParams{{4, 6}}), {x}},
      {"reshape", make_params(ReshapeParams{{}}), {spread({1, 1})}},
      {"reshape", make_params(ReshapeParams{{0, 5}}), {spread({3, 0})}},
      {"transpose", make_params(TransposeParams{{2, 0, 1}}), {x}},
      {"sharding_constraint",
       make_params(ShardingConstraintParams{{{"x", 2}}, {{}, {"x"}}}),
       {spread(kPlane)}},
      {"transpose", make_params(TransposeParams{{}}), {spread({})}},
      {"slice", make_params(SliceParams{{0, 1, 0}, {2, 3, 4}, {1, 1, 1}}), {x}},
      {"slice", make_params(SliceParams{{1, 0, 1}, {2, 3, 4}, {3, 2, 2}}), {x}},
      {"slice", make_params(SliceParams{{0}, {7}, {3}}), {spread({7})}},
      {"slice", make_params(SliceParams{{1}, {7}, {3}}), {spread({9})}},
      {"slice", make_params(SliceParams{{2}, {2}, {2}}), {spread({4})}},
      {"concatenate", make_params(ConcatenateParams{1}), {x, spread({2, 1, 4}), spread({2, 0, 4})}},
      {"concatenate", make_params(ConcatenateParams{0}), {spread({3})}},
      {"rev", make_params(RevParams{{0, 2}}), {x}},
      {"rev", make_params(RevParams{{}}), {x}},
  };
}

std::vector<RuleCase> reduction_cases() {
  std::vector<RuleCase> cases;
  for (const auto& axes : std::vector<std::vector<int64_t>>{{}, {1}, {0, 2}, {0, 1, 2}}) {
    const auto params = make_params(ReduceParams{axes});
    for (const char* name : {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"}) {
      cases.push_back({name, params, {spread({2, 3, 4})}});
    }
    cases.push_back({"reduce_sum", params, {complex_spread({2, 3, 2})}});
    cases.push_back({"reduce_prod", params, {complex_spread({2, 3, 2})}});
    const Array flags = lax::gt(spread({2, 3, 4}), Array::scalar(0.0));
    cases.push_back({"reduce_and", params, {flags}});
    cases.push_back({"reduce_or", params, {flags}});
  }
  cases.push_back({"reduce_sum", make_params(ReduceParams{{0}}), {spread({0, 3})}});
  cases.push_back({"reduce_prod", make_params(ReduceParams{{0}}), {spread({0, 3})}});
  for (const int64_t axis : {0, 1, 2}) {
    const auto params = make_params(ArgReduceParams{axis, DType::kInt32});
    cases.push_back({"argmax", params, {spread({2, 3, 4})}});
    cases.push_back({"argmin", params, {spread({2, 3, 4})}});
  }
  return cases;
}

std::vector<RuleCase> product_cases() {
  const auto product = [](DotGeneralParams params, const Array& x, const Array& y) {
    return RuleCase{"dot_general", make_params(std::move(params)), {x, y}};
  };
  return {
      product({{1}, {0}, {}, {}}, spread({2, 3}), spread({3, 4})),
      product({{0}, {0}, {}, {}}, spread({3}), spread({3})),
      product({{}, {}, {}, {}}, spread({2}), spread({3})),
      product({{}, {}, {}, {}}, spread({}), spread({})),
      product({{2}, {1}, {0}, {0}}, spread({2, 3, 4}), spread({2, 4, 5})),
      // Contracted and batch dimensions in different orders.
      product({{3, 1}, {0, 2}, {2}, {1}}, spread({2, 3, 4, 5}), spread({5, 4, 3, 2})),
      product({{0}, {1}, {2, 1}, {0, 2}}, spread({2, 3, 4}), spread({4, 2, 3})),
      product({{1}, {0}, {}, {}}, spread({2, 0}), spread({0, 4})),
      product({{1}, {0}, {}, {}}, complex_spread({2, 3}), complex_spread({3, 2})),
  };
}

}  // namespace

const std::vector<RuleCase>& rule_cases() {
  static const std::vector<RuleCase> all = [] {
    std::vector<RuleCase> cases;
    for (const auto& family :
         {unary_cases(), binary_cases(), other_elementwise_cases(), structural_cases(),
          reduction_cases(), product_cases(), indexing_cases()}) {
      cases.insert(cases.end(), family.begin(), family.end());
    }
    return cases;
  }();
  return all;
}

}  // namespace farcall::testing
