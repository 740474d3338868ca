// The table of lowerings: a function for each primitive that StableHLO can say.
#pragma once

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

// The results; none where the rule does not hold for these types or parameters, and the equation is
// treated as one without a rule.
using Rule = std::function<Values(Emitter&, const Call&)>;
using Rules = std::unordered_map<std::string_view, Rule>;

const Rules& all_rules();

// A family each, called once.
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

// The lowest, or highest, value of a dtype as an array. False in the second where there is none.
std::pair<Value, bool> extreme(Emitter& emitter, ShapeDtype type, bool is_highest);

// The region of a reduction by one operation on scalars.
std::string reducer(Emitter& emitter, DType dtype, std::string_view operation);

// A relay's condition of a loop (LowerOptions::guard), alike on all devices that meet in the loop
// over these axes.
Value guarded(Emitter& emitter, const Value& condition, std::span<const std::string> axes);

// Runs the numbers of runs through the regions of loops and branches that have effects.
bool is_ordered(const Program& program);

}  // namespace farcall::stablehlo
