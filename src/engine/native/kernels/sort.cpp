// sort: each lane's keys become unsigned integers of the same order, these are sorted together with
// the positions, and all operands follow the positions.
#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include <farcall/primitives/cumulative.h>

#include "engine/native/kernels/elementwise.h"
#include "engine/native/kernels/interruptible.h"
#include "engine/native/kernels/lanes.h"
#include "engine/native/kernels/rows.h"
#include "engine/native/kernels/scratch.h"
#include "engine/native/kernels/width.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

// ---- keys

// Ordered as the value is, NaNs last and equal to one another, zeros equal.
template <class T>
uint64_t order_of(T value) {
  if constexpr (Float<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits kSign = Bits(1) << (8 * sizeof(T) - 1);
    if (value != value) return ~Bits(0);
    if (value == 0) value = 0;
    const auto bits = std::bit_cast<Bits>(value);
    return bits & kSign ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | kSign);
  } else if constexpr (Signed<T>) {
    using Bits = std::make_unsigned_t<T>;
    constexpr Bits kSign = static_cast<Bits>(Bits(1) << (8 * sizeof(T) - 1));
    return static_cast<Bits>(static_cast<Bits>(value) ^ kSign);
  } else {
    return value;
  }
}

// A column of keys, dense, from elements of the type computed in. Complex ones have two columns.
using OrderLoop = void (*)(const void* x, int64_t size, uint64_t* keys);

template <class T>
void order_real(const void* x, int64_t size, uint64_t* keys) {
  const auto* from = static_cast<const T*>(x);
  for (int64_t i = 0; i < size; ++i) keys[i] = order_of(from[i]);
}
template <class T>
void order_complex(const void* x, int64_t size, uint64_t* keys) {
  const auto* from = static_cast<const T*>(x);
  for (int64_t i = 0; i < size; ++i) {
    keys[i] = order_of(from[i].real());
    keys[size + i] = order_of(from[i].imag());
  }
}

OrderLoop order_loop(DType compute) {
  OrderLoop loop = nullptr;
  for_each_compute_type([&]<class T>() {
    if (kDTypeOf<T> != compute) return;
    if constexpr (Complex<T>) {
      loop = order_complex<T>;
    } else {
      loop = order_real<T>;
    }
  });
  return loop;
}

// ---- the plan

struct Key {
  size_t operand = 0;
  Conversion load;
  OrderLoop order = nullptr;
  int64_t num_columns = 1;
};

struct SortPlan {
  std::vector<size_t> widths;  // of the operands
  std::vector<Key> keys;
  size_t num_columns = 0;
  bool is_packed = false;  // key and position fit into one word together
  Lanes lanes;
  // In scratch: a lane of elements, the same converted, key columns, positions, pairs.
  size_t elements = 0, converted = 0, columns = 0, positions = 0, pairs = 0;
};

struct KeyAndPosition {
  uint64_t key;
  int64_t position;
  friend auto operator<=>(const KeyAndPosition&, const KeyAndPosition&) = default;
};

void load_keys(const SortPlan& plan, const KernelCall& call, int64_t first, std::byte* scratch,
               uint64_t* columns) {
  const int64_t size = plan.lanes.size, stride = plan.lanes.inner;
  for (const Key& key : plan.keys) {
    const void* elements = nullptr;
    visit_width(static_cast<int64_t>(plan.widths[key.operand]), [&]<class T>(T) {
      const auto* from = static_cast<const T*>(call.operands[key.operand]) + first;
      auto* to = reinterpret_cast<T*>(scratch + plan.elements);
      for (int64_t i = 0; i < size; ++i) to[i] = from[i * stride];
      elements = stride == 1 ? from : to;
    });
    if (!key.load.is_copy()) {
      key.load.run(elements, scratch + plan.converted, size);
      elements = scratch + plan.converted;
    }
    key.order(elements, size, columns);
    columns += key.num_columns * size;
  }
}

// The library's sort, whose comparisons are counted. What is sorted is of no use after an
// interrupt, and whole enough to be thrown away.
template <class T, class Less>
void sort_counted(T* first, T* last, InterruptCounter& counter, Less less) {
  std::sort(first, last, [&](const T& a, const T& b) {
    counter.add(1);
    return less(a, b);
  });
}

void sort_positions(const SortPlan& plan, std::byte* scratch, const uint64_t* columns,
                    int64_t* positions, InterruptCounter& counter) {
  const int64_t size = plan.lanes.size;
  if (plan.num_columns == 1 && plan.is_packed) {
    auto* words = reinterpret_cast<uint64_t*>(scratch + plan.pairs);
    for (int64_t i = 0; i < size; ++i) words[i] = columns[i] << 32 | static_cast<uint64_t>(i);
    sort_counted(words, words + size, counter, std::less());
    for (int64_t i = 0; i < size; ++i) {
      positions[i] = static_cast<int64_t>(words[i] & 0xffff'ffffu);
    }
  } else if (plan.num_columns == 1) {
    auto* pairs = reinterpret_cast<KeyAndPosition*>(scratch + plan.pairs);
    for (int64_t i = 0; i < size; ++i) pairs[i] = {columns[i], i};
    sort_counted(pairs, pairs + size, counter, std::less());
    for (int64_t i = 0; i < size; ++i) positions[i] = pairs[i].position;
  } else {
    std::iota(positions, positions + size, 0);
    sort_counted(positions, positions + size, counter, [&](int64_t a, int64_t b) {
      for (size_t column = 0; column < plan.num_columns; ++column) {
        const uint64_t* keys = columns + static_cast<int64_t>(column) * size;
        if (keys[a] != keys[b]) return keys[a] < keys[b];
      }
      return a < b;
    });
  }
}

void run_sort(const KernelCall& call) {
  const auto& plan = *static_cast<const SortPlan*>(call.data);
  const auto& [outer, size, inner] = plan.lanes;
  if (size == 0) return;
  auto* scratch = static_cast<std::byte*>(call.scratch);
  auto* columns = reinterpret_cast<uint64_t*>(scratch + plan.columns);
  auto* positions = reinterpret_cast<int64_t*>(scratch + plan.positions);
  const size_t num_operands = plan.widths.size();
  InterruptCounter counter;
  for (int64_t lane = 0; lane < outer * inner; ++lane) {
    const int64_t first = lane / inner * size * inner + lane % inner;
    load_keys(plan, call, first, scratch, columns);
    sort_positions(plan, scratch, columns, positions, counter);
    counter.add(size);
    for (size_t i = 0; i < num_operands; ++i) {
      visit_width(static_cast<int64_t>(plan.widths[i]),
                  [&, size = size, inner = inner]<class T>(T) {
                    const auto* from = static_cast<const T*>(call.operands[i]) + first;
                    auto* to = static_cast<T*>(call.operands[num_operands + i]) + first;
                    for (int64_t j = 0; j < size; ++j) to[j * inner] = from[positions[j] * inner];
                  });
    }
  }
}

Kernel make_sort(Types inputs, Types, const Params* params) {
  const auto& p = params_as<SortParams>(params);
  auto plan = std::make_shared<SortPlan>();
  plan->lanes = lanes_of(inputs[0].shape(), p.dimension);
  size_t element_width = 1, converted_width = 1;
  for (const ShapeDtype& input : inputs) plan->widths.push_back(byte_width(input.dtype()));
  for (size_t i = 0; i < static_cast<size_t>(p.num_keys); ++i) {
    const DType dtype = inputs[i].dtype(), compute = compute_dtype(dtype);
    plan->keys.push_back(
        {i, make_conversion(dtype, compute), order_loop(compute), is_complex(dtype) ? 2 : 1});
    if (!plan->keys.back().order) return {};
    element_width = std::max(element_width, byte_width(dtype));
    converted_width = std::max(converted_width, byte_width(compute));
    plan->num_columns += static_cast<size_t>(plan->keys.back().num_columns);
  }
  plan->is_packed = converted_width <= 4 && plan->lanes.size <= 0xffff'ffff;
  ScratchParts scratch;
  const int64_t size = plan->lanes.size;
  plan->elements = scratch.take(size, element_width);
  plan->converted = scratch.take(size, converted_width);
  plan->columns = scratch.take(size, sizeof(uint64_t) * plan->num_columns);
  plan->positions = scratch.take(size, sizeof(int64_t));
  if (plan->num_columns == 1) {
    plan->pairs = scratch.take(size, plan->is_packed ? sizeof(uint64_t) : sizeof(KeyAndPosition));
  }
  return {.run = run_sort, .data = std::move(plan), .scratch_bytes = scratch.bytes()};
}

constexpr KernelRow kRows[] = {{"sort", make_sort}};

}  // namespace

std::span<const KernelRow> sort_rows() { return kRows; }

}  // namespace farcall::native
