// Runs loops and branches step by step, for debug_nans and debug_infs.
#include <algorithm>
#include <vector>

#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/trace/debug_checks.h>

#include "ops/control/programs.h"

namespace farcall {
namespace {

using control::concat;

using Arrays = std::span<const Array>;

void run_scan(const Params* params, Arrays operands, const RunProgram& run) {
  const auto& scan = params_as<ScanParams>(params);
  const auto num_consts = static_cast<size_t>(scan.num_consts);
  const auto num_carry = static_cast<size_t>(scan.num_carry);
  std::vector<Array> inputs(operands.begin(), operands.begin() + num_consts + num_carry);
  const Arrays slices = operands.subspan(num_consts + num_carry);
  inputs.resize(operands.size());
  for (int64_t i = 0; i < scan.length; ++i) {
    const numpy::Index at[] = {scan.reverse ? scan.length - 1 - i : i};
    for (size_t j = 0; j < slices.size(); ++j) {
      inputs[num_consts + num_carry + j] = numpy::take(slices[j], at);
    }
    const std::vector<Array> results = run(*scan.jaxpr, inputs);
    std::copy_n(results.begin(), num_carry, inputs.begin() + static_cast<ptrdiff_t>(num_consts));
  }
}

void run_while(const Params* params, Arrays operands, const RunProgram& run) {
  const auto& loop = params_as<WhileParams>(params);
  const auto num_cond = static_cast<size_t>(loop.cond_nconsts);
  const auto num_body = static_cast<size_t>(loop.body_nconsts);
  const Arrays cond_consts = operands.first(num_cond);
  const Arrays body_consts = operands.subspan(num_cond, num_body);
  const Arrays init = operands.subspan(num_cond + num_body);
  std::vector<Array> carry(init.begin(), init.end());
  while (run(*loop.cond_jaxpr, concat<Array>(cond_consts, carry))[0].item<bool>()) {
    carry = run(*loop.body_jaxpr, concat<Array>(body_consts, carry));
  }
}

void run_cond(const Params* params, Arrays operands, const RunProgram& run) {
  const auto& branches = params_as<CondParams>(params).branches;
  const auto last = static_cast<int32_t>(branches.size()) - 1;
  const int32_t which = std::clamp(operands[0].item<int32_t>(), 0, last);
  run(*branches[static_cast<size_t>(which)], operands.subspan(1));
}

const bool kRegistered = [] {
  set_step_rule(PrimitiveKind::kScan, run_scan);
  set_step_rule(PrimitiveKind::kWhile, run_while);
  set_step_rule(PrimitiveKind::kCond, run_cond);
  return true;
}();

}  // namespace
}  // namespace farcall
