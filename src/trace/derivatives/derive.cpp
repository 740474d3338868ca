#include <farcall/trace/derive.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/program/walk.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/record.h>
#include <farcall/trace/varying.h>

#include "trace/derivatives/partial.h"

namespace farcall {
namespace {

bool is_forced(const std::vector<bool>& force, size_t i) { return i < force.size() && force[i]; }

void append(std::vector<int64_t>& key, const std::vector<bool>& flags) {
  key.push_back(static_cast<int64_t>(flags.size()));
  key.insert(key.end(), flags.begin(), flags.end());
}

// The sets of the inputs of a program, if its axes are tracked.
AxisSets input_axes(const Program& program) {
  auto axes = axes_of(program);
  return axes ? AxisSets(std::move(axes->inputs)) : std::nullopt;
}

}  // namespace

std::vector<Array> scatter_arrays(const std::vector<bool>& flags, std::span<const Array> items) {
  std::vector<Array> result;
  result.reserve(flags.size());
  size_t next = 0;
  for (const bool flag : flags) result.push_back(flag ? items[next++] : Array());
  FARCALL_ASSERT(next == items.size());
  return result;
}

std::vector<bool> present(std::span<const Array> arrays) {
  std::vector<bool> flags;
  flags.reserve(arrays.size());
  for (const Array& array : arrays) flags.push_back(!array.is_null());
  return flags;
}

ProgramJvp jvp_program(const ProgramPtr& program, const std::vector<bool>& varies,
                       const std::vector<bool>& force) {
  std::vector<int64_t> key;
  append(key, varies);
  append(key, force);
  return program->derived.find_or_make<ProgramJvp>("jvp", std::move(key), [&] {
    std::vector<ShapeDtype> types = program->input_types();
    AxisSets axes = input_axes(*program);
    const size_t count = types.size();
    for (size_t i = 0; i < count; ++i) {
      if (!varies[i]) continue;
      types.push_back(types[i].strengthened());
      if (axes) axes->push_back((*axes)[i]);
    }
    ProgramJvp result;
    result.program = record(
        [&](std::span<const Array> inputs) {
          JvpResults found =
              jvp([&](std::span<const Array> primals) { return evaluate(*program, primals); },
                  inputs.first(count), scatter_arrays(varies, inputs.subspan(count)));
          std::vector<Array> outputs = found.primals;
          for (size_t i = 0; i < found.primals.size(); ++i) {
            const ShapeDtype type = found.primals[i].type();
            Array tangent = found.tangents[i];
            if (tangent.is_null() && is_forced(force, i) && has_tangent(type)) {
              tangent = instantiate(tangent, type);
            }
            result.varies.push_back(!tangent.is_null());
            if (!tangent.is_null()) outputs.push_back(std::move(tangent));
          }
          return outputs;
        },
        types, axes, program->name);
    return result;
  });
}

ProgramBatch batch_program(const ProgramPtr& program, const BatchAxis& axis,
                           std::vector<int64_t> axes, const std::vector<bool>& force) {
  std::vector<int64_t> key = axes;
  append(key, force);
  key.push_back(axis.size);
  const std::string kind = fmt::format("batch {} {}", axis.name, fmt::join(axis.spmd_names, " "));
  return program->derived.find_or_make<ProgramBatch>(kind, std::move(key), [&] {
    std::vector<ShapeDtype> types = program->input_types();
    for (size_t i = 0; i < types.size(); ++i) {
      if (axes[i] != kNotBatched) types[i] = batched_type(types[i], axes[i], axis.size);
    }
    ProgramBatch result;
    result.program = record(
        [&](std::span<const Array> inputs) {
          const BatchResults found =
              batch([&](std::span<const Array> all) { return evaluate(*program, all); }, inputs,
                    axes, axis);
          std::vector<Array> outputs;
          for (size_t i = 0; i < found.outputs.size(); ++i) {
            const bool is_batched = found.axes[i] != kNotBatched || is_forced(force, i);
            result.is_batched.push_back(is_batched);
            outputs.push_back(is_batched ? move_axis(found.outputs[i], found.axes[i], 0, axis.size)
                                         : found.outputs[i]);
          }
          return outputs;
        },
        types, input_axes(*program), program->name);
    return result;
  });
}

ProgramPartialEval partial_eval_program(const ProgramPtr& program,
                                        const std::vector<bool>& is_unknown,
                                        const std::vector<bool>& force) {
  // A program that several equations share is expanded: each run has its own residuals.
  check_expansion(*program, "linearize");
  std::vector<int64_t> key;
  append(key, is_unknown);
  append(key, force);
  return program->derived.find_or_make<ProgramPartialEval>("partial_eval", std::move(key), [&] {
    const std::vector<ShapeDtype> types = program->input_types();
    const AxisSets axes = input_axes(*program);
    ProgramPartialEval result;
    result.known = record(
        [&](std::span<const Array> known_inputs) {
          PartialRecorder recorder(program->name);
          std::vector<Array> inputs;
          size_t next = 0;
          for (size_t i = 0; i < types.size(); ++i) {
            inputs.push_back(is_unknown[i]
                                 ? recorder.add_input(types[i], axes ? (*axes)[i] : AxisSet{0})
                                 : known_inputs[next++]);
          }
          std::vector<Array> outputs;
          {
            InterpreterScope scope(recorder);
            outputs = evaluate(*program, inputs);
          }
          for (size_t i = 0; i < outputs.size(); ++i) {
            result.is_unknown.push_back(recorder.owns(outputs[i]) || is_forced(force, i));
          }
          Recording unknown = recorder.finish(select<Array>(outputs, result.is_unknown));
          result.unknown = unknown.program;
          result.num_residuals = unknown.captured.size();
          std::vector<Array> known = select<Array>(outputs, result.is_unknown, /*wanted=*/false);
          known.insert(known.end(), unknown.captured.begin(), unknown.captured.end());
          return known;
        },
        select<ShapeDtype>(types, is_unknown, /*wanted=*/false),
        axes ? AxisSets(select<AxisSet>(*axes, is_unknown, /*wanted=*/false)) : std::nullopt,
        program->name);
    return result;
  });
}

ProgramTranspose transpose_program(const ProgramPtr& program, const std::vector<bool>& is_linear,
                                   const std::vector<bool>& has_cotangent,
                                   const std::vector<bool>& wanted) {
  std::vector<int64_t> key;
  append(key, is_linear);
  append(key, has_cotangent);
  append(key, wanted);
  return program->derived.find_or_make<ProgramTranspose>("transpose", std::move(key), [&] {
    const std::vector<ShapeDtype> types = program->input_types();
    std::vector<ShapeDtype> inputs = select<ShapeDtype>(types, is_linear, /*wanted=*/false);
    const size_t num_known = inputs.size();
    const std::vector<ShapeDtype> outputs = program->output_types();
    const std::optional<ProgramAxes> all_axes = axes_of(*program);
    AxisSets axes;
    if (all_axes) axes = select<AxisSet>(all_axes->inputs, is_linear, /*wanted=*/false);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!has_cotangent[i]) continue;
      inputs.push_back(outputs[i].strengthened());
      if (axes) axes->push_back(all_axes->outputs[i]);
    }
    std::vector<bool> is_known = is_linear;
    is_known.flip();
    ProgramTranspose result;
    result.program = record(
        [&](std::span<const Array> arrays) {
          std::vector<Array> found =
              transpose(*program, scatter_arrays(is_known, arrays.first(num_known)),
                        scatter_arrays(has_cotangent, arrays.subspan(num_known)));
          std::vector<Array> cotangents;
          for (size_t i = 0; i < found.size(); ++i) {
            if (!wanted.empty() && wanted[i]) found[i] = instantiate(found[i], types[i]);
            result.has_cotangent.push_back(!found[i].is_null());
            if (!found[i].is_null()) cotangents.push_back(found[i]);
          }
          return cotangents;
        },
        inputs, axes, program->name);
    return result;
  });
}

JvpResults jvp_of_call(const JvpCall& call, const ProgramPtr& program, const ProgramRunner& run) {
  const ProgramJvp derived = jvp_program(program, present(call.tangents));
  std::vector<Array> operands(call.primals.begin(), call.primals.end());
  for (const Array& tangent : call.tangents) {
    if (!tangent.is_null()) operands.push_back(tangent);
  }
  std::vector<Array> all = run(derived.program, operands);
  const size_t count = derived.varies.size();
  std::vector<Array> tangents = scatter_arrays(derived.varies, std::span(all).subspan(count));
  all.resize(count);
  return {std::move(all), std::move(tangents)};
}

BatchResults batch_of_call(const BatchCall& call, const ProgramPtr& program,
                           const ProgramRunner& run) {
  const ProgramBatch derived =
      batch_program(program, call.axis, {call.axes.begin(), call.axes.end()});
  std::vector<int64_t> axes;
  for (const bool is_batched : derived.is_batched) axes.push_back(is_batched ? 0 : kNotBatched);
  return {run(derived.program, call.inputs), std::move(axes)};
}

}  // namespace farcall
