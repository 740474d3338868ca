#include "engine/native/sink_transposes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <farcall/passes/passes.h>
#include <farcall/primitives/primitives.h>
#include <farcall/primitives/structural.h>

#include "engine/native/cluster_domain.h"
#include "engine/native/transposes.h"
#include "passes/internal/foreign.h"
#include "passes/internal/nested.h"

namespace farcall::native {
namespace {

using Permutation = std::vector<int64_t>;

bool is_inverse(const Permutation& first, const Permutation& second) {
  for (size_t i = 0; i < second.size(); ++i) {
    if (first[static_cast<size_t>(second[i])] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

class Sinker {
 public:
  explicit Sinker(const Program& program)
      : program_(program),
        of_calls_(values_of_calls(program)),
        values_(program.variable_types.size()) {
    for (const Equation& equation : program.equations) {
      is_transpose(equation) ? see_transpose(equation) : see_operation(equation);
    }
    count_savings();
  }

  bool has_gain() {
    return std::ranges::any_of(
        values_, [&](const Value& value) { return value.is_moved && group_of(value).saved > 0; });
  }
  // Rewrites `changed`, which is the program or a copy of it.
  void run(Program& changed) {
    const Equations equations = std::exchange(changed.equations, {});
    for (const Equation& equation : equations) {
      if (is_moved(equation) && group_of(values_[equation.outputs[0]]).saved > 0) {
        add_moved(equation, changed);
      } else {
        changed.equations.push_back(equation);
      }
    }
  }

 private:
  // A transpose that may be skipped, or an operation on such values.
  struct Value {
    const Permutation* permutation = nullptr;
    bool is_moved = false;    // true for an operation
    bool has_others = false;  // readers that need the transposed value
    bool is_counted = false;
    size_t group = 0;      // dependent operations, and the transposes that they read
    uint32_t instead = 0;  // the variable before it is transposed
  };
  struct Group {
    size_t parent;
    int64_t saved = 0;  // transposes that moving the group saves
  };

  bool may_change(uint32_t variable) const { return !of_calls_[variable]; }

  size_t root(size_t group) {
    while (groups_[group].parent != group) group = groups_[group].parent;
    return group;
  }
  Group& group_of(const Value& value) { return groups_[root(value.group)]; }

  void see_transpose(const Equation& equation) {
    const Atom operand = equation.inputs[0];
    const uint32_t output = equation.outputs[0];
    if (!operand.is_variable() || !may_change(operand.index) || !may_change(output)) return;
    values_[output] = {.permutation = &permutation_of(equation),
                       .group = groups_.size(),
                       .instead = operand.index};
    groups_.push_back({groups_.size()});
  }

  // The permutation that all operands except scalars have in common; null if there is none.
  const Permutation* common_permutation(const Equation& equation) const {
    const ShapeDtype type = program_.variable_types[equation.outputs[0]];
    const Permutation* found = nullptr;
    for (const Atom operand : equation.inputs) {
      const ShapeDtype of_operand = program_.type_of(operand);
      if (of_operand.rank() == 0) continue;
      const bool is_alike = operand.is_variable() && of_operand.size() == type.size() &&
                            std::ranges::equal(of_operand.shape(), type.shape());
      const Permutation* next = is_alike ? values_[operand.index].permutation : nullptr;
      if (!next || (found && *found != *next)) return nullptr;
      found = next;
    }
    return found;
  }

  void see_operation(const Equation& equation) {
    if (equation.outputs.size() != 1 || !may_change(equation.outputs[0])) return;
    const Permutation* const permutation = common_permutation(equation);
    if (!permutation || role_of(program_, equation) != Role::kOperation) return;
    size_t group = groups_.size();
    groups_.push_back({group});
    for (const Atom operand : equation.inputs) {
      if (operand.is_variable() && values_[operand.index].permutation) {
        groups_[root(values_[operand.index].group)].parent = group;
      }
    }
    values_[equation.outputs[0]] = {.permutation = permutation, .is_moved = true, .group = group};
  }

  bool is_moved(const Equation& equation) const {
    return equation.outputs.size() == 1 && values_[equation.outputs[0]].is_moved;
  }

  // Counts the transposes that each reader of a value saves or costs. A product reads transposed
  // arrays in place, so it costs none.
  void count_savings() {
    const auto see_other = [&](uint32_t variable) { values_[variable].has_others = true; };
    for (const Equation& equation : program_.equations) {
      if (is_moved(equation)) continue;
      const bool is_product = equation.primitive->kind == PrimitiveKind::kProduct;
      for (const Atom operand : equation.inputs) {
        if (!operand.is_variable() || !values_[operand.index].permutation) continue;
        const Value& value = values_[operand.index];
        if (value.is_moved && is_transpose(equation)) {
          if (is_inverse(*value.permutation, permutation_of(equation))) ++group_of(value).saved;
        } else if (!is_product || !value.is_moved) {
          see_other(operand.index);
        }
      }
    }
    for (const Atom output : program_.outputs) {
      if (output.is_variable()) see_other(output.index);
    }
    for (const Equation& equation : program_.equations) {
      if (!is_moved(equation)) continue;
      for (const Atom operand : equation.inputs) {
        if (!operand.is_variable()) continue;
        Value& value = values_[operand.index];
        if (!value.permutation || value.is_moved || std::exchange(value.is_counted, true)) continue;
        if (!value.has_others) ++group_of(value).saved;
      }
      const Value& made = values_[equation.outputs[0]];
      if (made.has_others) --group_of(made).saved;
    }
  }

  void add_moved(Equation equation, Program& changed) {
    const uint32_t output = equation.outputs[0];
    const Permutation permutation = *values_[output].permutation;
    for (Atom& operand : equation.inputs) {
      if (operand.is_variable() && values_[operand.index].permutation) {
        operand.index = values_[operand.index].instead;
      }
    }
    const ShapeDtype type = changed.variable_types[output];
    Shape shape(type.rank(), 1);
    for (size_t i = 0; i < permutation.size(); ++i) {
      shape[static_cast<size_t>(permutation[i])] = type.shape()[i];
    }
    const auto before = static_cast<uint32_t>(changed.variable_types.size());
    changed.variable_types.emplace_back(type.dtype(), shape);
    values_[output].instead = before;
    equation.outputs = {before};
    Equation back = {.primitive = &kTranspose,
                     .params = make_params(TransposeParams{permutation}),
                     .inputs = {Atom::variable(before)},
                     .outputs = {output},
                     .where = equation.where};
    changed.equations.push_back(std::move(equation));
    changed.equations.push_back(std::move(back));
  }

  const Program& program_;
  std::vector<bool> of_calls_;
  std::vector<Value> values_;  // by variable
  std::vector<Group> groups_;
};

}  // namespace

ProgramPtr sink_transposes(ProgramPtr program) {
  program = pass_nested(std::move(program), sink_transposes);
  if (!std::ranges::any_of(program->equations, is_transpose)) return program;
  Sinker sinker(*program);
  if (!sinker.has_gain()) return program;
  std::shared_ptr<Program> changed = to_change(std::move(program));
  sinker.run(*changed);
  return simplify(std::move(changed));
}

}  // namespace farcall::native
