#include "engine/native/kernels/elementwise/elementwise.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "engine/native/kernels/interruptible.h"
#include "engine/native/kernels/width.h"
#include "engine/native/parallel.h"

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

// Calls piece(first, last) for ranges of elements, on several threads if there are many.
template <class Piece>
void in_ranges(int64_t size, const Piece& piece) {
  // Of the slowest functions, a step takes some ten milliseconds.
  constexpr int64_t kRange = int64_t{1} << 14, kStep = int64_t{1} << 11;
  if (size <= kStep) [[likely]]
    return piece(int64_t{0}, size);
  run_tiles((size - 1) / kRange + 1, num_threads_for_elements(size), [&](Tiles& tiles) {
    for (int64_t range; tiles.next(range);) {
      const int64_t end = std::min(size, (range + 1) * kRange);
      for (int64_t first = range * kRange; first < end; first += kStep) {
        piece(first, std::min(end, first + kStep));
        if (!tiles.go_on(kStep * kStepCost)) return;
      }
    }
  });
}

void run_whole(const KernelCall& call) {
  const auto& plan = *static_cast<const ElementwisePlan*>(call.data);
  const auto at = [](void* data, int64_t i, size_t width) {
    return static_cast<std::byte*>(data) + static_cast<size_t>(i) * width;
  };
  in_ranges(plan.size, [&](int64_t first, int64_t last) {
    const void* inputs[kMaxElementwiseInputs];
    for (size_t i = 0; i < plan.num_inputs; ++i) {
      inputs[i] = at(call.operands[i], first, plan.inputs[i].load.source_width);
    }
    void* const output = at(call.operands[plan.num_inputs], first, plan.store.target_width);
    plan.loop(inputs, output, last - first, plan.extra);
  });
}

// `repeated` holds the blocks of scalar operands.
void run_range_in_blocks(const ElementwisePlan& plan, const KernelCall& call, const Block* repeated,
                         int64_t first, int64_t last) {
  Block blocks[kMaxElementwiseInputs], result;
  const void* pointers[kMaxElementwiseInputs] = {};
  for (size_t i = 0; i < plan.num_inputs; ++i) {
    pointers[i] = plan.inputs[i].is_repeated ? repeated[i].bytes : blocks[i].bytes;
  }
  auto* output = static_cast<std::byte*>(call.operands[plan.num_inputs]);
  for (int64_t start = first; start < last; start += kBlock) {
    const int64_t count = std::min(last - start, kBlock);
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
  }
}

// Each scalar is repeated once into a block that serves all blocks of the other operands. This
// happens before anything is written, because the output may share a scalar's memory.
void run_blocks(const KernelCall& call) {
  const auto& plan = *static_cast<const ElementwisePlan*>(call.data);
  if (plan.size == 0) return;
  Block repeated[kMaxElementwiseInputs];
  for (size_t i = 0; i < plan.num_inputs; ++i) {
    const auto& input = plan.inputs[i];
    if (!input.is_repeated) continue;
    alignas(16) std::byte converted[kMaxComputeWidth];
    const void* element = call.operands[i];
    if (!input.load.is_copy()) {
      input.load.run(element, converted, 1);
      element = converted;
    }
    fill_elements(repeated[i].bytes, element, input.load.target_width, std::min(plan.size, kBlock));
  }
  in_ranges(plan.size, [&](int64_t first, int64_t last) {
    run_range_in_blocks(plan, call, repeated, first, last);
  });
}

struct ConvertPlan {
  Conversion conversion;
  int64_t size;
};

void run_conversion(const KernelCall& call) {
  const auto& plan = *static_cast<const ConvertPlan*>(call.data);
  in_ranges(plan.size, [&](int64_t first, int64_t last) {
    const auto at = static_cast<size_t>(first);
    plan.conversion.run(
        static_cast<const std::byte*>(call.operands[0]) + at * plan.conversion.source_width,
        static_cast<std::byte*>(call.operands[1]) + at * plan.conversion.target_width,
        last - first);
  });
}

template <class T>
void fill_piece(T* target, T value, int64_t count) {
  std::fill_n(target, count, value);
}

template <class T>
void fill_as(void* target, const void* element, int64_t size) {
  constexpr int64_t kFew = 16;
  static const auto fill = best_loop<fill_piece<T>>();
  T value;
  std::memcpy(&value, element, sizeof(T));
  if (size <= kFew) return fill_piece(static_cast<T*>(target), value, size);
  in_pieces(size, [&](int64_t first, int64_t count) {
    fill(static_cast<T*>(target) + first, value, count);
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

namespace {

// Elements that are repeated a few times each. `kTimes` is 0 for any number of times. Neither
// pointer need be aligned.
template <class T, int64_t kTimes>
void repeat_few(const void* elements, void* target, int64_t count, int64_t times) {
  const int64_t number = kTimes == 0 ? times : kTimes;
  const auto* from = static_cast<const std::byte*>(elements);
  auto* to = static_cast<std::byte*>(target);
  for (int64_t i = 0; i < count; ++i, from += sizeof(T)) {
    T element;
    std::memcpy(&element, from, sizeof(T));
    for (int64_t j = 0; j < number; ++j, to += sizeof(T)) std::memcpy(to, &element, sizeof(T));
  }
}

using Repeat = void (*)(const void* elements, void* target, int64_t count, int64_t times);
template <class T>
Repeat repeat_of(int64_t times) {
  switch (times) {
    case 2:
      return best_loop<repeat_few<T, 2>>();
    case 3:
      return best_loop<repeat_few<T, 3>>();
    case 4:
      return best_loop<repeat_few<T, 4>>();
    case 8:
      return best_loop<repeat_few<T, 8>>();
    default:
      return repeat_few<T, 0>;
  }
}

}  // namespace

void repeat_elements(void* target, const void* elements, size_t width, int64_t count,
                     int64_t times) {
  if (repeats_few(width, times)) {
    const auto repeat = visit_width(static_cast<int64_t>(width),
                                    [times]<class T>(T) { return repeat_of<T>(times); });
    return repeat(elements, target, count, times);
  }
  const auto* from = static_cast<const std::byte*>(elements);
  auto* to = static_cast<std::byte*>(target);
  for (int64_t i = 0; i < count; ++i, from += width) {
    fill_elements(to, from, width, times);
    to += static_cast<size_t>(times) * width;
  }
}

Kernel make_elementwise(std::span<const ShapeDtype> inputs, const ShapeDtype& output,
                        const ElementwiseSpec& spec) {
  if (spec.conversion) {
    return {.run = run_conversion,
            .data = std::make_shared<ConvertPlan>(ConvertPlan{*spec.conversion, output.size()}),
            .can_run_in_place = true};
  }
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

ElementwiseSpec elementwise(const LoopTable& loops, DType dtype, int64_t extra) {
  const DType compute = compute_dtype(dtype);
  return {.loop = loops[static_cast<size_t>(compute)],
          .loads = {compute, compute, compute},
          .extra = extra};
}

}  // namespace farcall::native
