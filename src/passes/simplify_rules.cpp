// The rules of simplify. Results stay identical bit by bit: no rule removes arithmetic that would
// make a signaling NaN quiet, or change the sign of a zero.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <farcall/core/error.h>
#include <farcall/primitives/elementwise.h>
#include <farcall/primitives/indexing.h>
#include <farcall/primitives/structural.h>

#include "passes/simplify.h"

namespace farcall {
namespace {

Simpler value(Atom atom) { return {.value = atom, .equation = {}}; }

// The outer equation with other parameters, reading the operand of the inner one.
template <class P>
Simpler composed(const Simplifier& program, const Equation& inner, const Equation& outer,
                 P params) {
  Equation equation = outer;
  equation.params = make_params(std::move(params));
  equation.inputs = {program.input(inner, 0)};
  return {.value = {}, .equation = std::move(equation)};
}

// The equation that defines the operand, if it has the same primitive.
const Equation* same_inside(const Simplifier& program, const Equation& equation) {
  const Equation* inner = program.definition(program.input(equation, 0));
  return inner && inner->primitive == equation.primitive ? inner : nullptr;
}

// ---- operations that do nothing if the type stays the same

// `operand`: the number of the one that is the result.
Simpler if_same_type(const Simplifier& program, const Equation& equation, size_t operand) {
  const Atom from = program.input(equation, operand);
  const bool is_same =
      program.type_of(from) == program.type_of(Atom::variable(equation.outputs[0]));
  return is_same ? value(from) : Simpler();
}

Simpler same_type(const Simplifier& program, const Equation& equation) {
  return equation.inputs.size() == 1 ? if_same_type(program, equation, 0) : Simpler();
}

Simpler reshape(const Simplifier& program, const Equation& equation) {
  if (Simpler same = same_type(program, equation); same.value) return same;
  const Equation* inner = same_inside(program, equation);
  return inner
             ? composed(program, *inner, equation, params_as<ReshapeParams>(equation.params.get()))
             : Simpler();
}

Simpler broadcast_in_dim(const Simplifier& program, const Equation& equation) {
  if (Simpler same = same_type(program, equation); same.value) return same;
  const Equation* inner = same_inside(program, equation);
  if (!inner) return {};
  BroadcastInDimParams p = params_as<BroadcastInDimParams>(equation.params.get());
  std::vector<int64_t> dimensions;
  for (const int64_t d :
       params_as<BroadcastInDimParams>(inner->params.get()).broadcast_dimensions) {
    dimensions.push_back(p.broadcast_dimensions[static_cast<size_t>(d)]);
  }
  p.broadcast_dimensions = std::move(dimensions);
  return composed(program, *inner, equation, std::move(p));
}

Simpler transpose(const Simplifier& program, const Equation& equation) {
  TransposeParams p = params_as<TransposeParams>(equation.params.get());
  if (std::ranges::is_sorted(p.permutation)) return value(program.input(equation, 0));
  const Equation* inner = same_inside(program, equation);
  if (!inner) return {};
  const auto& first = params_as<TransposeParams>(inner->params.get()).permutation;
  for (int64_t& dimension : p.permutation) dimension = first[static_cast<size_t>(dimension)];
  if (std::ranges::is_sorted(p.permutation)) return value(program.input(*inner, 0));
  return composed(program, *inner, equation, std::move(p));
}

Simpler rev(const Simplifier& program, const Equation& equation) {
  const Atom operand = program.input(equation, 0);
  const auto shape = program.type_of(operand).shape();
  const auto& dimensions = params_as<RevParams>(equation.params.get()).dimensions;
  const bool does_nothing = std::ranges::all_of(
      dimensions, [&](int64_t d) { return shape[static_cast<size_t>(d)] <= 1; });
  return does_nothing ? value(operand) : Simpler();
}

// Without elements around or between those of the operand, it is a slice.
Simpler pad(const Simplifier& program, const Equation& equation) {
  const auto& config = params_as<PadParams>(equation.params.get()).padding_config;
  const bool adds_nothing = std::ranges::all_of(config, [](const PaddingDimension& d) {
    return d.low <= 0 && d.high <= 0 && d.interior == 0;
  });
  if (!adds_nothing || !program.may_drop()) return {};
  if (Simpler same = if_same_type(program, equation, 0); same.value) return same;
  const auto shape = program.type_of(Atom::variable(equation.outputs[0])).shape();
  SliceParams p;
  for (size_t d = 0; d < config.size(); ++d) {
    p.start_indices.push_back(-config[d].low);
    p.limit_indices.push_back(shape[d] - config[d].low);
    p.strides.push_back(1);
  }
  Equation slice = equation;
  slice.primitive = &primitive_named("slice");
  slice.params = make_params(std::move(p));
  slice.inputs.resize(1);
  return {.value = {}, .equation = std::move(slice)};
}

// ---- slices of what is put together from operands

// Operand `operand` of the inner equation, from `first` on with the slice's own strides.
Simpler slice_of_operand(const Simplifier& program, const Equation& inner, size_t operand,
                         const Equation& outer, std::vector<int64_t> first) {
  const SliceParams& old = params_as<SliceParams>(outer.params.get());
  SliceParams p{std::move(first), {}, old.strides};
  const Atom from = program.input(inner, operand);
  const auto shape = program.type_of(Atom::variable(outer.outputs[0])).shape();
  for (size_t d = 0; d < shape.size(); ++d) {
    p.limit_indices.push_back(p.start_indices[d] + (shape[d] - 1) * p.strides[d] + 1);
  }
  if (program.type_of(from) == program.type_of(Atom::variable(outer.outputs[0]))) {
    return value(from);
  }
  Equation equation = outer;
  equation.params = make_params(std::move(p));
  equation.inputs = {from};
  return {.value = {}, .equation = std::move(equation)};
}

Simpler slice_of_slice(const Simplifier& program, const Equation& inner, const Equation& outer) {
  SliceParams p = params_as<SliceParams>(outer.params.get());
  const SliceParams& first = params_as<SliceParams>(inner.params.get());
  for (size_t d = 0; d < p.strides.size(); ++d) {
    p.start_indices[d] = first.start_indices[d] + p.start_indices[d] * first.strides[d];
    p.limit_indices[d] = first.start_indices[d] + (p.limit_indices[d] - 1) * first.strides[d] + 1;
    p.strides[d] *= first.strides[d];
  }
  return composed(program, inner, outer, std::move(p));
}

// If the slice lies in one of the operands, which are looked at one after the other.
constexpr size_t kMostJoined = 64;
Simpler slice_of_concatenation(const Simplifier& program, const Equation& inner,
                               const Equation& outer) {
  if (inner.inputs.size() > kMostJoined) return {};
  const auto along =
      static_cast<size_t>(params_as<ConcatenateParams>(inner.params.get()).dimension);
  const SliceParams& p = params_as<SliceParams>(outer.params.get());
  const int64_t size = program.type_of(Atom::variable(outer.outputs[0])).shape()[along];
  const int64_t last = p.start_indices[along] + (size - 1) * p.strides[along];
  int64_t start = 0;
  for (size_t i = 0; i < inner.inputs.size(); ++i) {
    const int64_t end = start + program.type_of(program.input(inner, i)).shape()[along];
    if (p.start_indices[along] >= start && last < end) {
      std::vector<int64_t> first = p.start_indices;
      first[along] -= start;
      return slice_of_operand(program, inner, i, outer, std::move(first));
    }
    start = end;
  }
  return {};
}

// If the slice has no padding.
Simpler slice_of_padding(const Simplifier& program, const Equation& inner, const Equation& outer) {
  const auto& config = params_as<PadParams>(inner.params.get()).padding_config;
  const SliceParams& p = params_as<SliceParams>(outer.params.get());
  const auto shape = program.type_of(Atom::variable(outer.outputs[0])).shape();
  const auto from = program.type_of(program.input(inner, 0)).shape();
  std::vector<int64_t> first = p.start_indices;
  for (size_t d = 0; d < config.size(); ++d) {
    first[d] -= config[d].low;
    const int64_t last = first[d] + (shape[d] - 1) * p.strides[d];
    if (config[d].interior != 0 || first[d] < 0 || last >= from[d]) return {};
  }
  return slice_of_operand(program, inner, 0, outer, std::move(first));
}

Simpler slice(const Simplifier& program, const Equation& equation) {
  if (Simpler same = same_type(program, equation); same.value) return same;
  if (program.type_of(Atom::variable(equation.outputs[0])).size() == 0) return {};
  const Equation* inner = program.definition(program.input(equation, 0));
  if (!inner) return {};
  if (inner->primitive == equation.primitive) return slice_of_slice(program, *inner, equation);
  if (!program.may_drop()) return {};
  if (try_params<ConcatenateParams>(inner->params.get())) {
    return slice_of_concatenation(program, *inner, equation);
  }
  return try_params<PadParams>(inner->params.get()) ? slice_of_padding(program, *inner, equation)
                                                    : Simpler();
}

Simpler select_n(const Simplifier& program, const Equation& equation) {
  if (!program.may_drop()) return {};
  const size_t num_cases = equation.inputs.size() - 1;
  size_t chosen = 0;
  if (const auto which = program.number(program.input(equation, 0))) {
    chosen = static_cast<size_t>(std::clamp(*which, 0.0, static_cast<double>(num_cases - 1)));
  } else {
    const Atom first = program.input(equation, 1);
    for (size_t i = 1; i < num_cases; ++i) {
      if (program.input(equation, 1 + i) != first) return {};
    }
  }
  return value(program.input(equation, 1 + chosen));
}

// ---- arithmetic

// Whether x op neutral keeps every bit of x. For numbers it does, but arithmetic makes a signaling
// NaN quiet. Results of arithmetic are quiet already.
bool arithmetic_keeps(const Simplifier& program, Atom x) {
  const DType dtype = program.type_of(x).dtype();
  if (is_integer(dtype)) return true;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return false;
  static const std::array arithmetic = {&primitive_named("add"), &primitive_named("sub"),
                                        &primitive_named("mul"), &primitive_named("div"),
                                        &primitive_named("sqrt")};
  const Equation* made = program.definition(x);
  return made && std::ranges::find(arithmetic, made->primitive) != arithmetic.end();
}

// The operand, if the other one equals `neutral`, including the sign of a zero.
Simpler without_neutral(const Simplifier& program, const Equation& equation, size_t operand,
                        double neutral) {
  const Atom x = program.input(equation, operand);
  const auto other = program.number(program.input(equation, 1 - operand));
  if (!other || *other != neutral) return {};
  const bool has_signed_zero = !is_integer(program.type_of(x).dtype());
  if (has_signed_zero && std::signbit(*other) != std::signbit(neutral)) return {};
  return arithmetic_keeps(program, x) ? value(x) : Simpler();
}

Simpler without_either(const Simplifier& program, const Equation& equation, double neutral) {
  const Simpler left = without_neutral(program, equation, 0, neutral);
  return left.value ? left : without_neutral(program, equation, 1, neutral);
}

Simpler add(const Simplifier& program, const Equation& equation) {
  return without_either(program, equation, -0.0);
}
Simpler sub(const Simplifier& program, const Equation& equation) {
  return without_neutral(program, equation, 0, 0.0);
}
Simpler mul(const Simplifier& program, const Equation& equation) {
  return without_either(program, equation, 1);
}
Simpler div(const Simplifier& program, const Equation& equation) {
  return without_neutral(program, equation, 0, 1);
}

Simpler integer_pow(const Simplifier& program, const Equation& equation) {
  const Atom x = program.input(equation, 0);
  const bool does_nothing = params_as<IntegerPowParams>(equation.params.get()).y == 1;
  return does_nothing && arithmetic_keeps(program, x) ? value(x) : Simpler();
}

// neg and not flip fixed bits, so applying one twice is the identity.
Simpler twice(const Simplifier& program, const Equation& equation) {
  const Equation* inner = same_inside(program, equation);
  if (!inner) return {};
  const Atom x = program.input(*inner, 0);
  const DType dtype = program.type_of(x).dtype();
  const bool keeps = is_integer(dtype) || dtype == DType::kBool || dtype == DType::kFloat32 ||
                     dtype == DType::kFloat64;
  return keeps ? value(x) : Simpler();
}

struct NamedRule {
  std::string_view name;
  SimplifyRule rule;
};
// same_type also handles convert_element_type to the same type, which only copies.
constexpr NamedRule kRules[] = {
    {"add", add},
    {"broadcast_in_dim", broadcast_in_dim},
    {"concatenate", same_type},
    {"convert_element_type", same_type},
    {"div", div},
    {"integer_pow", integer_pow},
    {"mul", mul},
    {"name", same_type},
    {"neg", twice},
    {"not", twice},
    {"pad", pad},
    {"reshape", reshape},
    {"rev", rev},
    {"select_n", select_n},
    {"slice", slice},
    {"stop_gradient", same_type},
    {"sub", sub},
    {"transpose", transpose},
};

}  // namespace

SimplifyRule find_simplify_rule(const Primitive& primitive) {
  static const auto* const rules = [] {
    auto* made = new std::unordered_map<const Primitive*, SimplifyRule>;
    for (const NamedRule& row : kRules) made->emplace(&primitive_named(row.name), row.rule);
    return made;
  }();
  const auto it = rules->find(&primitive);
  return it == rules->end() ? nullptr : it->second;
}

}  // namespace farcall
