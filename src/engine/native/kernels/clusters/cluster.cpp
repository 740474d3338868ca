// Runs clusters.
#include "engine/native/kernels/clusters/cluster.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <farcall/core/lru_cache.h>
#include <farcall/engine/jit_loops.h>
#include <farcall/primitives/cluster.h>
#include <farcall/program/value.h>

#include "engine/native/jit/at_once.h"
#include "engine/native/jit/encode.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/reductions/sum_floats.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

// The number of elements that a thread takes at a time. Long runs of memory are read faster; short
// ones share the work among threads more evenly.
constexpr int64_t kLeastGrain = 8192, kMostGrain = 65536, kGrainsPerThread = 8;

size_t bases_bytes(const ClusterPlan& plan) {
  const size_t count = TileAddress::kOperands + plan.bases.size();
  return memory_of(count * sizeof(void*));
}

// Runs tiles on one thread.
class TileRunner {
 public:
  // `memory` holds the bases and then the memory of tiles.
  TileRunner(const ClusterPlan& plan, void* const* operands, void* scalars, void* memory)
      : plan_(plan), operands_(operands), bases_(static_cast<std::byte**>(memory)) {
    bases_[TileAddress::kThread] = static_cast<std::byte*>(memory) + bases_bytes(plan);
    bases_[TileAddress::kConstants] = static_cast<std::byte*>(plan.constants.data());
    bases_[TileAddress::kScalars] = static_cast<std::byte*>(scalars);
    for (size_t i = 0; i < plan.bases.size(); ++i) {
      bases_[TileAddress::kOperands + i] = operand(plan.bases[i]);
    }
  }

  TileRunner(const TileRunner&) = delete;
  TileRunner& operator=(const TileRunner&) = delete;

  void run_once() const { run(plan_.once); }

  void begin_tiles() {
    set_counts(plan_.tile_rows, plan_.tile_columns);
    run(plan_.per_thread);
  }

  // Returns the number of elements of the tile.
  int64_t run_tile(int64_t tile) {
    // Divisions take long.
    const bool has_whole_rows = plan_.parts == 1;
    const int64_t row = (has_whole_rows ? tile : tile / plan_.parts) * plan_.tile_rows;
    const int64_t column = has_whole_rows ? 0 : tile % plan_.parts * plan_.tile_columns;
    set_counts(std::min(plan_.tile_rows, plan_.rows - row),
               std::min(plan_.tile_columns, plan_.columns - column));
    if (plan_.num_tiles > 1) move_bases(row, column);
    run(plan_.per_tile);
    return count(Extent::kFull);
  }

  // Computes rows, or parts of rows, for a column reduction. The reduction bounds the number of
  // rows and of columns.
  const void* run_rows(int64_t first, int64_t num_rows, int64_t column, int64_t num_columns) {
    const ClusterPlan::ColumnReduction& reduction = *plan_.column_reduction;
    std::byte* const rows = bases_[TileAddress::kThread] + reduction.rows_offset;
    const size_t row_bytes = static_cast<size_t>(num_columns) * reduction.width;
    for (int64_t i = 0; i < num_rows; i += plan_.tile_rows) {
      set_counts(std::min(plan_.tile_rows, num_rows - i), num_columns);
      reduced_rows_ = rows + static_cast<size_t>(i) * row_bytes;
      move_bases(first + i, column);
      run(plan_.per_tile);
    }
    return rows;
  }

 private:
  std::byte* operand(const ClusterPlan::Base& base) const {
    if (base.operand == ClusterPlan::kReducedRows) return reduced_rows_;
    const int64_t start = base.start ? plan_.starts[*base.start].offset(operands_) : 0;
    return static_cast<std::byte*>(operands_[base.operand]) + base.offset + start;
  }
  std::byte* at(TileAddress address) const { return bases_[address.base] + address.offset; }
  int64_t count(Extent extent) const { return counts_[static_cast<size_t>(extent)]; }

  void set_counts(int64_t rows, int64_t columns) {
    counts_[static_cast<size_t>(Extent::kRow)] = rows;
    counts_[static_cast<size_t>(Extent::kColumn)] = columns;
    counts_[static_cast<size_t>(Extent::kFull)] = rows * columns;
  }

  void move_bases(int64_t row, int64_t column) {
    first_ = row * plan_.columns + column;
    std::optional<uint32_t> view;  // the last one: often all bases have the same
    int64_t place = 0;
    for (size_t i = 0; i < plan_.bases.size(); ++i) {
      const ClusterPlan::Base& base = plan_.bases[i];
      int64_t elements = 0;
      if (base.extent == Extent::kFull) {
        if (base.view && base.view != view) {
          view = base.view;
          place = plan_.views[*view].place_of(first_);
        }
        elements = base.view ? place : first_;
      }
      if (base.extent == Extent::kRow) elements = row;
      if (base.extent == Extent::kColumn) elements = column;
      if (base.operand == ClusterPlan::kReducedRows) elements = 0;
      bases_[TileAddress::kOperands + i] =
          operand(base) + elements * static_cast<int64_t>(base.width);
    }
  }

  void run(std::span<const TileStep> steps) const {
    for (const TileStep& step : steps) {
      std::byte* const output = at(step.output);
      const int64_t size = count(step.extent);
      if (step.kind == TileStep::Kind::kLoop) [[likely]] {
        const void* inputs[kMaxElementwiseInputs];
        for (size_t i = 0; i < kMaxElementwiseInputs; ++i) inputs[i] = at(step.inputs[i]);
        step.loop(inputs, output, size, step.extra);
      } else {
        run_other(step, at(step.inputs[0]), output, size);
      }
    }
  }

  // Few large copies take less time than one for each short row.
  static void repeat_row(std::byte* output, const std::byte* row, size_t row_bytes, int64_t rows) {
    const size_t nbytes = row_bytes * static_cast<size_t>(rows);
    size_t done = std::min(row_bytes, nbytes);
    std::memcpy(output, row, done);
    while (done < nbytes) {
      const size_t next = std::min(done, nbytes - done);
      std::memcpy(output + done, output, next);
      done += next;
    }
  }

  void run_other(const TileStep& step, std::byte* input, std::byte* output, int64_t size) const {
    const int64_t rows = count(Extent::kRow), columns = count(Extent::kColumn);
    const auto row_bytes = static_cast<size_t>(columns) * step.width;
    switch (step.kind) {
      case TileStep::Kind::kConvert:
        return plan_.conversions[step.index].run(input, output, size);
      case TileStep::Kind::kFill:
        return fill_elements(output, input, step.width, size);
      case TileStep::Kind::kRepeatRows:
        return repeat_elements(output, input, step.width, rows, columns);
      case TileStep::Kind::kRepeatColumns:
        return repeat_row(output, input, row_bytes, rows);
      case TileStep::Kind::kReduce: {
        const ClusterPlan::Reduction& reduction = plan_.reductions[step.index];
        const Kernel& kernel = rows == plan_.tile_rows ? reduction.whole : reduction.last;
        void* const operands[] = {input, output};
        return kernel.run({operands, nullptr, kernel.data.get()});
      }
      case TileStep::Kind::kFinishSum:
        return finish_sums(plan_.reductions[step.index].store, input, output);
      case TileStep::Kind::kLoad:
        return plan_.views[step.index].load(input, first_, size, output);
      case TileStep::Kind::kJoin:
        return join(plan_.joins[step.index], size, output);
      case TileStep::Kind::kPad:
        return plan_.pads[step.index].load(input, at(step.inputs[1]), first_, size, output);
      case TileStep::Kind::kTake:
        return plan_.takes[step.index].run(input, at(step.inputs[1]), size, output);
      case TileStep::Kind::kCount:
        return plan_.countings[step.index].load(first_, size, output);
      case TileStep::Kind::kCode:
        return run_code(plan_.codes[step.index]);
      case TileStep::Kind::kLoop:
        break;
    }
  }

  void join(const ClusterPlan::Join& step, int64_t size, std::byte* output) const {
    const std::byte* sources[kMostJoined];
    for (size_t i = 0; i < step.bases.size(); ++i) {
      sources[i] = bases_[TileAddress::kOperands + step.bases[i]];
    }
    step.elements.load(sources, first_, size, output);
  }

  // The sums replace the parts, which are longer.
  void finish_sums(const Conversion& store, std::byte* parts, std::byte* output) const {
    const int64_t rows = count(Extent::kRow);
    for (int64_t i = 0; i < rows; ++i) {
      const auto* const of_row = reinterpret_cast<const double*>(parts) + i * kPartsOfSum;
      const float sum = sum_of_parts(of_row);
      std::memcpy(parts + static_cast<size_t>(i) * sizeof(sum), &sum, sizeof(sum));
    }
    store.run(parts, output, rows);
  }

  void run_code(const ClusterPlan::Code& code) const {
    void* pointers[ClusterPlan::kMostPointers];
    for (size_t i = 0; i < code.pointers.size(); ++i) pointers[i] = at(code.pointers[i]);
    jit::Frame frame{pointers, count(code.goes_by_rows ? Extent::kColumn : Extent::kFull),
                     count(Extent::kRow)};
    std::bit_cast<jit::Entry>(code.memory.data())(&frame);
  }

  const ClusterPlan& plan_;
  void* const* operands_;
  std::byte** bases_;
  std::byte* reduced_rows_ = nullptr;
  int64_t first_ = 0;                 // the first element of the tile
  int64_t counts_[4] = {1, 1, 1, 1};  // number of elements, by extent
};

size_t thread_memory(const ClusterPlan& plan) { return bases_bytes(plan) + plan.thread_bytes; }

void run_all_tiles(const ClusterPlan& plan, const KernelCall& call, void* scalars, void* memory) {
  const int64_t tile_size = plan.tile_rows * plan.tile_columns;
  const int64_t size = plan.rows * plan.columns;
  const int64_t num_threads = num_threads_for_elements(size);
  const int64_t grain_size =
      std::clamp(size / (num_threads * kGrainsPerThread), kLeastGrain, kMostGrain);
  const int64_t per_grain = std::max<int64_t>(1, grain_size / tile_size);
  const int64_t num_grains = (plan.num_tiles - 1) / per_grain + 1;
  std::atomic<bool> is_taken{false};
  const auto work = [&](Tiles& tiles) {
    int64_t grain;
    if (!tiles.next(grain)) return;
    // The first thread uses the memory of the state.
    const bool is_first = !is_taken.exchange(true, std::memory_order_relaxed);
    const Storage own = is_first ? Storage() : Storage::allocate(thread_memory(plan));
    TileRunner runner(plan, call.operands, scalars, is_first ? memory : own.data());
    runner.begin_tiles();
    do {
      const int64_t end = std::min(plan.num_tiles, (grain + 1) * per_grain);
      for (int64_t tile = grain * per_grain; tile < end; ++tile) {
        if (!tiles.go_on(runner.run_tile(tile) * plan.num_operations * kStepCost)) return;
      }
    } while (tiles.next(grain));
  };
  run_tiles(num_grains, num_threads, work);
}

// Computes the rows for one thread of a column reduction.
class RowsOfTiles final : public ComputedRows {
 public:
  // `memory`: null to allocate memory.
  RowsOfTiles(const ClusterPlan& plan, const KernelCall& call, void* scalars, void* memory)
      : own_(memory ? Storage() : Storage::allocate(thread_memory(plan))),
        runner_(plan, call.operands, scalars, memory ? memory : own_.data()) {
    runner_.begin_tiles();
  }
  const void* compute(int64_t row, int64_t num_rows, int64_t column, int64_t num_columns) override {
    return runner_.run_rows(row, num_rows, column, num_columns);
  }

 private:
  Storage own_;
  TileRunner runner_;
};

void run_column_reduction(const ClusterPlan& plan, const KernelCall& call, void* scalars,
                          void* memory) {
  if (!plan.once.empty()) TileRunner(plan, call.operands, scalars, memory).run_once();
  const ClusterPlan::ColumnReduction& reduction = *plan.column_reduction;
  std::atomic<bool> is_taken{false};
  const auto make_rows = [&]() -> std::unique_ptr<ComputedRows> {
    // The first thread uses the memory of the state.
    const bool is_first = !is_taken.exchange(true, std::memory_order_relaxed);
    return std::make_unique<RowsOfTiles>(plan, call, scalars, is_first ? memory : nullptr);
  };
  reduction.kernel.run(call.operands[reduction.output], reduction.rows_at_once,
                       std::cref(make_rows));
}

// A cluster, which gets machine code once it has run enough elements to pay for that.
class ClusterKernel {
 public:
  ClusterKernel(ProgramPtr body, std::shared_ptr<const ClusterPlan> plain)
      : body_(std::move(body)), plain_(std::move(plain)) {}

  const ProgramPtr& body() const { return body_; }
  // Without code, which needs no more memory.
  const ClusterPlan& plain() const { return *plain_; }

  // The plan to run now. Thread-safe.
  const ClusterPlan& plan() const {
    if (!jit_loops()) return *plain_;
    const ClusterPlan* const best = best_.load(std::memory_order_acquire);
    return best ? *best : count_run();
  }

  ClusterCode code() const {
    ClusterCode code;
    const ClusterPlan* const best = best_.load(std::memory_order_acquire);
    if (!best || !jit_loops()) return code;
    for (const ClusterPlan::Code& each : best->codes) {
      code.num_operations += each.num_operations;
      code.nbytes += each.memory.nbytes();
    }
    return code;
  }

  const ClusterPlan& make_best() const {
    const std::lock_guard lock(making_);
    if (const ClusterPlan* const best = best_.load(std::memory_order_relaxed)) return *best;
    if (jit::processor().vector_bytes != 0) coded_ = plan_coded_cluster(*body_, *plain_);
    const ClusterPlan& best = coded_ ? *coded_ : *plain_;
    best_.store(&best, std::memory_order_release);
    return best;
  }

 private:
  // The elements after which code is made. An operation takes about 0.2 ns for each of them; making
  // its code takes about 30 us.
  static constexpr int64_t kWorth = int64_t{1} << 17;

  // Counts are lost if threads run at the same time, which only makes the code later.
  const ClusterPlan& count_run() const {
    const int64_t count =
        num_elements_.load(std::memory_order_relaxed) + plain_->rows * plain_->columns;
    num_elements_.store(count, std::memory_order_relaxed);
    return count < kWorth && !jit::makes_code_at_once() ? *plain_ : make_best();
  }

  const ProgramPtr body_;
  const std::shared_ptr<const ClusterPlan> plain_;
  mutable std::atomic<int64_t> num_elements_{0};
  mutable std::atomic<const ClusterPlan*> best_{nullptr};
  mutable std::mutex making_;
  mutable std::shared_ptr<const ClusterPlan> coded_;
};

void run_cluster(const KernelCall& call) {
  const ClusterPlan& plan = static_cast<const ClusterKernel*>(call.data)->plan();
  auto* const scalars = static_cast<std::byte*>(call.scratch);
  std::byte* const memory = scalars + plan.scalars_bytes;
  if (plan.column_reduction) return run_column_reduction(plan, call, scalars, memory);
  if (plan.num_tiles <= 1 || !plan.once.empty()) {
    TileRunner runner(plan, call.operands, scalars, memory);
    runner.run_once();
    if (plan.num_tiles == 0) return;
    if (plan.num_tiles == 1) {
      runner.begin_tiles();
      runner.run_tile(0);
      return;
    }
  }
  run_all_tiles(plan, call, scalars, memory);
}

// Equal clusters, such as those of the layers of a network or of a function that is compiled again,
// share a kernel with its machine code. Returns null if there is no kernel.
std::shared_ptr<const ClusterKernel> kernel_of(const ProgramPtr& body) {
  static std::mutex mutex;
  static auto& kernels = *new LruCache<const ClusterKernel>;
  const size_t hash = hash_of_program(body);
  const auto computes_it = [&](const ClusterKernel& each) {
    return same_program(each.body(), body);
  };
  {
    const std::lock_guard lock(mutex);
    if (auto found = kernels.find(hash, computes_it)) return found;
  }
  auto plan = plan_cluster(*body);
  if (!plan) return nullptr;
  auto made = std::make_shared<const ClusterKernel>(body, std::move(plan));
  std::vector<std::shared_ptr<const ClusterKernel>> displaced;  // freed after the lock
  const std::lock_guard lock(mutex);
  displaced = kernels.insert(hash, made);
  return made;
}

Kernel make_cluster(std::span<const ShapeDtype>, std::span<const ShapeDtype>,
                    const Params* params) {
  auto kernel = kernel_of(params_as<ClusterParams>(params).jaxpr);
  if (!kernel) return {};
  const ClusterPlan& plain = kernel->plain();
  const size_t scratch_bytes = plain.scalars_bytes + thread_memory(plain);
  return {.run = run_cluster,
          .data = std::move(kernel),
          .scratch_bytes = scratch_bytes,
          .in_place = plain.in_place};
}

constexpr KernelRow kRows[] = {{"cluster", make_cluster}};

}  // namespace

std::span<const KernelRow> cluster_rows() { return kRows; }

ClusterCode cluster_code(void (*run)(const KernelCall&), const void* data) {
  return run == run_cluster ? static_cast<const ClusterKernel*>(data)->code() : ClusterCode();
}

ClusterCode make_cluster_code(void (*run)(const KernelCall&), const void* data) {
  if (run == run_cluster && jit_loops()) static_cast<const ClusterKernel*>(data)->make_best();
  return cluster_code(run, data);
}

}  // namespace farcall::native
