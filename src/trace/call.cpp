// The primitives jit and checkpoint.
#include <farcall/trace/call.h>

#include <algorithm>

#include <farcall/trace/derive.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/interpreter.h>

namespace farcall {
namespace {

template <class P>
const ProgramPtr& program_of(const Params* params) {
  return params_as<P>(params).jaxpr;
}
template <class P>
ParamsPtr with_program(const Params* params, const ProgramPtr& program) {
  P p = params_as<P>(params);
  p.jaxpr = program;
  return make_params(std::move(p));
}

template <class P>
std::vector<ShapeDtype> types(std::span<const ShapeDtype>, const Params* params) {
  return program_of<P>(params)->output_types();
}
template <class P>
Effects effects(const Params* params) {
  return program_of<P>(params)->effects();
}
template <class P>
ProgramPtr body(const Params* params) {
  return program_of<P>(params);
}

template <class P>
JvpResults call_jvp(const JvpCall& call) {
  const std::vector<bool> varies = present(call.tangents);
  const ProgramJvp derived = jvp_program(program_of<P>(call.params.get()), varies);
  std::vector<Array> operands(call.primals.begin(), call.primals.end());
  for (const Array& tangent : call.tangents) {
    if (!tangent.is_null()) operands.push_back(tangent);
  }
  const std::vector<Array> all =
      bind_primitive(call.primitive, with_program<P>(call.params.get(), derived.program), operands);
  const auto split = static_cast<int64_t>(derived.varies.size());
  return {{all.begin(), all.begin() + split},
          scatter_arrays(derived.varies, std::span(all).subspan(derived.varies.size()))};
}

template <class P>
BatchResults call_batch(const BatchCall& call) {
  const ProgramBatch derived = batch_program(program_of<P>(call.params.get()), call.axis,
                                             {call.axes.begin(), call.axes.end()});
  std::vector<int64_t> axes;
  for (const bool is_batched : derived.is_batched) axes.push_back(is_batched ? 0 : kNotBatched);
  return {bind_primitive(call.primitive, with_program<P>(call.params.get(), derived.program),
                         call.inputs),
          std::move(axes)};
}

template <class P>
std::vector<Array> call_transpose(const TransposeCall& call) {
  std::vector<bool> is_linear, has_cotangent = present(call.cotangents);
  for (const Array& input : call.inputs) is_linear.push_back(input.is_null());
  const ProgramTranspose derived =
      transpose_program(program_of<P>(call.params.get()), is_linear, has_cotangent);
  std::vector<Array> operands = select<Array>(call.inputs, is_linear, false);
  const auto cotangents = select<Array>(call.cotangents, has_cotangent);
  operands.insert(operands.end(), cotangents.begin(), cotangents.end());
  return scatter_arrays(
      derived.has_cotangent,
      bind_primitive(call.primitive, with_program<P>(call.params.get(), derived.program),
                     operands));
}

template <class P>
std::vector<std::string> axis_names(const Params* params) {
  return program_of<P>(params)->axis_names;
}

template <class P>
constexpr Primitive call_primitive(std::string_view name, const TransformRules* rules) {
  return {.name = name,
          .type_rule = types<P>,
          .parse = parse_params<P>,
          .effects = effects<P>,
          .rules = rules,
          .body = body<P>,
          .axis_names = axis_names<P>};
}

extern const Primitive kJit;
extern const Primitive kCheckpoint;

// The known half runs now, the other is recorded.
std::vector<Array> jit_partial(const PartialCall& call) {
  const auto* params = call.params.get();
  const ProgramSplit split = split_program(program_of<JitParams>(params), call.is_unknown);
  const std::vector<Array> known =
      bind_primitive(kJit, with_program<JitParams>(params, split.known),
                     select<Array>(call.inputs, call.is_unknown, false));
  const size_t num_known = known.size() - split.num_residuals;
  std::vector<Array> operands(known.begin() + static_cast<int64_t>(num_known), known.end());
  const auto unknown = select<Array>(call.inputs, call.is_unknown);
  operands.insert(operands.end(), unknown.begin(), unknown.end());
  const std::vector<Array> rest =
      call.recorder.process(kJit, with_program<JitParams>(params, split.unknown), operands);
  return merge<Array>(split.is_unknown, rest, std::span(known).first(num_known));
}

struct CheckpointSplit {
  ProgramPtr known;  // known inputs to known outputs
  ProgramPtr again;  // all inputs to unknown outputs
  std::vector<bool> is_unknown;
};

CheckpointSplit split_checkpoint(const ProgramPtr& program, const std::vector<bool>& is_unknown) {
  std::vector<int64_t> key(is_unknown.begin(), is_unknown.end());
  return program->derived.find_or_make<CheckpointSplit>("checkpoint", std::move(key), [&] {
    const ProgramSplit split = split_program(program, is_unknown);
    const auto num_residuals = static_cast<int64_t>(split.num_residuals);
    CheckpointSplit result;
    result.is_unknown = split.is_unknown;
    result.known = record(
        [&](std::span<const Array> inputs) {
          std::vector<Array> all = evaluate(*split.known, inputs);
          all.erase(all.end() - num_residuals, all.end());
          return all;
        },
        split.known->input_types(), program->name);
    result.again = record(
        [&](std::span<const Array> inputs) {
          const auto all = evaluate(*split.known, select<Array>(inputs, is_unknown, false));
          std::vector<Array> operands(all.end() - num_residuals, all.end());
          const auto unknown = select<Array>(inputs, is_unknown);
          operands.insert(operands.end(), unknown.begin(), unknown.end());
          return evaluate(*split.unknown, operands);
        },
        program->input_types(), program->name);
    return result;
  });
}

// The known half runs now, but what it leaves for the other half is its operands alone: the other
// half begins by computing all again.
std::vector<Array> checkpoint_partial(const PartialCall& call) {
  const auto* params = call.params.get();
  const CheckpointSplit split =
      split_checkpoint(program_of<CheckpointParams>(params), call.is_unknown);
  const std::vector<Array> known =
      call_program(split.known, select<Array>(call.inputs, call.is_unknown, false));
  const std::vector<Array> rest = call.recorder.process(
      kCheckpoint, with_program<CheckpointParams>(params, split.again), call.inputs);
  return merge<Array>(split.is_unknown, rest, known);
}

const TransformRules kJitRules = {.jvp = call_jvp<JitParams>,
                                  .transpose = call_transpose<JitParams>,
                                  .batch = call_batch<JitParams>,
                                  .partial_eval = jit_partial};
const TransformRules kCheckpointRules = {.jvp = call_jvp<CheckpointParams>,
                                         .transpose = call_transpose<CheckpointParams>,
                                         .batch = call_batch<CheckpointParams>,
                                         .partial_eval = checkpoint_partial};
const Primitive kJit = call_primitive<JitParams>("jit", &kJitRules);
const Primitive kCheckpoint = call_primitive<CheckpointParams>("checkpoint", &kCheckpointRules);

const bool kRegistered = [] {
  register_primitive(kJit);
  register_primitive(kCheckpoint);
  return true;
}();

}  // namespace

std::vector<Array> call_program(const ProgramPtr& program, std::span<const Array> inputs) {
  return bind_primitive(kJit, make_params(JitParams{program->name, program}), inputs);
}

std::vector<Array> checkpoint(const FlatFunction& function, std::span<const Array> inputs,
                              const std::string& name, bool prevent_cse) {
  const Recording recording = record_closure(function, types_of(inputs), name);
  std::vector<Array> operands = recording.captured;
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  return bind_primitive(kCheckpoint, make_params(CheckpointParams{recording.program, prevent_cse}),
                        operands);
}

}  // namespace farcall
