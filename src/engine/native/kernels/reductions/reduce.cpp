// Reductions over any set of dimensions.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <farcall/primitives/reduce.h>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/reductions/identity.h"
#include "engine/native/kernels/reductions/reduce.h"
#include "engine/native/kernels/reductions/reducer.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

// Up to this many rows are added sequentially. Longer sums are split in halves recursively, so that
// rounding errors grow with the logarithm of the length.
constexpr int64_t kSequentialRows = 32;
// The bytes of accumulators that are processed at a time.
constexpr size_t kAccumulatorBytes = 8192;
// The elements of a tile, if there are enough for several threads.
constexpr int64_t kTileElements = 32768;
constexpr int64_t kLeastColumns = 1024;
// The cost of an element in the units of run_tiles, chosen so that a tile is worth a thread.
constexpr int64_t kElementCost = kThreadCost / kTileElements;
// The maximum number of parts into which a single large tile is divided.
constexpr int64_t kMostParts = 64;

// ---- walking

struct Walk {
  int64_t size = 1, stride = 0;  // stride in elements of the operand
};

}  // namespace

struct ReducePlan {
  Reducer reducer;
  // Combines runs of stored elements; null if elements must be loaded first.
  decltype(Reducer::reduce_runs) reduce_stored_runs = nullptr;
  Element identity;
  DType computed = DType::kInvalid;  // the dtype after loading
  Conversion load, store;
  std::vector<Walk> kept, reduced;  // without the innermost dimension
  int64_t num_kept = 1, num_reduced = 1;
  int64_t inner = 1;
  bool is_inner_reduced = false;
  bool is_in_any_order = false;  // the result does not depend on the order of combination
  // The number of results in a tile, which are all in one run of columns, and the number of tiles.
  int64_t tile_size = 1, num_tiles = 1;
  int64_t num_parts = 1;  // of each tile
  int64_t num_elements = 0;
};

namespace {

// The input of a thread: memory, or computed rows, which are requested `rows_at_once` at a time.
struct Operand {
  const std::byte* memory = nullptr;
  std::unique_ptr<ComputedRows> rows;
  int64_t rows_at_once = 0;
};

struct Accumulators {
  alignas(64) std::byte bytes[kAccumulatorBytes];
};

int64_t offset_of(std::span<const Walk> walks, int64_t index) {
  if (walks.empty()) return 0;
  int64_t offset = 0;
  for (size_t i = walks.size(); i-- > 1;) {
    offset += index % walks[i].size * walks[i].stride;
    index /= walks[i].size;
  }
  return offset + index * walks[0].stride;
}

// Reduces one run or one row of `size` elements into the accumulators.
void reduce_piece(const ReducePlan& plan, const std::byte* x, int64_t size, void* accumulators) {
  if (plan.is_inner_reduced && plan.reduce_stored_runs) {
    return plan.reduce_stored_runs(x, 1, size, accumulators, plan.identity);
  }
  const auto reduce = [&](const void* from, int64_t count, void* to) {
    if (plan.is_inner_reduced) {
      plan.reducer.reduce_runs(from, 1, count, to, plan.identity);
    } else {
      plan.reducer.reduce_row(from, count, to, plan.identity);
    }
  };
  if (plan.load.is_copy()) return reduce(x, size, accumulators);
  alignas(64) std::byte block[kBlock * 4];  // converted elements have at most four bytes
  for (int64_t start = 0; start < size; start += kBlock) {
    const int64_t count = std::min(size - start, kBlock);
    plan.load.run(x + static_cast<size_t>(start) * plan.load.source_width, block, count);
    const size_t column = plan.is_inner_reduced ? 0 : static_cast<size_t>(start);
    reduce(block, count,
           static_cast<std::byte*>(accumulators) + column * plan.reducer.accumulator_width);
  }
}

void set_identity(const ReducePlan& plan, Accumulators& accumulators, int64_t count) {
  fill_elements(accumulators.bytes, &plan.identity, plan.reducer.accumulator_width, count);
}

// Reduces the computed rows [first, last), in columns from `column` on.
void reduce_computed(const ReducePlan& plan, const Operand& operand, int64_t column, int64_t size,
                     int64_t first, int64_t last, void* accumulators) {
  const size_t row_bytes = static_cast<size_t>(size) * byte_width(plan.computed);
  for (int64_t row = first; row < last; row += operand.rows_at_once) {
    const int64_t count = std::min(operand.rows_at_once, last - row);
    const auto* x = static_cast<const std::byte*>(operand.rows->compute(row, count, column, size));
    const auto at = [&](int64_t i) { return x + static_cast<size_t>(i) * row_bytes; };
    int64_t i = 0;
    for (; plan.load.is_copy() && i + 4 <= count; i += 4) {
      const void* const rows[] = {at(i), at(i + 1), at(i + 2), at(i + 3)};
      plan.reducer.reduce_four_rows(rows, size, accumulators);
    }
    for (; i < count; ++i) plan.reducer.reduce_row(at(i), size, accumulators, plan.identity);
  }
}

// A block of elements in the dtype computed in, which has at most four bytes if it is another one.
struct LoadedBlock {
  static constexpr int64_t kSize = 1024;
  alignas(64) std::byte bytes[kSize * 4];

  const std::byte* load(const ReducePlan& plan, const std::byte* from, int64_t count) {
    plan.load.run(from, bytes, count);
    return bytes;
  }
};

// Reduces short rows that follow each other, and are converted several at a time.
void reduce_loaded_rows(const ReducePlan& plan, const std::byte* x, int64_t size, int64_t count,
                        void* accumulators) {
  const int64_t together = LoadedBlock::kSize / size;
  const size_t row_bytes = static_cast<size_t>(size) * byte_width(plan.computed);
  LoadedBlock block;
  for (int64_t some; count > 0; count -= some) {
    some = std::min(together, count);
    const std::byte* row = block.load(plan, x, some * size);
    for (int64_t i = 0; i < some; ++i, row += row_bytes) {
      plan.reducer.reduce_row(row, size, accumulators, plan.identity);
    }
    x += static_cast<size_t>(some * size) * plan.load.source_width;
  }
}

// Whether rows of this size follow each other, and several are loaded as one block.
bool has_short_rows(const ReducePlan& plan, int64_t size) {
  return !plan.is_inner_reduced && size == plan.inner && size <= LoadedBlock::kSize / 2 &&
         plan.reduced.size() == 1 && plan.reduced[0].stride == size;
}

// Reduces the indices [first, last) of the reduced dimensions into `count` results. Each index has
// `size` elements; those of index 0 start at `offset`.
void reduce_range(const ReducePlan& plan, const Operand& operand, int64_t offset, int64_t size,
                  int64_t count, int64_t first, int64_t last, void* accumulators, Tiles& tiles) {
  if (last - first <= kSequentialRows) {
    if (!tiles.go_on((last - first) * size * kElementCost)) return;
    if (operand.rows) {
      return reduce_computed(plan, operand, offset, size, first, last, accumulators);
    }
    const auto row = [&](int64_t i) {
      return operand.memory +
             (offset + offset_of(plan.reduced, i)) * static_cast<int64_t>(plan.load.source_width);
    };
    if (!plan.load.is_copy() && has_short_rows(plan, size)) {
      return reduce_loaded_rows(plan, row(first), size, last - first, accumulators);
    }
    int64_t i = first;
    if (!plan.is_inner_reduced && plan.load.is_copy()) {
      for (; i + 4 <= last; i += 4) {
        const void* const rows[] = {row(i), row(i + 1), row(i + 2), row(i + 3)};
        plan.reducer.reduce_four_rows(rows, size, accumulators);
      }
    }
    for (; i < last; ++i) reduce_piece(plan, row(i), size, accumulators);
    return;
  }
  const int64_t middle = first + (last - first) / 2;
  reduce_range(plan, operand, offset, size, count, first, middle, accumulators, tiles);
  Accumulators others;
  set_identity(plan, others, count);
  reduce_range(plan, operand, offset, size, count, middle, last, others.bytes, tiles);
  plan.reducer.merge(others.bytes, count, accumulators);
}

// Whether reduce_narrow_rows can reduce these rows.
bool has_narrow_rows(const ReducePlan& plan, const Operand& operand, int64_t size) {
  constexpr int64_t kMostColumns = 32;
  return operand.memory && plan.is_in_any_order && size <= kMostColumns &&
         has_short_rows(plan, size);
}

// The same as reduce_range for rows of few columns that follow each other: several of them are
// combined as one row.
void reduce_narrow_rows(const ReducePlan& plan, const Operand& operand, int64_t offset,
                        int64_t size, int64_t first, int64_t last, void* accumulators,
                        Tiles& tiles) {
  constexpr int64_t kColumns = LoadedBlock::kSize / 4;
  const int64_t together = kColumns / size, columns = together * size;
  const auto width = static_cast<int64_t>(plan.load.source_width);
  const auto row = [&](int64_t i) { return operand.memory + (offset + i * size) * width; };
  const size_t wide_bytes = static_cast<size_t>(columns) * byte_width(plan.computed);
  LoadedBlock block;
  Accumulators wide;
  set_identity(plan, wide, columns);
  for (; first + 4 * together <= last; first += 4 * together) {
    const std::byte* const x =
        plan.load.is_copy() ? row(first) : block.load(plan, row(first), 4 * columns);
    const void* const rows[] = {x, x + wide_bytes, x + 2 * wide_bytes, x + 3 * wide_bytes};
    plan.reducer.reduce_four_rows(rows, columns, wide.bytes);
    if (!tiles.go_on(4 * columns * kElementCost)) return;
  }
  for (int64_t i = 0; i < together; ++i) {
    const auto at = static_cast<size_t>(i * size) * plan.reducer.accumulator_width;
    plan.reducer.merge(wide.bytes + at, size, accumulators);
  }
  if (!plan.load.is_copy()) {
    return reduce_loaded_rows(plan, row(first), size, last - first, accumulators);
  }
  for (; first < last; ++first) {
    plan.reducer.reduce_row(row(first), size, accumulators, plan.identity);
  }
}

// Reduces short runs that follow each other, and are converted several at a time.
void reduce_loaded_runs(const ReducePlan& plan, const std::byte* x, int64_t count,
                        std::byte* accumulators) {
  const int64_t together = LoadedBlock::kSize / plan.inner;
  LoadedBlock block;
  for (int64_t some; count > 0; count -= some) {
    some = std::min(together, count);
    plan.reducer.reduce_runs(block.load(plan, x, some * plan.inner), some, plan.inner, accumulators,
                             plan.identity);
    x += static_cast<size_t>(some * plan.inner) * plan.load.source_width;
    accumulators += static_cast<size_t>(some) * plan.reducer.accumulator_width;
  }
}

void finish(const ReducePlan& plan, const Accumulators& accumulators, int64_t count,
            std::byte* output) {
  if (plan.store.is_copy()) return plan.reducer.finish(accumulators.bytes, count, output);
  Accumulators results;
  plan.reducer.finish(accumulators.bytes, count, results.bytes);
  plan.store.run(results.bytes, output, count);
}

// The position of a tile: its first result, the number of results, and the offset of its operand.
struct TileRange {
  int64_t first, count, offset;
};
TileRange tile_range(const ReducePlan& plan, int64_t tile) {
  if (plan.is_inner_reduced) {
    const int64_t first = tile * plan.tile_size;
    return {first, std::min(plan.num_kept - first, plan.tile_size), 0};
  }
  const int64_t tiles_of_row = (plan.inner + plan.tile_size - 1) / plan.tile_size;
  const int64_t row = tile / tiles_of_row, start = tile % tiles_of_row * plan.tile_size;
  return {row * plan.inner + start, std::min(plan.inner - start, plan.tile_size),
          offset_of(plan.kept, row) + start};
}

// Reduces one part of a tile: some of the rows, or, if there is a single run, a part of it.
void reduce_part(const ReducePlan& plan, const Operand& operand, int64_t tile, int64_t part,
                 Accumulators& accumulators, Tiles& tiles) {
  const auto at = [&](int64_t size, int64_t index) {
    return plan.num_parts == 1 ? size * index : size * index / plan.num_parts;
  };
  const TileRange range = tile_range(plan, tile);
  set_identity(plan, accumulators, range.count);
  const bool has_one_run = plan.is_inner_reduced && plan.num_reduced == 1;
  const int64_t rows = plan.num_reduced;
  const int64_t first = has_one_run ? 0 : at(rows, part);
  const int64_t last = has_one_run ? rows : at(rows, part + 1);
  if (!plan.is_inner_reduced && has_narrow_rows(plan, operand, range.count)) {
    return reduce_narrow_rows(plan, operand, range.offset, range.count, first, last,
                              accumulators.bytes, tiles);
  }
  if (!plan.is_inner_reduced) {
    return reduce_range(plan, operand, range.offset, range.count, range.count, first, last,
                        accumulators.bytes, tiles);
  }
  const bool are_short = operand.memory && plan.inner > 0 && plan.inner <= LoadedBlock::kSize / 2;
  if (has_one_run && plan.num_parts == 1 && (plan.reduce_stored_runs || are_short)) {
    // The runs of a tile follow each other in memory.
    const std::byte* const x =
        operand.memory + range.first * plan.inner * static_cast<int64_t>(plan.load.source_width);
    if (plan.reduce_stored_runs) {
      plan.reduce_stored_runs(x, range.count, plan.inner, accumulators.bytes, plan.identity);
    } else {
      reduce_loaded_runs(plan, x, range.count, accumulators.bytes);
    }
    static_cast<void>(tiles.go_on(range.count * plan.inner * kElementCost));
    return;
  }
  const int64_t start = has_one_run ? at(plan.inner, part) : 0;
  const int64_t size = has_one_run ? at(plan.inner, part + 1) - start : plan.inner;
  for (int64_t i = 0; i < range.count; ++i) {
    reduce_range(plan, operand, offset_of(plan.kept, range.first + i) + start, size, 1, first, last,
                 accumulators.bytes + static_cast<size_t>(i) * plan.reducer.accumulator_width,
                 tiles);
  }
}

void finish_tile(const ReducePlan& plan, int64_t tile, const Accumulators& accumulators,
                 std::byte* output) {
  const TileRange range = tile_range(plan, tile);
  finish(plan, accumulators, range.count,
         output + range.first * static_cast<int64_t>(plan.store.target_width));
}

// Parts are reduced independently and merged in pairs. `begin` returns the operand for a thread.
template <class Begin>
void run_plan(const ReducePlan& plan, const Begin& begin, std::byte* output) {
  const auto num_parts = static_cast<size_t>(plan.num_tiles * plan.num_parts);
  std::vector<Accumulators> parts(plan.num_parts > 1 ? num_parts : 0);
  const int64_t num_threads = num_threads_for(plan.num_elements * kElementCost);
  run_tiles(static_cast<int64_t>(num_parts), num_threads, [&](Tiles& tiles) {
    int64_t i = 0;
    if (!tiles.next(i)) return;
    const Operand operand = begin();
    do {
      if (plan.num_parts > 1) {
        reduce_part(plan, operand, i / plan.num_parts, i % plan.num_parts,
                    parts[static_cast<size_t>(i)], tiles);
        continue;
      }
      Accumulators accumulators;
      reduce_part(plan, operand, i, 0, accumulators, tiles);
      finish_tile(plan, i, accumulators, output);
    } while (tiles.next(i));
  });
  if (parts.empty()) return;
  for (int64_t tile = 0; tile < plan.num_tiles; ++tile) {
    Accumulators* const of_tile = parts.data() + tile * plan.num_parts;
    for (int64_t step = 1; step < plan.num_parts; step *= 2) {
      for (int64_t i = 0; i + step < plan.num_parts; i += 2 * step) {
        plan.reducer.merge(of_tile[i + step].bytes, tile_range(plan, tile).count, of_tile[i].bytes);
      }
    }
    finish_tile(plan, tile, *of_tile, output);
  }
}

void run_reduce(const KernelCall& call) {
  const auto* x = static_cast<const std::byte*>(call.operands[0]);
  run_plan(
      *static_cast<const ReducePlan*>(call.data), [x] { return Operand{.memory = x}; },
      static_cast<std::byte*>(call.operands[1]));
}

// ---- planning

// Adjacent dimensions that are both kept or both reduced are merged.
void plan_walks(ReducePlan& plan, std::span<const int64_t> shape, std::span<const int64_t> axes) {
  struct Group {
    Walk walk;
    bool is_reduced;
  };
  std::vector<Group> groups;  // from the innermost
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    const bool is_reduced = std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
    if (shape[i] != 1) {
      if (!groups.empty() && groups.back().is_reduced == is_reduced) {
        groups.back().walk.size *= shape[i];
      } else {
        groups.push_back({{shape[i], stride}, is_reduced});
      }
    }
    stride *= shape[i];
  }
  if (groups.empty()) return;
  plan.inner = groups[0].walk.size;
  plan.is_inner_reduced = groups[0].is_reduced;
  for (size_t i = groups.size(); i-- > 1;) {
    const auto& [walk, is_reduced] = groups[i];
    (is_reduced ? plan.reduced : plan.kept).push_back(walk);
    (is_reduced ? plan.num_reduced : plan.num_kept) *= walk.size;
  }
}

// Tiles depend on the shape only, because they determine the order of additions and so the bits.
void plan_tiles(ReducePlan& plan) {
  const auto most = static_cast<int64_t>(kAccumulatorBytes / plan.reducer.accumulator_width);
  const int64_t reduced = plan.num_reduced * (plan.is_inner_reduced ? plan.inner : 1);
  const int64_t wanted = kTileElements / std::max<int64_t>(reduced, 1);
  if (plan.is_inner_reduced) {
    plan.tile_size = std::clamp<int64_t>(wanted, 1, most);
    plan.num_tiles = (plan.num_kept + plan.tile_size - 1) / plan.tile_size;
  } else {
    // Not std::clamp: of wide elements, fewer than kLeastColumns fit.
    plan.tile_size = std::min(std::max(wanted, kLeastColumns), most);
    plan.num_tiles = plan.num_kept * ((plan.inner + plan.tile_size - 1) / plan.tile_size);
  }
  const int64_t elements = reduced * plan.num_kept * (plan.is_inner_reduced ? 1 : plan.inner);
  plan.num_elements = elements;
  if (plan.num_tiles == 0 || plan.num_tiles > 4) return;
  const bool has_one_run = plan.is_inner_reduced && plan.num_reduced == 1;
  const int64_t length = has_one_run ? plan.inner : plan.num_reduced;
  const int64_t most_parts = std::min({kMostParts, elements / plan.num_tiles / kTileElements,
                                       has_one_run ? length / kTileElements : length});
  plan.num_parts = std::max<int64_t>(most_parts, 1);
}

using PlanPtr = std::shared_ptr<const ReducePlan>;

std::shared_ptr<ReducePlan> make_plan(ShapeDtype from, ShapeDtype to, std::span<const int64_t> axes,
                                      const Reducer& reducer, Identity identity) {
  const DType dtype = from.dtype();
  auto plan = std::make_shared<ReducePlan>();
  plan->reducer = reducer;
  plan->identity = reducer.accumulator_of(identity_value(identity, dtype));
  plan->computed = compute_dtype(dtype);
  plan->load = make_conversion(dtype, plan->computed);
  plan->store = make_conversion(reducer.result, to.dtype());
  plan_walks(*plan, from.shape(), axes);
  if (to.size() == 0) plan->num_kept = 0;
  plan_tiles(*plan);
  return plan;
}

using MakePlan = PlanPtr (*)(ShapeDtype from, ShapeDtype to, std::span<const int64_t> axes);

// Returns null if the dtype has no loops.
template <class Op, Identity identity>
PlanPtr plan_of(ShapeDtype from, ShapeDtype to, std::span<const int64_t> axes) {
  const Reducer reducer = reducer_of<Op>(compute_dtype(from.dtype()));
  if (!reducer.finish) return nullptr;
  auto plan = make_plan(from, to, axes, reducer, identity);
  const bool adds_up = std::is_same_v<Op, Sum> || std::is_same_v<Op, Product>;
  plan->is_in_any_order = !adds_up || is_integer(from.dtype());
  plan->reduce_stored_runs =
      plan->load.is_copy() ? reducer.reduce_runs : loop_for_halves<Op>(from.dtype(), plan->inner);
  return plan;
}

// For bools the sum is "or" and the product is "and".
template <class Op, Identity identity, class BoolOp, Identity bool_identity>
PlanPtr plan_of_arithmetic(ShapeDtype from, ShapeDtype to, std::span<const int64_t> axes) {
  return from.dtype() == DType::kBool ? plan_of<BoolOp, bool_identity>(from, to, axes)
                                      : plan_of<Op, identity>(from, to, axes);
}

template <MakePlan make>
Kernel make_reduce(Types inputs, Types outputs, const Params* params) {
  PlanPtr plan = make(inputs[0], outputs[0], params_as<ReduceParams>(params).axes);
  if (!plan) return {};
  return {.run = run_reduce, .data = std::move(plan)};
}

struct Reduction {
  std::string_view primitive;
  MakePlan plan;
  KernelFactory make;
};
template <MakePlan plan>
constexpr Reduction reduction(std::string_view primitive) {
  return {primitive, plan, make_reduce<plan>};
}

constexpr Reduction kReductions[] = {
    reduction<plan_of<All, Identity::kAllBits>>("reduce_and"),
    reduction<plan_of<Maximum, Identity::kLowest>>("reduce_max"),
    reduction<plan_of<Minimum, Identity::kHighest>>("reduce_min"),
    reduction<plan_of<Any, Identity::kZero>>("reduce_or"),
    reduction<plan_of_arithmetic<Product, Identity::kOne, All, Identity::kAllBits>>("reduce_prod"),
    reduction<plan_of_arithmetic<Sum, Identity::kZero, Any, Identity::kZero>>("reduce_sum"),
};

constexpr auto kRows = [] {
  const auto row = [](size_t i) {
    return KernelRow(kReductions[i].primitive, kReductions[i].make);
  };
  return std::array{row(0), row(1), row(2), row(3), row(4), row(5)};
}();
static_assert(kRows.size() == std::size(kReductions));

}  // namespace

std::span<const KernelRow> reduce_rows() { return kRows; }

// ---- rows that are computed

ColumnReduction::ColumnReduction(std::string_view primitive, DType from, DType to, int64_t rows,
                                 int64_t columns) {
  const auto* found = std::ranges::find(kReductions, primitive, &Reduction::primitive);
  if (found == std::end(kReductions)) return;
  constexpr std::array<int64_t, 1> kFirst = {0};
  plan_ = found->plan(ShapeDtype(from, {rows, columns}), ShapeDtype(to, {columns}), kFirst);
}

int64_t ColumnReduction::columns_at_once() const {
  return std::min(plan_->inner, plan_->tile_size);
}

void ColumnReduction::run(void* result, int64_t rows_at_once,
                          const std::function<std::unique_ptr<ComputedRows>()>& make_rows) const {
  run_plan(
      *plan_, [&] { return Operand{.rows = make_rows(), .rows_at_once = rows_at_once}; },
      static_cast<std::byte*>(result));
}

}  // namespace farcall::native
