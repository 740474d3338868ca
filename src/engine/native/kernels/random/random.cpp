// Kernels of the primitives on random keys.
#include <farcall/primitives/random.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "engine/native/kernels/clusters/lane_tiles.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/random/threefry.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

struct Key {
  uint32_t first, second;
};

// Hashes computed at a time: they fit the cache, and a block's counters all have the same high
// word.
constexpr int64_t kHashes = 512;

// Calls run(block) for each block, of so many hashes, on several threads where that pays.
template <class Run>
void for_blocks(int64_t num_blocks, int64_t hashes_of_block, const Run& run) {
  constexpr int64_t kStepsOfHash = 4;
  const int64_t steps = hashes_of_block * kStepsOfHash;
  if (steps == 0) return;
  for_lanes(num_blocks, steps, 0, nullptr, [&](int64_t block, std::byte*, Tiles& tiles) {
    run(block);
    return tiles.go_on(steps * kStepCost);
  });
}

// What a hash becomes: random bits, or a new key.
template <class T>
struct Bits {
  using Result = T;
  T operator()(uint32_t y1, uint32_t y2) const { return static_cast<T>(y1 ^ y2); }
};
template <>
struct Bits<uint64_t> {
  using Result = uint64_t;
  uint64_t operator()(uint32_t y1, uint32_t y2) const {
    return static_cast<uint64_t>(y1) << 32 | y2;
  }
};
struct NewKey {
  using Result = Key;
  Key operator()(uint32_t y1, uint32_t y2) const { return {y1, y2}; }
};

// ---- the hashes of the counters 0, 1, … of each key

struct CounterPlan {
  int64_t num_keys = 0, num_counters = 0;
};

// Hashes the counters of one key after the other.
template <class What>
void hash_long(const CounterPlan& plan, const Key* keys, typename What::Result* out) {
  const int64_t blocks_of_key = (plan.num_counters + kHashes - 1) / kHashes;
  for_blocks(plan.num_keys * blocks_of_key, kHashes, [&](int64_t block) {
    alignas(64) uint32_t y1[kHashes], y2[kHashes];
    const int64_t key = block / blocks_of_key, start = block % blocks_of_key * kHashes;
    const int64_t count = std::min(kHashes, plan.num_counters - start);
    threefry2x32_counters(keys[key].first, keys[key].second, static_cast<uint64_t>(start), y1, y2,
                          count);
    auto* to = out + key * plan.num_counters + start;
    for (int64_t i = 0; i < count; ++i) to[i] = What()(y1[i], y2[i]);
  });
}

// Hashes a block of keys for each counter: faster if there are few counters per key.
template <class What>
void hash_short(const CounterPlan& plan, const Key* keys, typename What::Result* out) {
  for_blocks(
      (plan.num_keys + kHashes - 1) / kHashes, kHashes * plan.num_counters, [&](int64_t block) {
        alignas(64) uint32_t key1[kHashes], key2[kHashes], x1[kHashes] = {}, x2[kHashes];
        alignas(64) uint32_t y1[kHashes], y2[kHashes];
        const int64_t start = block * kHashes, count = std::min(kHashes, plan.num_keys - start);
        for (int64_t i = 0; i < count; ++i) {
          key1[i] = keys[start + i].first;
          key2[i] = keys[start + i].second;
        }
        for (int64_t counter = 0; counter < plan.num_counters; ++counter) {
          std::fill_n(x2, count, static_cast<uint32_t>(counter));
          threefry2x32({key1, key2, x1, x2, y1, y2}, count);
          auto* to = out + start * plan.num_counters + counter;
          for (int64_t i = 0; i < count; ++i) to[i * plan.num_counters] = What()(y1[i], y2[i]);
        }
      });
}

template <class What>
void run_counters(const KernelCall& call) {
  const auto& plan = *static_cast<const CounterPlan*>(call.data);
  const auto* keys = static_cast<const Key*>(call.operands[0]);
  auto* out = static_cast<typename What::Result*>(call.operands[1]);
  constexpr int64_t kLong = 32;
  if (plan.num_keys == 1 || plan.num_counters >= kLong) {
    hash_long<What>(plan, keys, out);
  } else {
    hash_short<What>(plan, keys, out);
  }
}

template <class What>
Kernel counter_kernel(const ShapeDtype& keys, const ShapeDtype& output) {
  const int64_t num_keys = keys.size();
  const int64_t num_counters = num_keys == 0 ? 0 : output.size() / num_keys;
  return {.run = run_counters<What>,
          .data = std::make_shared<CounterPlan>(CounterPlan{num_keys, num_counters})};
}

Kernel make_bits(Types inputs, Types outputs, const Params* params) {
  switch (params_as<RandomBitsParams>(params).bit_width) {
    case 8:
      return counter_kernel<Bits<uint8_t>>(inputs[0], outputs[0]);
    case 16:
      return counter_kernel<Bits<uint16_t>>(inputs[0], outputs[0]);
    case 32:
      return counter_kernel<Bits<uint32_t>>(inputs[0], outputs[0]);
    default:
      return counter_kernel<Bits<uint64_t>>(inputs[0], outputs[0]);
  }
}

Kernel make_split(Types inputs, Types outputs, const Params*) {
  return counter_kernel<NewKey>(inputs[0], outputs[0]);
}

// ---- the hashes of given words

// Operands have as many elements as the result, or one element, which is repeated.
struct ElementPlan {
  int64_t size = 0;
  int64_t steps[4] = {};  // from an element to the next, by operand
};

std::shared_ptr<ElementPlan> element_plan(Types inputs, const ShapeDtype& output) {
  auto plan = std::make_shared<ElementPlan>();
  plan->size = output.size();
  for (size_t i = 0; i < inputs.size(); ++i) plan->steps[i] = inputs[i].size() == 1 ? 0 : 1;
  return plan;
}

void run_fold_in(const KernelCall& call) {
  const auto& plan = *static_cast<const ElementPlan*>(call.data);
  const auto* keys = static_cast<const Key*>(call.operands[0]);
  const auto* data = static_cast<const uint32_t*>(call.operands[1]);
  auto* out = static_cast<Key*>(call.operands[2]);
  for_blocks((plan.size + kHashes - 1) / kHashes, kHashes, [&](int64_t block) {
    alignas(64) uint32_t key1[kHashes], key2[kHashes], x1[kHashes] = {}, x2[kHashes];
    alignas(64) uint32_t y1[kHashes], y2[kHashes];
    const int64_t start = block * kHashes, count = std::min(kHashes, plan.size - start);
    for (int64_t i = 0; i < count; ++i) {
      const Key& key = keys[(start + i) * plan.steps[0]];
      key1[i] = key.first;
      key2[i] = key.second;
      x2[i] = data[(start + i) * plan.steps[1]];
    }
    threefry2x32({key1, key2, x1, x2, y1, y2}, count);
    for (int64_t i = 0; i < count; ++i) out[start + i] = {y1[i], y2[i]};
  });
}

Kernel make_fold_in(Types inputs, Types outputs, const Params*) {
  return {.run = run_fold_in, .data = element_plan(inputs, outputs[0])};
}

void run_threefry(const KernelCall& call) {
  const auto& plan = *static_cast<const ElementPlan*>(call.data);
  for_blocks((plan.size + kHashes - 1) / kHashes, kHashes, [&](int64_t block) {
    alignas(64) uint32_t words[4][kHashes];
    const int64_t start = block * kHashes, count = std::min(kHashes, plan.size - start);
    for (int operand = 0; operand < 4; ++operand) {
      const auto* from = static_cast<const uint32_t*>(call.operands[operand]);
      const int64_t step = plan.steps[operand];
      for (int64_t i = 0; i < count; ++i) words[operand][i] = from[(start + i) * step];
    }
    threefry2x32(
        {words[0], words[1], words[2], words[3], static_cast<uint32_t*>(call.operands[4]) + start,
         static_cast<uint32_t*>(call.operands[5]) + start},
        count);
  });
}

Kernel make_threefry(Types inputs, Types outputs, const Params*) {
  return {.run = run_threefry, .data = element_plan(inputs, outputs[0])};
}

// ---- keys as words, and words as keys

struct CopyPlan {
  size_t nbytes;
};

void run_copy(const KernelCall& call) {
  const size_t nbytes = static_cast<const CopyPlan*>(call.data)->nbytes;
  if (nbytes > 0 && call.operands[0] != call.operands[1]) {
    std::memcpy(call.operands[1], call.operands[0], nbytes);
  }
}

Kernel make_copy(Types inputs, Types, const Params*) {
  return {.run = run_copy,
          .data = std::make_shared<CopyPlan>(CopyPlan{inputs[0].nbytes()}),
          .can_run_in_place = true};
}

constexpr KernelRow kRows[] = {
    {"random_bits", make_bits},   {"random_fold_in", make_fold_in}, {"random_split", make_split},
    {"random_unwrap", make_copy}, {"random_wrap", make_copy},       {"threefry2x32", make_threefry},
};

}  // namespace

std::span<const KernelRow> random_rows() { return kRows; }

}  // namespace farcall::native
