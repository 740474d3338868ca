// The primitive jit.
#include <farcall/trace/call.h>

#include <farcall/primitives/call.h>

#include "trace/call_rules.h"

namespace farcall {
namespace {

extern const Primitive kJit;

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

const TransformRules kJitRules = {.jvp = call_jvp<JitParams>,
                                  .transpose = call_transpose<JitParams>,
                                  .batch = call_batch<JitParams>,
                                  .partial_eval = jit_partial};
const Primitive kJit = call_primitive<JitParams>("jit", &kJitRules);

const bool kRegistered = [] {
  register_primitive(kJit);
  return true;
}();

}  // namespace

std::vector<Array> call_program(const ProgramPtr& program, std::span<const Array> inputs) {
  return bind_primitive(kJit, make_params(JitParams{program->name, program}), inputs);
}

}  // namespace farcall
