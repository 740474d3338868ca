#include "engine/native/kernels/elementwise.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "engine/native/kernels/interruptible.h"

namespace farcall::native {
namespace {

struct Block {
  alignas(64) std::byte bytes[kBlock * kMaxComputeWidth];
};

struct ElementwisePlan {
  struct Input {
    Conversion load;
    bool is_repeated = false;
  };
  std::array<Input, kMaxElementwiseInputs> inputs;
  size_t num_inputs = 0;
  Conversion store;
  Loop loop = nullptr;
  int64_t size = 0;
  int64_t extra = 0;
};

void run_whole(const KernelCall& call) {
  const auto& plan = *static_cast<const ElementwisePlan*>(call.data);
  if (plan.size <= kPolledElements) [[likely]]
    return plan.loop(call.operands, call.operands[plan.num_inputs], plan.size, plan.extra);
  InterruptCounter counter;
  for (int64_t start = 0; start < plan.size; start += kPolledElements) {
    const int64_t count = std::min(plan.size - start, kPolledElements);
    const auto at_start = [&](void* data, size_t width) {
      return static_cast<std::byte*>(data) + static_cast<size_t>(start) * width;
    };
    const void* inputs[kMaxElementwiseInputs];
    for (size_t i = 0; i < plan.num_inputs; ++i) {
      inputs[i] = at_start(call.operands[i], plan.inputs[i].load.source_width);
    }
    plan.loop(inputs, at_start(call.operands[plan.num_inputs], plan.store.target_width), count,
              plan.extra);
    counter.add(count);
  }
}

// Scalars are repeated once, into a block that serves all blocks of the other operands: before
// anything is written, as the output may lie where a scalar does.
void run_blocks(const KernelCall& call) {
  const auto& plan = *static_cast<const ElementwisePlan*>(call.data);
  if (plan.size == 0) return;
  Block blocks[kMaxElementwiseInputs], result;
  const void* pointers[kMaxElementwiseInputs] = {};
  for (size_t i = 0; i < plan.num_inputs; ++i) {
    const auto& input = plan.inputs[i];
    pointers[i] = input.is_repeated || !input.load.is_copy() ? blocks[i].bytes : call.operands[i];
    if (!input.is_repeated) continue;
    alignas(16) std::byte element[kMaxComputeWidth];
    input.load.run(call.operands[i], element, 1);
    fill_elements(blocks[i].bytes, element, input.load.target_width, std::min(plan.size, kBlock));
  }
  auto* output = static_cast<std::byte*>(call.operands[plan.num_inputs]);
  InterruptCounter counter;
  for (int64_t start = 0; start < plan.size; start += kBlock) {
    const int64_t count = std::min(plan.size - start, kBlock);
    for (size_t i = 0; i < plan.num_inputs; ++i) {
      const auto& input = plan.inputs[i];
      if (input.is_repeated) continue;
      const auto* source = static_cast<const std::byte*>(call.operands[i]) +
                           static_cast<size_t>(start) * input.load.source_width;
      if (input.load.is_copy()) {
        pointers[i] = source;
      } else {
        input.load.run(source, blocks[i].bytes, count);
      }
    }
    auto* target = output + static_cast<size_t>(start) * plan.store.target_width;
    if (plan.store.is_copy()) {
      plan.loop(pointers, target, count, plan.extra);
    } else {
      plan.loop(pointers, result.bytes, count, plan.extra);
      plan.store.run(result.bytes, target, count);
    }
    counter.add(count);
  }
}

template <class T>
void fill_as(void* target, const void* element, int64_t size) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  in_pieces(size, [&](int64_t first, int64_t count) {
    std::fill_n(static_cast<T*>(target) + first, count, value);
  });
}

}  // namespace

void fill_elements(void* target, const void* element, size_t width, int64_t size) {
  switch (width) {
    case 1:
      return fill_as<uint8_t>(target, element, size);
    case 2:
      return fill_as<uint16_t>(target, element, size);
    case 4:
      return fill_as<uint32_t>(target, element, size);
    case 8:
      return fill_as<uint64_t>(target, element, size);
    default:
      FARCALL_ASSERT(width == 16);
      return fill_as<std::array<uint64_t, 2>>(target, element, size);
  }
}

Kernel make_elementwise(std::span<const ShapeDtype> inputs, const ShapeDtype& output,
                        const ElementwiseSpec& spec) {
  if (!spec.loop.loop) return {};
  FARCALL_ASSERT(inputs.size() <= kMaxElementwiseInputs);
  auto plan = std::make_shared<ElementwisePlan>();
  plan->num_inputs = inputs.size();
  plan->loop = spec.loop.loop;
  plan->size = output.size();
  plan->extra = spec.extra;
  plan->store = make_conversion(spec.loop.result, output.dtype());
  bool is_direct = plan->store.is_copy();
  for (size_t i = 0; i < inputs.size(); ++i) {
    plan->inputs[i].load = make_conversion(inputs[i].dtype(), spec.loads[i]);
    plan->inputs[i].is_repeated = inputs[i].size() != output.size();
    FARCALL_ASSERT(!plan->inputs[i].is_repeated || inputs[i].size() == 1);
    is_direct = is_direct && plan->inputs[i].load.is_copy() && !plan->inputs[i].is_repeated;
  }
  return {
      .run = is_direct ? run_whole : run_blocks, .data = std::move(plan), .can_run_in_place = true};
}

Kernel make_elementwise(std::span<const ShapeDtype> inputs, const ShapeDtype& output,
                        const LoopTable& loops, DType dtype, int64_t extra) {
  const DType compute = compute_dtype(dtype);
  return make_elementwise(inputs, output,
                          {.loop = loops[static_cast<size_t>(compute)],
                           .loads = {compute, compute, compute},
                           .extra = extra});
}

}  // namespace farcall::native
