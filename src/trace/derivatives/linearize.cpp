// Linearization: forward mode with known values and unknown tangents.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/primitives/call.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/varying.h>

#include "trace/custom/custom.h"
#include "trace/derivatives/partial.h"
#include "trace/internal/axis_tracking.h"

namespace farcall {
namespace {

// Records everything that a partial-evaluation rule passes to it.
class RecordAll final : public Interpreter {
 public:
  explicit RecordAll(PartialRecorder& recorder)
      : Interpreter(recorder.parent()), recorder_(recorder) {}
  std::vector<Array> process(const Primitive& primitive, const ParamsPtr& params,
                             std::span<const Array> inputs) override {
    return recorder_.Recorder::process(primitive, params, inputs);
  }
  std::vector<Array> process_custom(const CustomCallPtr& call,
                                    std::span<const Array> inputs) override {
    return recorder_.Recorder::process_custom(call, inputs);
  }

 private:
  PartialRecorder& recorder_;
};

}  // namespace

std::vector<Array> PartialRecorder::process(const Primitive& primitive, const ParamsPtr& params,
                                            std::span<const Array> inputs) {
  const auto is_own = [&](const Array& input) { return owns(input); };
  // Explicit zero tangents are known. A primitive that cannot be run stays unknown even with known
  // operands.
  const bool is_known = std::ranges::none_of(inputs, is_own);
  if (is_known && !is_known_by_transpose_alone(primitive, params.get())) {
    InterpreterScope scope(*parent());
    return bind_primitive(primitive, params, inputs);
  }
  if (!primitive.rules || !primitive.rules->partial_eval) {
    return Recorder::process(primitive, params, inputs);
  }
  std::vector<bool> is_unknown(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) is_unknown[i] = is_own(inputs[i]);
  RecordAll all(*this);
  InterpreterScope scope(*parent());
  return primitive.rules->partial_eval({primitive, params, inputs, is_unknown, all});
}

std::vector<Array> PartialRecorder::process_custom(const CustomCallPtr& call,
                                                   std::span<const Array> inputs) {
  if (std::ranges::none_of(inputs, [&](const Array& input) { return owns(input); })) {
    InterpreterScope scope(*parent());
    return call_custom(call, inputs);
  }
  // A custom_vmap is expanded into its operations, so that each can be known or transposed.
  if (!call->jvp && !call->forward) {
    InterpreterScope scope(*this);
    return call->function(inputs);
  }
  InterpreterScope scope(*this);
  return record_custom_call(call, inputs, *this);
}

LinearMap::LinearMap(Recording recording, std::vector<bool> has_input, std::vector<bool> has_output,
                     std::vector<ShapeDtype> input_types, std::vector<ShapeDtype> output_types)
    : recording_(std::move(recording)),
      has_input_(std::move(has_input)),
      has_output_(std::move(has_output)),
      input_types_(std::move(input_types)),
      output_types_(std::move(output_types)) {}

std::vector<Array> LinearMap::operator()(std::span<const Array> tangents) const {
  std::vector<Array> inputs = recording_.captured;
  for (size_t i = 0; i < has_input_.size(); ++i) {
    if (has_input_[i]) inputs.push_back(instantiate(tangents[i], input_types_[i]));
  }
  return scatter_arrays(has_output_, evaluate(*recording_.program, inputs));
}

namespace {

// A cotangent must vary over the axes over which its output varies, and no others.
std::vector<Array> like_outputs(const Program& program, std::vector<Array> cotangents) {
  const std::optional<ProgramAxes> axes = axes_of(program);
  if (!axes) return cotangents;
  for (size_t i = 0; i < cotangents.size(); ++i) {
    const AxisSet wrong = varying_axes(cotangents[i]) & ~axes->outputs[i];
    if (wrong == 0) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("reverse-mode differentiation: a cotangent varies over {}, over which "
                            "the output does not; reduce it over these axes (psum, pmean)",
                            fmt::join(names_of(wrong), ", ")));
  }
  return vary_like(std::move(cotangents), axes->outputs);
}

struct LivePart {
  ProgramPtr program;
};

// The program with the wanted outputs alone, and without equations that nothing reads: a tangent
// that cannot be computed is no error if no result needs it.
LivePart live_part(const Program& program, const std::vector<bool>& wanted) {
  Program live = program;
  live.outputs = select<Atom>(program.outputs, wanted);
  Equations equations = std::exchange(live.equations, {});
  live.equations.reserve(equations.size());
  std::vector<bool> is_read(program.variable_types.size(), false);
  const auto read = [&](std::span<const Atom> atoms) {
    for (const Atom atom : atoms) {
      if (atom.is_variable()) is_read[atom.index] = true;
    }
  };
  read(live.outputs);
  for (size_t at = equations.size(); at-- > 0;) {
    Equation& equation = equations[at];
    std::vector<bool> is_live(equation.outputs.size());
    for (size_t i = 0; i < is_live.size(); ++i) is_live[i] = is_read[equation.outputs[i]];
    const auto num_live = std::ranges::count(is_live, true);
    if (num_live == 0 && !has_effect(equation.effects)) continue;
    const auto* call = try_params<JitParams>(equation.params.get());
    if (call && num_live < std::ssize(is_live)) {
      const auto part = call->jaxpr->derived.find_or_make<LivePart>(
          "live_part", {is_live.begin(), is_live.end()},
          [&] { return live_part(*call->jaxpr, is_live); });
      equation.params = make_params(JitParams{call->name, part.program});
      equation.outputs = select<uint32_t>(equation.outputs, is_live);
    }
    read(equation.inputs);
    live.equations.push_back(std::move(equation));
  }
  std::ranges::reverse(live.equations);
  auto part = std::make_shared<const Program>(std::move(live));
  if (std::optional<ProgramAxes> axes = kept_axes_of(program)) {
    axes->outputs = select<AxisSet>(axes->outputs, wanted);
    keep_axes(*part, std::move(*axes));
  }
  return {std::move(part)};
}

}  // namespace

std::vector<Array> LinearMap::transpose(std::span<const Array> cotangents) const {
  std::vector<Array> inputs = recording_.captured;
  inputs.resize(recording_.program->inputs.size());
  const std::vector<Array> wanted =
      like_outputs(*recording_.program, select(cotangents, has_output_));
  const std::vector<Array> found = farcall::transpose(*recording_.program, inputs, wanted);
  return scatter_arrays(has_input_, std::span(found).subspan(recording_.captured.size()));
}

LinearMap LinearMap::with_captured(std::vector<Array> captured) const {
  return {{recording_.program, std::move(captured)},
          has_input_,
          has_output_,
          input_types_,
          output_types_};
}

bool LinearMap::has_same_program(const LinearMap& other) const {
  return has_input_ == other.has_input_ && has_output_ == other.has_output_ &&
         input_types_ == other.input_types_ && output_types_ == other.output_types_ &&
         same_program(recording_.program, other.recording_.program);
}

Linearized linearize(const FlatFunction& function, std::span<const Array> primals,
                     const std::vector<bool>& varies) {
  PartialRecorder recorder;
  std::vector<Array> tangents(primals.size());
  std::vector<bool> has_input(primals.size(), false);
  for (size_t i = 0; i < primals.size(); ++i) {
    has_input[i] = varies[i] && has_tangent(primals[i].type());
    if (has_input[i]) {
      tangents[i] = recorder.add_input(primals[i].type().strengthened(), varying_axes(primals[i]));
    }
  }
  const JvpResults results = [&] {
    InterpreterScope scope(recorder);
    return jvp(function, primals, tangents);
  }();
  for (const Array& output : results.primals) {
    if (!recorder.owns(output)) continue;
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("reverse-mode differentiation: the result {} cannot be computed "
                            "separately from its derivative",
                            output.type().to_string()));
  }
  std::vector<bool> has_output = present(results.tangents);
  Recording recording = recorder.finish(select(std::span(results.tangents), has_output));
  const std::vector<bool> all(recording.program->outputs.size(), true);
  recording.program = live_part(*recording.program, all).program;
  return {results.primals, std::make_shared<const LinearMap>(
                               std::move(recording), std::move(has_input), std::move(has_output),
                               types_of(primals), types_of(results.primals))};
}

}  // namespace farcall
