// argmax and argmin: the position of the first extreme value along one axis. The first NaN counts
// as the extreme.
#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include <farcall/primitives/reduce.h>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/reductions/accumulate.h"
#include "engine/native/kernels/reductions/extremes.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

constexpr int64_t kColumns = 256;
// Rows of at most this many elements are scanned by one loop for several rows.
constexpr int64_t kShortRow = 8, kMiddleRow = 64;
// The elements of a tile of whole rows.
constexpr int64_t kTileElements = 32768;

template <class T, bool is_max>
bool is_better(T x, T best) {
  const bool is_beyond = is_max ? x > best : x < best;
  if constexpr (Float<T>) return is_beyond | ((x != x) & (best == best));
  return is_beyond;
}

// The position of the first element for which `is_found` holds; there is one.
template <class T, class IsFound>
int64_t first_position(const T* x, int64_t size, IsFound is_found) {
  // As wide as T, so that the loop is vectorized.
  using Bits =
      std::conditional_t<sizeof(T) == 8, uint64_t,
                         std::conditional_t<sizeof(T) == 4, uint32_t,
                                            std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    Bits is_here = 0;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      is_here |= is_found(x[i + lane]) ? static_cast<Bits>(~Bits(0)) : Bits(0);
    }
    if (is_here) break;
  }
  while (!is_found(x[i])) ++i;
  return i;
}
template <class T, bool is_max>
T best_of(const T* x, int64_t size) {
  using Op = std::conditional_t<is_max, Maximum, Minimum>;
  if constexpr (Float<T>) {
    T best;
    if (size >= kLeastExtremeRun && find_extremes(x, 1, size, is_max, &best) == 1) return best;
  }
  return reduce_lanes<Op, T>(x, size, x[0]);
}

// The position of the first NaN, or else of the first extreme value.
template <class T, bool is_max>
int64_t position_of_best(const T* x, int64_t size) {
  if constexpr (Float<T>) {
    if (size >= kLeastExtremeRun) {
      const int64_t position = find_extreme_position(x, size, is_max);
      if (position >= 0) return position;
      return first_position(x, size, [](T element) { return element != element; });
    }
  }
  const T best = best_of<T, is_max>(x, size);
  return first_position(x, size,
                        [best](T element) { return element == best || element != element; });
}

// Compares the elements of x, whose first index is `start`, with the best so far. At start 0 there
// is no best yet. Looks for a position only if the best of these elements is better.
template <class T, bool is_max>
void scan_run(const void* x, int64_t size, int64_t start, void* best, int64_t* index) {
  const auto* from = static_cast<const T*>(x);
  auto& value = *static_cast<T*>(best);
  if (start != 0 && !is_better<T, is_max>(best_of<T, is_max>(from, size), value)) return;
  const int64_t position = position_of_best<T, is_max>(from, size);
  value = from[position];
  *index = start + position;
}

// The indices of rows of kSize integers.
template <class T, bool is_max, int64_t kSize>
void scan_short_rows(const void* x, int64_t count, int64_t, int64_t* indices) {
  const auto* from = static_cast<const T*>(x);
#pragma GCC ivdep
  for (int64_t row = 0; row < count; ++row) {
    T best = from[row * kSize];
    int64_t index = 0;
#pragma GCC unroll 8
    for (int64_t i = 1; i < kSize; ++i) {
      const T next = from[row * kSize + i];
      const bool is_new = is_max ? next > best : next < best;
      // Without branches, whose outcome is random.
      best = static_cast<T>(best ^ ((best ^ next) & static_cast<T>(-T(is_new))));
      index ^= (index ^ i) & -int64_t{is_new};
    }
    indices[row] = index;
  }
}

// The same for rows of any size: the extreme of numbers that have the element in the upper half,
// and below it what makes the first one of equal elements the extreme.
template <class T, bool is_max>
void scan_middle_rows(const void* x, int64_t count, int64_t size, int64_t* indices) {
  constexpr int64_t kLower = std::numeric_limits<uint32_t>::max();
  const auto* from = static_cast<const T*>(x);
  for (int64_t row = 0; row < count; ++row, from += size) {
    int64_t best =
        is_max ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
    for (int64_t i = 0; i < size; ++i) {
      auto key = static_cast<int64_t>(from[i]);
      if constexpr (std::is_same_v<T, uint32_t>) key += std::numeric_limits<int32_t>::min();
      const int64_t next = key * (kLower + 1) + (is_max ? kLower - i : i);
      best = is_max ? std::max(best, next) : std::min(best, next);
    }
    indices[row] = is_max ? kLower - (best & kLower) : best & kLower;
  }
}

using ShortRows = void (*)(const void* x, int64_t count, int64_t size, int64_t* indices);

template <class T, bool is_max>
ShortRows integer_rows_loop(int64_t size) {
  constexpr bool has_middle_rows = sizeof(T) <= 4;
  ShortRows found = nullptr;
  const auto try_size = [&]<int64_t kSize>(std::integral_constant<int64_t, kSize>) {
    // Compilers do not vectorize the loop for several rows of 5, 6 or 7 elements.
    if constexpr (!has_middle_rows || kSize < 5 || kSize == kShortRow) {
      if (size == kSize) found = best_loop<scan_short_rows<T, is_max, kSize>>();
    }
  };
  [&]<int64_t... kSizes>(std::integer_sequence<int64_t, kSizes...>) {
    (try_size(std::integral_constant<int64_t, kSizes + 1>()), ...);
  }
  (std::make_integer_sequence<int64_t, kShortRow>());
  if constexpr (has_middle_rows) {
    if (!found && size <= kMiddleRow) found = best_loop<scan_middle_rows<T, is_max>>();
  }
  return found;
}

// Null if rows of this size are scanned one by one.
template <class T, bool is_max>
ShortRows short_rows_loop(int64_t size) {
  if constexpr (Float<T> || std::is_same_v<T, int32_t>) {
    if (size > kMiddleRow) return nullptr;
    return [](const void* x, int64_t count, int64_t row, int64_t* indices) {
      find_positions_in_rows(static_cast<const T*>(x), count, row, is_max, indices);
    };
  } else {
    return integer_rows_loop<T, is_max>(size);
  }
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
  ShortRows short_rows = nullptr;  // for rows of few elements
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

// Rows, one after the other.
void run_dense(const ArgPlan& plan, const std::byte* operand, std::byte* results) {
  const size_t width = plan.load.source_width;
  const int64_t step = plan.load.is_copy() ? 8 * kBlock : kBlock;
  const int64_t num_rows = std::max<int64_t>(1, kTileElements / plan.size);
  run_tiles((plan.outer - 1) / num_rows + 1, num_threads_for_elements(plan.outer * plan.size),
            [&](Tiles& tiles) {
              Values block;
              for (int64_t tile; tiles.next(tile);) {
                const int64_t end = std::min(plan.outer, (tile + 1) * num_rows);
                for (int64_t row = tile * num_rows; row < end; ++row) {
                  const std::byte* x = operand + static_cast<size_t>(row * plan.size) * width;
                  int64_t index = 0;
                  alignas(8) std::byte best[8];
                  for (int64_t start = 0; start < plan.size; start += step) {
                    const int64_t count = std::min(plan.size - start, step);
                    plan.run(loaded(plan, x, block, count), count, start, best, &index);
                    if (!tiles.go_on(count * kStepCost)) return;
                    x += static_cast<size_t>(count) * width;
                  }
                  plan.store.run(&index,
                                 results + static_cast<size_t>(row) * plan.store.target_width, 1);
                }
              }
            });
}

void run_short_rows(const ArgPlan& plan, const std::byte* operand, std::byte* results) {
  const size_t row_bytes = static_cast<size_t>(plan.size) * plan.load.source_width;
  run_tiles((plan.outer - 1) / kBlock + 1, num_threads_for_elements(plan.outer * plan.size),
            [&](Tiles& tiles) {
              Values block;
              int64_t indices[kBlock];
              for (int64_t tile; tiles.next(tile);) {
                const int64_t row = tile * kBlock, count = std::min(plan.outer - row, kBlock);
                const auto first = static_cast<size_t>(row);
                const std::byte* x = operand + first * row_bytes;
                for (int64_t done = 0, some; done < count; done += some) {
                  some = plan.load.is_copy() ? count : std::min(count - done, kBlock / plan.size);
                  plan.short_rows(loaded(plan, x, block, some * plan.size), some, plan.size,
                                  indices + done);
                  x += static_cast<size_t>(some) * row_bytes;
                }
                plan.store.run(indices, results + first * plan.store.target_width, count);
                if (!tiles.go_on(count * plan.size * kStepCost)) return;
              }
            });
}

// Columns, kColumns at a time.
void run_columns(const ArgPlan& plan, const std::byte* operand, std::byte* results) {
  const size_t width = plan.load.source_width;
  const int64_t num_parts = (plan.inner - 1) / kColumns + 1;
  run_tiles(plan.outer * num_parts, num_threads_for_elements(plan.outer * plan.size * plan.inner),
            [&](Tiles& tiles) {
              Values block, best;
              int64_t index[kColumns];
              for (int64_t tile; tiles.next(tile);) {
                const int64_t i = tile / num_parts, start = tile % num_parts * kColumns;
                const int64_t count = std::min(plan.inner - start, kColumns);
                for (int64_t row = 0; row < plan.size; ++row) {
                  const auto from = static_cast<size_t>((i * plan.size + row) * plan.inner + start);
                  plan.row(loaded(plan, operand + from * width, block, count), count, row,
                           best.bytes, index);
                  if (!tiles.go_on(count * kStepCost)) return;
                }
                const auto to = static_cast<size_t>(i * plan.inner + start);
                plan.store.run(index, results + to * plan.store.target_width, count);
              }
            });
}

void run_arg_reduce(const KernelCall& call) {
  const auto& plan = *static_cast<const ArgPlan*>(call.data);
  if (plan.outer == 0 || plan.inner == 0 || plan.size == 0) return;
  const auto run_rows = plan.short_rows ? run_short_rows : run_dense;
  const auto run = plan.inner == 1 ? run_rows : run_columns;
  run(plan, static_cast<const std::byte*>(call.operands[0]),
      static_cast<std::byte*>(call.operands[1]));
}

template <bool is_max>
Kernel make_arg_reduce(Types inputs, Types outputs, const Params* params) {
  const DType dtype = inputs[0].dtype();
  const auto axis = static_cast<size_t>(params_as<ArgReduceParams>(params).axis);
  auto plan = std::make_shared<ArgPlan>();
  for_each_compute_type([&]<class T>() {
    if constexpr (!Complex<T>) {
      if (kDTypeOf<T> != compute_dtype(dtype)) return;
      plan->run = best_loop<scan_run<T, is_max>>();
      plan->row = best_loop<scan_row<T, is_max>>();
      plan->short_rows = short_rows_loop<T, is_max>(inputs[0].shape()[axis]);
    }
  });
  if (!plan->run) return {};
  plan->load = make_conversion(dtype, compute_dtype(dtype));
  plan->store = make_conversion(DType::kInt64, outputs[0].dtype());
  const auto shape = inputs[0].shape();
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
