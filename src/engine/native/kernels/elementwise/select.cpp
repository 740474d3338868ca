// select_n.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/interruptible.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/width.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

template <class T>
void select_two(const void* const* inputs, void* output, int64_t size, int64_t) {
  const auto* which = static_cast<const uint8_t*>(inputs[0]);
  const auto* if_false = static_cast<const T*>(inputs[1]);
  const auto* if_true = static_cast<const T*>(inputs[2]);
  auto* result = static_cast<T*>(output);
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    const T no = if_false[i], yes = if_true[i];
    result[i] = which[i] ? yes : no;
  }
}

struct SelectPlan {
  size_t num_cases;
  size_t width;
  int64_t size;
  bool is_bool;
  int64_t predicate_step;           // 0 for a scalar
  std::vector<int64_t> case_steps;  // 0 for a scalar
};

// Selectors without a case take the nearest one.
int64_t case_index(const SelectPlan& plan, const void* predicate, int64_t i) {
  if (plan.is_bool) return static_cast<const uint8_t*>(predicate)[i] != 0;
  const int64_t index = static_cast<const int32_t*>(predicate)[i];
  return std::clamp<int64_t>(index, 0, static_cast<int64_t>(plan.num_cases) - 1);
}

void select_whole(const KernelCall& call) {
  const auto& plan = *static_cast<const SelectPlan*>(call.data);
  if (plan.size == 0) return;
  const auto chosen = static_cast<size_t>(case_index(plan, call.operands[0], 0));
  const void* source = call.operands[1 + chosen];
  void* target = call.operands[1 + plan.num_cases];
  if (plan.case_steps[chosen] == 0) {
    std::byte element[kMaxComputeWidth];
    std::memcpy(element, source, plan.width);
    fill_elements(target, element, plan.width, plan.size);
  } else if (source != target) {
    std::memcpy(target, source, static_cast<size_t>(plan.size) * plan.width);
  }
}

template <class T>
void select_each(const KernelCall& call) {
  const auto& plan = *static_cast<const SelectPlan*>(call.data);
  auto* result = static_cast<T*>(call.operands[1 + plan.num_cases]);
  InterruptCounter counter;
  for (int64_t i = 0; i < plan.size; ++i) {
    counter.add(1);
    const auto chosen = static_cast<size_t>(case_index(plan, call.operands[0], i));
    result[i] = static_cast<const T*>(call.operands[1 + chosen])[i * plan.case_steps[chosen]];
  }
}

// Describes the selection between two cases with one predicate per element.
ElementwiseSpec describe_select(Types inputs, Types outputs, const Params*) {
  const ShapeDtype output = outputs[0];
  if (inputs.size() != 3 || inputs[0].dtype() != DType::kBool || output.is_token() ||
      inputs[0].size() != output.size()) {
    return {};
  }
  const DType dtype = output.dtype();
  const Loop loop = visit_width(byte_width(dtype), [](auto element) -> Loop {
    return best_loop<select_two<decltype(element)>>();
  });
  return {.loop = {loop, dtype}, .loads = {DType::kBool, dtype, dtype}};
}

// Makes the kernel of all other selections.
Kernel make_select(Types inputs, Types outputs, const Params*) {
  const auto& output = outputs[0];
  const bool is_bool = inputs[0].dtype() == DType::kBool;
  if (!is_bool && inputs[0].dtype() != DType::kInt32) return {};
  if (output.is_token()) return {};
  const bool is_one_choice = inputs[0].size() != output.size();
  const size_t width = byte_width(output.dtype());
  auto plan = std::make_shared<SelectPlan>();
  plan->num_cases = inputs.size() - 1;
  plan->width = width;
  plan->size = output.size();
  plan->is_bool = is_bool;
  bool has_scalar_case = false;
  for (const auto& type : inputs.subspan(1)) {
    plan->case_steps.push_back(type.size() == output.size() ? 1 : 0);
    has_scalar_case = has_scalar_case || plan->case_steps.back() == 0;
  }
  void (*run)(const KernelCall&) = select_whole;
  if (!is_one_choice) {
    switch (width) {
      case 1:
        run = select_each<uint8_t>;
        break;
      case 2:
        run = select_each<uint16_t>;
        break;
      case 4:
        run = select_each<uint32_t>;
        break;
      case 8:
        run = select_each<uint64_t>;
        break;
      default:
        run = select_each<Wide>;
    }
  }
  // select_each reads a scalar case repeatedly, so nothing may be written over it.
  return {
      .run = run, .data = std::move(plan), .can_run_in_place = is_one_choice || !has_scalar_case};
}

constexpr KernelRow kRows[] = {{"select_n", describe_select, make_select}};

}  // namespace

std::span<const KernelRow> select_rows() { return kRows; }

}  // namespace farcall::native
