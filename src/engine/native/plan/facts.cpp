#include "engine/native/plan/facts.h"

#include <algorithm>
#include <utility>

#include <farcall/core/sizes.h>
#include <farcall/program/cost.h>

#include "engine/native/kernels/clusters/cluster.h"
#include "engine/native/region.h"

namespace farcall::native {
namespace {

// The machine code of a loop; null for other instructions.
const jit::LoopCode* code_of(const Instruction& instruction) {
  switch (instruction.kind) {
    case Instruction::Kind::kScan:
      return static_cast<const ScanRegion*>(instruction.data)->code.get();
    case Instruction::Kind::kWhile:
      return static_cast<const WhileRegion*>(instruction.data)->code.get();
    default:
      return nullptr;
  }
}

bool is_bounded(const Plan& plan) {
  return plan.instructions.size() <= 16 &&
         std::ranges::none_of(plan.instructions,
                              [](const Instruction& instruction) {
                                return instruction.kind == Instruction::Kind::kWhile;
                              }) &&
         std::ranges::all_of(plan.children, [](const auto& child) { return is_bounded(*child); });
}

// The minimum number of calls in one run.
int64_t num_calls(const Plan& plan) {
  auto count = static_cast<int64_t>(plan.calls.size());
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.kind != Instruction::Kind::kScan) continue;
    const auto& scan = *static_cast<const ScanRegion*>(instruction.data);
    count =
        saturated_sum(count, saturated_product(scan.length, num_calls(*plan.children[scan.child])));
  }
  return count;
}

}  // namespace

void visit_programs(const Plan& plan, const std::function<void(const ProgramPtr&)>& visit) {
  visit(plan.program);
  for (const auto& child : plan.children) visit_programs(*child, visit);
}

void for_each_nested(const Plan& plan, const std::function<void(const Executable&)>& visit) {
  for (const auto& nested : plan.nested) visit(*nested);
  for (const auto& child : plan.children) for_each_nested(*child, visit);
}

void add_loops(const Plan& plan, std::vector<LoopReport>& loops) {
  size_t next_child = 0;  // children follow in the order of their instructions
  for (const Instruction& instruction : plan.instructions) {
    size_t num_children = 0;
    if (instruction.kind == Instruction::Kind::kScan) num_children = 1;
    if (instruction.kind == Instruction::Kind::kWhile) num_children = 2;
    if (instruction.kind == Instruction::Kind::kCond) {
      num_children = static_cast<const CondRegion*>(instruction.data)->branches.size();
    }
    const size_t first = std::exchange(next_child, next_child + num_children);
    if (const jit::LoopCode* code = code_of(instruction)) {
      loops.push_back(code->report());
      if (loops.back().why_not.empty()) continue;
    }
    for (size_t i = first; i < next_child; ++i) add_loops(*plan.children[i], loops);
  }
}

int64_t coded_operations(const Plan& plan) {
  int64_t sum = 0;
  for (const Instruction& each : plan.instructions) {
    sum += make_cluster_code(each.run, each.data).num_operations;
  }
  for (const auto& child : plan.children) sum += coded_operations(*child);
  return sum;
}

void add_memory(const Plan& plan, MemoryUse& use) {
  for (const Instruction& instruction : plan.instructions) {
    use.generated_code_bytes += cluster_code(instruction.run, instruction.data).nbytes;
    if (const jit::LoopCode* code = code_of(instruction))
      use.generated_code_bytes += code->nbytes();
  }
  use.temp_bytes += plan.arena_bytes + plan.scratch_bytes;
  for (const Storage& constant : plan.constants) use.constant_bytes += constant.nbytes();
  for (const auto& child : plan.children) add_memory(*child, use);
}

bool runs_briefly(const Plan& plan) {
  constexpr int64_t kBriefBytes = 1 << 14;
  if (plan.has_foreign_code || !is_bounded(plan)) return false;
  const Cost cost = plan.program->cost();
  return saturated_sum(cost.bytes, cost.flops) <=
         saturated_product(kBriefBytes, saturated_sum(1, num_calls(plan)));
}

bool has_own_outputs(const Plan& plan) {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const Allocation allocation = plan.outputs[i].allocation;
    if (allocation.kind != Allocation::Kind::kOutput || allocation.index != i) return false;
  }
  return true;
}

}  // namespace farcall::native
