// The table of lowerings: one function per primitive that StableHLO can express.
#pragma once

#include <concepts>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>

#include <farcall/program/program.h>

#include "stablehlo/emitter.h"

namespace farcall::stablehlo {

struct Call {
  const Program& program;
  const Equation& equation;
  std::span<const Value> inputs;
  std::vector<ShapeDtype> results;

  template <class P>
  const P& params() const {
    return params_as<P>(equation.params.get());
  }
  ShapeDtype result() const { return results[0]; }
  DType dtype() const { return results[0].dtype(); }
};

// How a primitive is expressed.
struct Rule {
  // Returns the results. If the rule does not apply to these types or parameters, returns none: the
  // equation is treated as one without a rule.
  using Emit = std::function<Values(Emitter&, const Call&)>;

  Rule() = default;
  template <std::convertible_to<Emit> F>
  Rule(F function) : emit(std::move(function)) {}

  Emit emit;
  // XLA computes it with low accuracy, or with other values at poles and negative numbers.
  bool is_inexact = false;
};
using Rules = std::unordered_map<std::string_view, Rule>;

const Rules& all_rules();

// Each adds one family of rules; called once.
void add_elementwise(Rules& rules);
void add_structural(Rules& rules);
void add_reductions(Rules& rules);
void add_windows(Rules& rules);
void add_indexing(Rules& rules);
void add_products(Rules& rules);
void add_control_flow(Rules& rules);
void add_collectives(Rules& rules);
void add_meshes(Rules& rules);
void add_sort(Rules& rules);

// A foreign call as a custom call of its target.
Values custom_call(Emitter& emitter, const Call& call);

// The lowest or highest value of a dtype, as an array. The second value is false if there is none.
std::pair<Value, bool> extreme(Emitter& emitter, ShapeDtype type, bool is_highest);

// Whether zero is a number of the dtype; float8_e8m0fnu has NaN in its place.
bool has_zero(DType dtype);

// Integers of two bits: XLA fails for some operations on them, which are computed in bytes.
bool is_narrow(DType dtype);
// The rule with operands and results of such integers as bytes.
Rule on_bytes(Rule rule);

// The operation on this dtype: XLA computes wrong sums of bools that it knows to be equal, which
// are also what `or` gives; products are what `and` gives.
std::string_view of_dtype(std::string_view operation, DType dtype);

// The region of a reduction: one operation on scalars.
std::string reducer(Emitter& emitter, DType dtype, std::string_view operation);

// Passes a loop's condition through a relay (LowerOptions::guard). All devices that meet in the
// loop over these axes get the same value.
Value guarded(Emitter& emitter, const Value& condition, std::span<const std::string> axes);

// Whether the program has effects: the number of the run must then pass through its loops and
// branches.
bool is_ordered(const Program& program);

}  // namespace farcall::stablehlo
