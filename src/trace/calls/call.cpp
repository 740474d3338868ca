// The primitives jit and cluster.
#include <farcall/trace/call.h>

#include <farcall/primitives/call.h>
#include <farcall/primitives/cluster.h>
#include <farcall/primitives/primitives.h>

#include "trace/calls/call_rules.h"

namespace farcall {
namespace {

// Runs the known part now and records the other.
template <class P>
std::vector<Array> partial(const PartialCall& call) {
  const auto* params = call.params.get();
  const ProgramPartialEval split = partial_eval_program(program_of<P>(params), call.is_unknown);
  const std::vector<Array> known =
      bind_primitive(call.primitive, with_program<P>(params, split.known),
                     select<Array>(call.inputs, call.is_unknown, /*wanted=*/false));
  const size_t num_known = known.size() - split.num_residuals;
  std::vector<Array> operands(known.begin() + static_cast<int64_t>(num_known), known.end());
  const auto unknown = select<Array>(call.inputs, call.is_unknown);
  operands.insert(operands.end(), unknown.begin(), unknown.end());
  const std::vector<Array> rest =
      call.recorder.process(call.primitive, with_program<P>(params, split.unknown), operands);
  return merge<Array>(split.is_unknown, rest, std::span(known).first(num_known));
}

template <class P>
const TransformRules kRules = {.jvp = call_jvp<P>,
                               .transpose = call_transpose<P>,
                               .batch = call_batch<P>,
                               .partial_eval = partial<P>};
const Primitive kJit = call_primitive<JitParams>("jit", &kRules<JitParams>);

}  // namespace

const Primitive kCluster = call_primitive<ClusterParams>("cluster", &kRules<ClusterParams>);

const bool kCallRegistered = [] {
  register_primitive(kJit);
  register_primitive(kCluster);
  return true;
}();

std::vector<Array> call_program(const ProgramPtr& program, std::span<const Array> inputs) {
  return bind_primitive(kJit, make_params(JitParams{program->name, program}), inputs);
}

}  // namespace farcall
