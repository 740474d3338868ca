// argmax and argmin: the position of the first extreme value along one axis. The first NaN counts
// as the extreme.
#include <algorithm>
#include <memory>
#include <numeric>

#include <farcall/primitives/reduce.h>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/interruptible.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/reductions/accumulate.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

constexpr int64_t kColumns = 256;

template <class T, bool is_max>
bool is_better(T x, T best) {
  const bool is_beyond = is_max ? x > best : x < best;
  if constexpr (Float<T>) return is_beyond || (x != x && best == best);
  return is_beyond;
}

// NaNs count as equal.
template <class T>
bool is_same(T x, T y) {
  return x == y || (x != x && y != y);
}

// Compares the elements of x, whose first index is `start`, with the best so far. At start 0 there
// is no best yet. Finds the best of these elements first, and looks for its position only if it is
// better.
template <class T, bool is_max>
void scan_run(const void* x, int64_t size, int64_t start, void* best, int64_t* index) {
  using Op = std::conditional_t<is_max, Maximum, Minimum>;
  const auto* from = static_cast<const T*>(x);
  auto& value = *static_cast<T*>(best);
  const T found = reduce_lanes<Op, T>(from, size, from[0]);
  if (start != 0 && !is_better<T, is_max>(found, value)) return;
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    bool is_here = false;
    for (int64_t lane = 0; lane < kLanes; ++lane) is_here |= is_same(from[i + lane], found);
    if (is_here) break;
  }
  while (!is_same(from[i], found)) ++i;
  value = from[i];
  *index = start + i;
}

// The same for `size` columns, all at index `row`.
template <class T, bool is_max>
void scan_row(const void* x, int64_t size, int64_t row, void* best, int64_t* index) {
  const auto* from = static_cast<const T*>(x);
  auto* values = static_cast<T*>(best);
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    const bool is_new = row == 0 || is_better<T, is_max>(from[i], values[i]);
    values[i] = is_new ? from[i] : values[i];
    index[i] = is_new ? row : index[i];
  }
}

using Scan = void (*)(const void* x, int64_t size, int64_t start, void* best, int64_t* index);

struct ArgPlan {
  Scan run = nullptr, row = nullptr;
  Conversion load, store;
  int64_t outer = 1, size = 1, inner = 1;
};

struct Values {
  alignas(64) std::byte bytes[kBlock * 8];
};

// Dense elements in the type computed in: in place, or converted into `block`.
const void* loaded(const ArgPlan& plan, const std::byte* x, Values& block, int64_t count) {
  if (plan.load.is_copy()) return x;
  plan.load.run(x, block.bytes, count);
  return block.bytes;
}

void run_dense(const ArgPlan& plan, const std::byte* x, std::byte* output) {
  const size_t width = plan.load.source_width;
  const int64_t step = plan.load.is_copy() ? 8 * kBlock : kBlock;
  Values block;
  InterruptCounter counter;
  for (int64_t i = 0; i < plan.outer; ++i) {
    int64_t index = 0;
    alignas(8) std::byte best[8];
    for (int64_t start = 0; start < plan.size; start += step) {
      const int64_t count = std::min(plan.size - start, step);
      plan.run(loaded(plan, x, block, count), count, start, best, &index);
      counter.add(count);
      x += static_cast<size_t>(count) * width;
    }
    plan.store.run(&index, output, 1);
    output += plan.store.target_width;
  }
}

void run_columns(const ArgPlan& plan, const std::byte* x, std::byte* output) {
  const size_t width = plan.load.source_width;
  Values block, best;
  int64_t index[kColumns];
  InterruptCounter counter;
  for (int64_t i = 0; i < plan.outer; ++i) {
    for (int64_t start = 0; start < plan.inner; start += kColumns) {
      const int64_t count = std::min(plan.inner - start, kColumns);
      for (int64_t row = 0; row < plan.size; ++row) {
        const std::byte* from =
            x + static_cast<size_t>((i * plan.size + row) * plan.inner + start) * width;
        plan.row(loaded(plan, from, block, count), count, row, best.bytes, index);
        counter.add(count);
      }
      plan.store.run(index, output, count);
      output += static_cast<size_t>(count) * plan.store.target_width;
    }
  }
}

void run_arg_reduce(const KernelCall& call) {
  const auto& plan = *static_cast<const ArgPlan*>(call.data);
  if (plan.outer == 0 || plan.inner == 0 || plan.size == 0) return;
  const auto run = plan.inner == 1 ? run_dense : run_columns;
  run(plan, static_cast<const std::byte*>(call.operands[0]),
      static_cast<std::byte*>(call.operands[1]));
}

template <bool is_max>
Kernel make_arg_reduce(Types inputs, Types outputs, const Params* params) {
  const DType dtype = inputs[0].dtype();
  auto plan = std::make_shared<ArgPlan>();
  for_each_compute_type([&]<class T>() {
    if constexpr (!Complex<T>) {
      if (kDTypeOf<T> != compute_dtype(dtype)) return;
      plan->run = best_loop<scan_run<T, is_max>>();
      plan->row = best_loop<scan_row<T, is_max>>();
    }
  });
  if (!plan->run) return {};
  plan->load = make_conversion(dtype, compute_dtype(dtype));
  plan->store = make_conversion(DType::kInt64, outputs[0].dtype());
  const auto shape = inputs[0].shape();
  const auto axis = static_cast<size_t>(params_as<ArgReduceParams>(params).axis);
  for (size_t i = 0; i < shape.size(); ++i) {
    (i < axis ? plan->outer : (i == axis ? plan->size : plan->inner)) *= shape[i];
  }
  return {.run = run_arg_reduce, .data = std::move(plan)};
}

constexpr KernelRow kRows[] = {
    {"argmax", make_arg_reduce<true>},
    {"argmin", make_arg_reduce<false>},
};

}  // namespace

std::span<const KernelRow> arg_reduce_rows() { return kRows; }

}  // namespace farcall::native
