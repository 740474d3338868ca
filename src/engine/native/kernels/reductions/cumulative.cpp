// Cumulative operations along one dimension.
#include <algorithm>
#include <cmath>
#include <memory>

#include <farcall/primitives/cumulative.h>

#include "engine/native/kernels/clusters/lane_tiles.h"
#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/elementwise/lanes.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/reductions/accumulate.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

constexpr int64_t kColumns = 256;

// ---- operations

struct LogSumExp {
  template <Float T>
  using Accumulator = double;
  static double combine(double a, double b) {
    const double largest = maximum(a, b), difference = a - b;
    // The difference of equal infinities is NaN; the result is that infinity.
    if (difference != difference) return a + b;
    return largest + std::log1p(std::exp(-std::fabs(difference)));
  }
};

// ---- loops

// `run` combines `count` elements, `step` (1 or -1) apart, one by one into one accumulator. `row`
// combines `count` elements, each into its own accumulator. With `is_first` the first elements
// initialize the accumulators.
struct CumulativeLoops {
  void (*run)(const void* x, void* y, int64_t count, int64_t step, bool is_first,
              void* accumulator) = nullptr;
  void (*row)(const void* x, void* y, int64_t count, bool is_first, void* accumulators) = nullptr;
};

template <class Op, class T>
struct Loops {
  using A = typename Op::template Accumulator<T>;

  static void run(const void* x, void* y, int64_t count, int64_t step, bool is_first,
                  void* accumulator) {
    const auto* from = static_cast<const T*>(x);
    auto* to = static_cast<T*>(y);
    int64_t at = step > 0 ? 0 : count - 1;
    A sum = *static_cast<A*>(accumulator);
    for (int64_t i = 0; i < count; ++i, at += step) {
      const auto value = static_cast<A>(from[at]);
      sum = is_first && i == 0 ? value : Op::combine(sum, value);
      to[at] = static_cast<T>(sum);
    }
    *static_cast<A*>(accumulator) = sum;
  }
  static void row(const void* x, void* y, int64_t count, bool is_first, void* accumulators) {
    const auto* from = static_cast<const T*>(x);
    auto* to = static_cast<T*>(y);
    auto* sums = static_cast<A*>(accumulators);
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<A>(from[i]);
      sums[i] = is_first ? value : Op::combine(sums[i], value);
      to[i] = static_cast<T>(sums[i]);
    }
  }
};

struct CumulativePlan {
  CumulativeLoops loops;
  Conversion load, store;
  Lanes lanes;
  bool reverse = false;
};

struct Accumulators {
  alignas(64) std::byte bytes[kColumns * kMaxComputeWidth] = {};
};
struct Block {
  alignas(64) std::byte bytes[kBlock * kMaxComputeWidth];
};

// The elements of one computation: in place, or converted into a block of the dtype computed in.
class Piece {
 public:
  Piece(const CumulativePlan& plan, const std::byte* x, std::byte* y, int64_t count)
      : plan_(plan), y_(y), count_(count) {
    if (!plan.load.is_copy()) plan.load.run(x, block_.bytes, count);
    source_ = plan.load.is_copy() ? x : block_.bytes;
    target_ = plan.store.is_copy() ? y : block_.bytes;
  }
  const void* source() const { return source_; }
  void* target() { return target_; }
  void finish() {
    if (!plan_.store.is_copy()) plan_.store.run(block_.bytes, y_, count_);
  }

 private:
  const CumulativePlan& plan_;
  std::byte* y_;
  int64_t count_;
  const void* source_;
  void* target_;
  Block block_;
};

// One dense lane. Returns false if the program is to stop, as Tiles do.
bool run_dense(const CumulativePlan& plan, const std::byte* x, std::byte* y, Tiles& tiles) {
  const auto width = static_cast<int64_t>(plan.load.source_width);
  const int64_t size = plan.lanes.size, num_blocks = (size + kBlock - 1) / kBlock;
  Accumulators accumulator;
  for (int64_t i = 0; i < num_blocks; ++i) {
    const int64_t start = (plan.reverse ? num_blocks - 1 - i : i) * kBlock;
    const int64_t count = std::min(size - start, kBlock);
    Piece piece(plan, x + start * width, y + start * width, count);
    plan.loops.run(piece.source(), piece.target(), count, plan.reverse ? -1 : 1, i == 0,
                   accumulator.bytes);
    piece.finish();
    if (!tiles.go_on(count * kStepCost)) return false;
  }
  return true;
}

// Up to kColumns lanes beside each other.
bool run_columns(const CumulativePlan& plan, int64_t first, const std::byte* x, std::byte* y,
                 Tiles& tiles) {
  const auto width = static_cast<int64_t>(plan.load.source_width);
  const int64_t size = plan.lanes.size, inner = plan.lanes.inner;
  const int64_t count = std::min(inner - first, kColumns);
  Accumulators accumulators;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t offset = ((plan.reverse ? size - 1 - i : i) * inner + first) * width;
    Piece piece(plan, x + offset, y + offset, count);
    plan.loops.row(piece.source(), piece.target(), count, i == 0, accumulators.bytes);
    piece.finish();
    if (!tiles.go_on(count * kStepCost)) return false;
  }
  return true;
}

void run_cumulative(const KernelCall& call) {
  const auto& plan = *static_cast<const CumulativePlan*>(call.data);
  const auto* x = static_cast<const std::byte*>(call.operands[0]);
  auto* y = static_cast<std::byte*>(call.operands[1]);
  const int64_t size = plan.lanes.size, inner = plan.lanes.inner;
  if (plan.lanes.outer * size * inner == 0) return;
  const int64_t slab_bytes = size * inner * static_cast<int64_t>(plan.load.source_width);
  // A part is a dense lane, or some lanes beside each other.
  const int64_t parts_of_slab = (inner + kColumns - 1) / kColumns;
  for_lanes(plan.lanes.outer * parts_of_slab, size * std::min(inner, kColumns), 0, nullptr,
            [&](int64_t part, std::byte*, Tiles& tiles) {
              const int64_t offset = part / parts_of_slab * slab_bytes;
              if (inner == 1) return run_dense(plan, x + offset, y + offset, tiles);
              return run_columns(plan, part % parts_of_slab * kColumns, x + offset, y + offset,
                                 tiles);
            });
}

template <class Op>
Kernel make_cumulative(Types inputs, Types outputs, const Params* params) {
  const DType dtype = inputs[0].dtype(), compute = compute_dtype(dtype);
  const auto& p = params_as<CumulativeParams>(params);
  auto plan = std::make_shared<CumulativePlan>();
  for_each_compute_type([&]<class T>() {
    if constexpr (requires { typename Op::template Accumulator<T>; }) {
      if (kDTypeOf<T> == compute) plan->loops = {Loops<Op, T>::run, Loops<Op, T>::row};
    }
  });
  if (!plan->loops.run) return {};
  plan->load = make_conversion(dtype, compute);
  plan->store = make_conversion(compute, outputs[0].dtype());
  plan->lanes = lanes_of(inputs[0].shape(), p.axis);
  plan->reverse = p.reverse;
  return {.run = run_cumulative, .data = std::move(plan), .can_run_in_place = true};
}

constexpr KernelRow kRows[] = {
    {"cumlogsumexp", make_cumulative<LogSumExp>, KernelTrait::kOneThreadPerLane},
    {"cummax", make_cumulative<Maximum>, KernelTrait::kOneThreadPerLane},
    {"cummin", make_cumulative<Minimum>, KernelTrait::kOneThreadPerLane},
    {"cumprod", make_cumulative<Product>, KernelTrait::kOneThreadPerLane},
    {"cumsum", make_cumulative<Sum>, KernelTrait::kOneThreadPerLane},
};

}  // namespace

std::span<const KernelRow> cumulative_rows() { return kRows; }

}  // namespace farcall::native
