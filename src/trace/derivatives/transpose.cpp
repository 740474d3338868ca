// Transposition: runs a linear program backward.
#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/interpreter.h>

#include "trace/custom/custom.h"
#include "trace/interpreters/before_rules.h"

namespace farcall {
namespace {

class Transposition {
 public:
  Transposition(const Program& program, std::span<const Array> inputs)
      : program_(program),
        is_linear_(program.variable_types.size(), false),
        values_(program.variable_types.size()),
        cotangents_(program.variable_types.size()) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].is_null()) {
        is_linear_[program.inputs[i]] = true;
      } else {
        values_[program.inputs[i]] = inputs[i];
      }
    }
    for (const Constant& constant : program.constants) {
      values_[constant.variable] =
          Array(program.variable_types[constant.variable], constant.storage);
    }
  }

  std::vector<Array> run(std::span<const Array> cotangents) {
    run_forward();
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const Atom atom = program_.outputs[i];
      if (atom.is_variable() && is_linear_[atom.index]) accumulate(atom.index, cotangents[i]);
    }
    for (size_t i = program_.equations.size(); i-- > 0;) {
      const Equation& equation = program_.equations[i];
      poll_interrupt();
      if (is_linear(equation)) run_backward(equation);
    }
    std::vector<Array> results;
    for (const uint32_t input : program_.inputs) {
      results.push_back(is_linear_[input] ? cotangents_[input] : Array());
    }
    return results;
  }

 private:
  bool is_linear(Atom atom) const { return atom.is_variable() && is_linear_[atom.index]; }
  bool has_linear_input(const Equation& equation) const {
    return std::ranges::any_of(equation.inputs, [&](Atom atom) { return is_linear(atom); });
  }
  // A primitive that cannot be run counts as linear, even on explicit zeros.
  bool is_linear(const Equation& equation) const {
    return has_linear_input(equation) ||
           is_known_by_transpose_alone(*equation.primitive, equation.params.get());
  }

  Array read(Atom atom) const {
    return atom.is_variable() ? values_[atom.index] : to_array(program_.literals[atom.index]);
  }

  // Computes the values that do not depend on linear inputs, and marks the variables that do.
  void run_forward() {
    for (const Equation& equation : program_.equations) {
      poll_interrupt();
      if (is_linear(equation)) {
        for (const uint32_t output : equation.outputs) {
          is_linear_[output] = has_tangent(program_.variable_types[output]);
        }
        continue;
      }
      std::vector<Array> operands;
      for (const Atom atom : equation.inputs) operands.push_back(read(atom));
      const LocationScope location(equation.where);
      const auto results = bind_primitive(*equation.primitive, equation.params, operands);
      for (size_t i = 0; i < results.size(); ++i) values_[equation.outputs[i]] = results[i];
    }
  }

  void run_backward(const Equation& equation) {
    std::vector<Array> cotangents;
    for (const uint32_t output : equation.outputs) {
      cotangents.push_back(std::move(cotangents_[output]));
      cotangents_[output] = Array();
    }
    if (std::ranges::all_of(cotangents, &Array::is_null) || !has_linear_input(equation)) return;
    const LocationScope location(equation.where);
    const Primitive& primitive = *equation.primitive;
    if (!primitive.rules || !primitive.rules->transpose) {
      missing_rule(primitive, "transpose", "it is not linear in the operands that vary");
    }
    std::vector<Array> inputs;
    std::vector<ShapeDtype> types;
    for (const Atom atom : equation.inputs) {
      inputs.push_back(is_linear(atom) ? Array() : read(atom));
      types.push_back(program_.type_of(atom));
    }
    const auto found =
        primitive.rules->transpose({primitive, equation.params, inputs, types, cotangents});
    FARCALL_ASSERT(found.size() == inputs.size());
    for (size_t i = 0; i < found.size(); ++i) {
      if (is_linear(equation.inputs[i])) accumulate(equation.inputs[i].index, found[i]);
    }
  }

  void accumulate(uint32_t variable, const Array& cotangent) {
    if (!cotangent.is_null()) {
      cotangents_[variable] = add_tangents(cotangents_[variable], cotangent);
    }
  }

  const Program& program_;
  std::vector<bool> is_linear_;  // by variable
  std::vector<Array> values_;
  std::vector<Array> cotangents_;
};

}  // namespace

std::vector<Array> self_transpose(const TransposeCall& call) {
  return bind_primitive(call.primitive, call.params, call.cotangents);
}

std::vector<Array> transpose(const Program& program, std::span<const Array> inputs,
                             std::span<const Array> cotangents) {
  return Transposition(program, inputs).run(cotangents);
}

}  // namespace farcall
