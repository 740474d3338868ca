#include <farcall/trace/record.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/program/profile.h>
#include <farcall/trace/interpreter.h>

#include "trace/custom/custom.h"
#include "trace/internal/axis_sets.h"
#include "trace/internal/axis_tracking.h"
#include "trace/interpreters/recorder.h"

namespace farcall {
namespace {

// Whether an interpreter below `interpreter` on the stack owns the array.
bool belongs_below(const Array& array, const Interpreter& interpreter) {
  for (const Interpreter* below = interpreter.parent(); below; below = below->parent()) {
    if (below->owns(array)) return true;
  }
  return false;
}

}  // namespace

std::vector<Array> Recorder::process(const Primitive& primitive, const ParamsPtr& params,
                                     std::span<const Array> inputs) {
  poll_interrupt(builder_.program().equations.size());
  std::vector<Atom> atoms;
  atoms.reserve(inputs.size());
  for (const Array& input : inputs) atoms.push_back(atom_of(input));
  const SourceLocationPtr made_at = current_location();
  const auto outputs = builder_.add_equation(primitive, params, atoms, made_at);
  std::vector<AxisSet> axes;  // empty where axes are not tracked
  if (const AxisTracking* tracking = AxisTracking::current()) [[unlikely]] {
    axes = AxisTypes(tracking->axes())
               .results(primitive, params.get(), *varying_axes(inputs), outputs.size());
  }
  std::vector<Array> results;
  results.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    results.push_back(own(outputs[i], made_at, axes.empty() ? 0 : axes[i]));
  }
  return results;
}

std::vector<Array> Recorder::process_custom(const CustomCallPtr& call,
                                            std::span<const Array> inputs) {
  InterpreterScope scope(*this);
  return record_custom_call(call, inputs, *this);
}

Recording Recorder::finish(std::span<const Array> outputs) {
  std::vector<Atom> atoms;
  atoms.reserve(outputs.size());
  for (const Array& output : outputs) atoms.push_back(atom_of(output));
  std::vector<uint32_t>& inputs = builder_.program().inputs;
  inputs.insert(inputs.begin(), captured_variables_.begin(), captured_variables_.end());
  Recording recording{builder_.build(atoms, name_), std::move(captured_)};
  if (is_tracking_axes()) [[unlikely]] {
    ProgramAxes axes{*varying_axes(recording.captured), *varying_axes(outputs)};
    axes.inputs.insert(axes.inputs.end(), input_axes_.begin(), input_axes_.end());
    keep_axes(*recording.program, std::move(axes));
  }
  return recording;
}

Derivation Recorder::derivation(const Array& array) {
  Derivation result;
  const Program& program = builder_.program();
  std::vector<bool> is_needed(program.variable_types.size());
  const uint32_t wanted = static_cast<const RecordedNode&>(array.node()).atom().index;
  is_needed[wanted] = true;
  for (size_t i = program.equations.size(); i-- > 0;) {
    const Equation& equation = program.equations[i];
    if (std::ranges::none_of(equation.outputs, [&](uint32_t v) { return is_needed[v]; })) continue;
    if (std::ranges::find(equation.outputs, wanted) != equation.outputs.end()) {
      result.primitive = equation.primitive->name;
      result.made_at = equation.where;
    }
    for (const Atom atom : equation.inputs) {
      if (atom.is_variable()) is_needed[atom.index] = true;
    }
  }
  for (size_t i = 0; i < captured_.size(); ++i) {
    if (is_needed[captured_variables_[i]]) result.captured.push_back(captured_[i]);
  }
  result.sources = std::move(is_needed);
  return result;
}

Atom Recorder::atom_of(const Array& array) {
  if (owns(array)) return static_cast<const RecordedNode&>(array.node()).atom();
  const auto [it, inserted] = foreign_.try_emplace(&array.node());
  if (inserted) {
    try {
      it->second = {foreign(array), array};
    } catch (...) {
      foreign_.erase(it);
      throw;
    }
  }
  return it->second.atom;
}

Atom Recorder::foreign(const Array& array) {
  const ShapeDtype type = array.type();
  const bool is_concrete = array.is_concrete();
  if (is_concrete && type.rank() == 0 && !type.is_token()) {
    Literal literal{type, {}};
    std::memcpy(literal.bytes.data(), array.data(), type.nbytes());
    return builder_.add_literal(literal);
  }
  // Do not read the values of captured arrays: those of an array that is sharded over several
  // processes may not be in this one.
  const bool is_captured = is_concrete
                               ? closure_ == Closure::kCapture
                               : closure_ != Closure::kConstants && belongs_below(array, *this);
  if (is_captured) {
    captured_.push_back(array);
    captured_variables_.push_back(builder_.add_variable(type));
    return Atom::variable(captured_variables_.back());
  }
  if (is_concrete) return Atom::variable(builder_.add_constant(type, array.storage()));
  leaked_array(array, fmt::format("while {} was recorded", name_.empty() ? "a function" : name_));
}

namespace {

Recording record_with(const FlatFunction& function, std::span<const ShapeDtype> inputs,
                      const AxisSets& sets, std::string name, Recorder::Closure closure) {
  const ProfileScope profiled("trace", name);
  std::optional<WithoutTracking> without_tracking;
  if (!sets && is_tracking_axes()) [[unlikely]]
    without_tracking.emplace();
  Recorder recorder(std::move(name), closure);
  recorder.tracing()->began_at = current_location();
  std::vector<Array> arguments;
  arguments.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    arguments.push_back(recorder.add_input(inputs[i], sets ? (*sets)[i] : 0));
  }
  InterpreterScope scope(recorder);
  const std::vector<Array> outputs = function(arguments);
  return recorder.finish(outputs);
}

}  // namespace

ProgramPtr record(const FlatFunction& function, std::span<const ShapeDtype> inputs,
                  const AxisSets& sets, std::string name) {
  return record_with(function, inputs, sets, std::move(name), Recorder::Closure::kConstants)
      .program;
}
ProgramPtr record(const FlatFunction& function, std::span<const ShapeDtype> inputs,
                  std::string name) {
  return record(function, inputs, std::nullopt, std::move(name));
}

Recording record_closure(const FlatFunction& function, std::span<const ShapeDtype> inputs,
                         const AxisSets& sets, std::string name) {
  return record_with(function, inputs, sets, std::move(name), Recorder::Closure::kCapture);
}
Recording record_closure(const FlatFunction& function, std::span<const ShapeDtype> inputs,
                         std::string name) {
  return record_closure(function, inputs, std::nullopt, std::move(name));
}

Recording record_with_constants(const FlatFunction& function, std::span<const ShapeDtype> inputs,
                                const AxisSets& sets, std::string name) {
  return record_with(function, inputs, sets, std::move(name), Recorder::Closure::kCaptureTraced);
}
Recording record_with_constants(const FlatFunction& function, std::span<const ShapeDtype> inputs,
                                std::string name) {
  return record_with_constants(function, inputs, std::nullopt, std::move(name));
}

std::vector<Array> evaluate(const Program& program, std::span<const Array> inputs) {
  return evaluate(program, inputs, [](const Equation& equation, std::span<const Array> operands) {
    return bind_primitive(*equation.primitive, equation.params, operands);
  });
}

std::vector<Array> evaluate(const Program& program, std::span<const Array> inputs,
                            const EquationRule& rule) {
  if (inputs.size() != program.inputs.size()) {
    invalid_argument(fmt::format("evaluate: the program takes {} inputs, got {}",
                                 program.inputs.size(), inputs.size()));
  }
  std::vector<Array> values(program.variable_types.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ShapeDtype wanted = program.variable_types[program.inputs[i]];
    if (inputs[i].type().strengthened() != wanted.strengthened()) {
      invalid_argument(fmt::format("evaluate: input {} should be {}, got {}", i, wanted.to_string(),
                                   inputs[i].type().to_string()));
    }
    values[program.inputs[i]] = inputs[i];
  }
  for (const Constant& constant : program.constants) {
    values[constant.variable] = Array(program.variable_types[constant.variable], constant.storage);
  }
  const auto read = [&](Atom atom) {
    return atom.is_variable() ? values[atom.index] : to_array(program.literals[atom.index]);
  };
  std::vector<Array> operands;
  for (const Equation& equation : program.equations) {
    poll_interrupt();
    operands.clear();
    for (const Atom atom : equation.inputs) operands.push_back(read(atom));
    const LocationScope location(equation.where);
    std::vector<Array> results = rule(equation, operands);
    for (size_t i = 0; i < results.size(); ++i) {
      values[equation.outputs[i]] = std::move(results[i]);
    }
  }
  std::vector<Array> outputs;
  outputs.reserve(program.outputs.size());
  for (const Atom atom : program.outputs) outputs.push_back(read(atom));
  return outputs;
}

Array to_array(const Literal& literal) {
  return Array(literal.type, Storage::copy_of(literal.bytes.data(), literal.type.nbytes()));
}

std::vector<ShapeDtype> types_of(std::span<const Array> arrays) {
  std::vector<ShapeDtype> types;
  types.reserve(arrays.size());
  for (const Array& array : arrays) types.push_back(array.type());
  return types;
}

}  // namespace farcall
