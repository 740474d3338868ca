// scatter and its variants, which combine updates with existing elements.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <type_traits>

#include <farcall/handler/small_float.h>
#include <farcall/primitives/indexing.h>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/movement/moves.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/movement/shared_places.h"
#include "engine/native/kernels/movement/strided_copy.h"
#include "engine/native/kernels/reductions/accumulate.h"
#include "engine/native/kernels/reductions/windows.h"
#include "engine/native/kernels/vector/prefetch.h"
#include "engine/native/kernels/width.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

Windows make_windows(Types inputs, const ScatterParams& p) {
  const auto mode = p.mode == GatherScatterMode::kClip ? p.mode : GatherScatterMode::kFillOrDrop;
  return Windows(as_gather(p), inputs[0], inputs[1], inputs[2],
                 window_sizes(p, inputs[0], inputs[2]), mode);
}

StridedCopy make_whole(ShapeDtype operand) {
  const auto strides = dense_strides(operand.shape());
  return {byte_width(operand.dtype()), operand.shape(), strides, strides};
}

// Copies the operand to the result, unless they share memory.
std::byte* begin_output(const KernelCall& call, const StridedCopy& whole) {
  if (call.operands[3] != call.operands[0]) whole.run(call.operands[0], call.operands[3]);
  return static_cast<std::byte*>(call.operands[3]);
}

// Whether windows are the same or have no element in common: each is one dense run that covers the
// last dimensions of the operand.
bool are_rows(const Windows& windows, const StridedCopy& window, ShapeDtype operand) {
  int64_t covered = 1;
  for (size_t i = operand.rank(); i-- > 0 && covered < windows.size();) {
    covered *= operand.shape()[i];
  }
  return window.dense_bytes() > 0 && covered == windows.size();
}

// Whether the updates of each element of the windows are beside each other, and no other element's
// updates go to the same places.
bool are_by_element(const Windows& windows) {
  constexpr int64_t kLeastCount = 8;
  return windows.are_side_by_side() && windows.are_elements_apart() &&
         windows.count() >= kLeastCount;
}

// ---- replacing

struct ReplacePlan {
  Windows windows;
  StridedCopy whole, copy;  // of the operand, and of one window
  int64_t width;
  DType index;
  bool is_in_rows;  // see are_rows
};

template <class T>
void replace_by_element(const ReplacePlan& plan, const KernelCall& call) {
  plan.windows.walk_elements(call.operands[1], [&](const ElementOffsets& found) {
    const auto* updates = static_cast<const T*>(call.operands[2]) + found.all;
    auto* target = static_cast<T*>(call.operands[3]) + found.operand;
    for (int64_t i = 0; i < plan.windows.count(); ++i) {
      if (found.windows[i] >= 0) target[found.windows[i]] = updates[i];
    }
  });
}

// Scatters windows of one element.
template <class T>
void replace_elements(const ReplacePlan& plan, const KernelCall& call) {
  const auto* updates = static_cast<const T*>(call.operands[2]);
  auto* target = static_cast<T*>(call.operands[3]);
  if (const auto shared = SharedPlaces::of(plan.windows, plan.index, plan.width)) {
    return shared->visit(call.operands[1], [&](int64_t first, const ChosenPlaces& found) {
      for (int64_t i = 0; i < found.count; ++i) {
        target[found.places[i] * shared->stride()] = updates[first + found.positions[i]];
      }
    });
  }
  plan.windows.walk(call.operands[1], /*in_any_order=*/false,
                    [&](const WindowOffsets& offsets, int64_t count) {
                      for (int64_t i = 0; i < count; ++i) {
                        const int64_t to = offsets.operand[i];
                        if (to >= 0) target[to] = updates[offsets.all[i]];
                      }
                    });
}

void run_replace(const KernelCall& call) {
  const auto& plan = *static_cast<const ReplacePlan*>(call.data);
  std::byte* output = begin_output(call, plan.whole);
  const int64_t width = plan.width;
  if (plan.windows.size() == 0) return;
  if (plan.windows.size() == 1) {
    return visit_width(width, [&]<class T>(T) { replace_elements<T>(plan, call); });
  }
  if (are_by_element(plan.windows)) {
    return visit_width(width, [&]<class T>(T) { replace_by_element<T>(plan, call); });
  }
  const auto dense = static_cast<size_t>(plan.copy.dense_bytes());
  const auto* updates = static_cast<const std::byte*>(call.operands[2]);
  const auto visit = [&](const WindowOffsets& offsets, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      if (offsets.operand[i] < 0) continue;
      const std::byte* const from = updates + offsets.all[i] * width;
      std::byte* const to = output + offsets.operand[i] * width;
      dense > 0 ? copy_bytes(from, to, dense) : plan.copy.run(from, to);
    }
  };
  plan.is_in_rows ? plan.windows.walk_places(call.operands[1], width, visit)
                  : plan.windows.walk(call.operands[1], /*in_any_order=*/false, visit);
}

Kernel make_replace(Types inputs, Types, const Params* params) {
  Windows windows = make_windows(inputs, params_as<ScatterParams>(params));
  const size_t width = byte_width(inputs[0].dtype());
  StridedCopy copy(width, windows.shape(), windows.all_strides(), windows.operand_strides());
  const bool is_in_rows = are_rows(windows, copy, inputs[0]);
  return {.run = run_replace,
          .data = std::make_shared<ReplacePlan>(
              ReplacePlan{std::move(windows), make_whole(inputs[0]), copy,
                          static_cast<int64_t>(width), inputs[1].dtype(), is_in_rows})};
}

// ---- combining

// Elements that are `step` bytes apart.
struct Run {
  std::byte* data;
  int64_t step;
};
// target[i] = op(target[i], updates[i]), for strided runs, dense runs, and windows of one element.
struct CombineLoops {
  void (*any)(Run target, Run updates, int64_t size) = nullptr;
  void (*dense)(void* target, const void* updates, int64_t size) = nullptr;
  void (*elements)(void* target, const void* updates, const WindowOffsets& offsets,
                   int64_t count) = nullptr;
  // Same for updates that are beside each other.
  void (*beside)(void* target, const void* updates, const int64_t* offsets,
                 int64_t count) = nullptr;
  // Same as `elements` for places of a part (SharedPlaces), which are `stride` elements apart.
  void (*chosen)(void* target, const void* updates, const ChosenPlaces& found,
                 int64_t stride) = nullptr;
  // Windows that are one dense run of `size` elements.
  void (*runs)(void* target, const void* updates, const WindowOffsets& offsets, int64_t count,
               int64_t size) = nullptr;
  // Same as `elements` for windows of one element on a line (Windows::Line); null if the index
  // dtype has no such loop.
  void (*line)(void* target, const void* updates, const void* indices, int64_t count,
               Windows::Line line, bool clips) = nullptr;
};

template <class Op, class T>
struct Loops {
  static void any(Run target, Run updates, int64_t size) {
    for (int64_t i = 0; i < size; ++i) {
      auto* to = reinterpret_cast<T*>(target.data + i * target.step);
      *to = Op::combine(*to, *reinterpret_cast<const T*>(updates.data + i * updates.step));
    }
  }
  static void dense(void* target, const void* updates, int64_t size) {
    auto* to = static_cast<T*>(target);
    const auto* from = static_cast<const T*>(updates);
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) to[i] = Op::combine(to[i], from[i]);
  }
  static void elements(void* target, const void* updates, const WindowOffsets& offsets,
                       int64_t count) {
    auto* to = static_cast<T*>(target);
    const auto* from = static_cast<const T*>(updates);
    for (int64_t i = 0; i < count; ++i) {
      if (offsets.operand[i] < 0) continue;
      T& element = to[offsets.operand[i]];
      element = Op::combine(element, from[offsets.all[i]]);
    }
  }
  static void beside(void* target, const void* updates, const int64_t* offsets, int64_t count) {
    auto* to = static_cast<T*>(target);
    const auto* from = static_cast<const T*>(updates);
    for (int64_t i = 0; i < count; ++i) {
      if (offsets[i] >= 0) to[offsets[i]] = Op::combine(to[offsets[i]], from[i]);
    }
  }
  static void chosen(void* target, const void* updates, const ChosenPlaces& found, int64_t stride) {
    auto* to = static_cast<T*>(target);
    const auto* from = static_cast<const T*>(updates);
    for (int64_t i = 0; i < found.count; ++i) {
      T& element = to[found.places[i] * stride];
      element = Op::combine(element, from[found.positions[i]]);
    }
  }
  static void runs(void* target, const void* updates, const WindowOffsets& offsets, int64_t count,
                   int64_t size) {
    constexpr auto kPart = std::max<int64_t>(1, kCacheLine / int64_t(sizeof(T)));
    // Updates of another thread lie between those of this one, so the processor requests the wrong
    // ones ahead.
    constexpr int64_t kAhead = 8, kMostRequested = 4 * kPart;
    const int64_t requested = std::min(size, kMostRequested);
    for (int64_t i = 0; i < count; ++i) {
      const auto* later =
          static_cast<const T*>(updates) + offsets.all[std::min(i + kAhead, count - 1)];
      for (int64_t j = 0; j < requested; j += kPart) __builtin_prefetch(later + j);
      if (offsets.operand[i] < 0) continue;
      auto* to = static_cast<T*>(target) + offsets.operand[i];
      const auto* from = static_cast<const T*>(updates) + offsets.all[i];
      int64_t j = 0;
      // The compiler knows the size of most parts, which matters for short runs.
      for (; j + kPart <= size; j += kPart) {
#pragma GCC ivdep
        for (int64_t k = j; k < j + kPart; ++k) to[k] = Op::combine(to[k], from[k]);
      }
      for (; j < size; ++j) to[j] = Op::combine(to[j], from[j]);
    }
  }
  template <class Index>
  static void line(void* target, const void* updates, const void* indices, int64_t count,
                   Windows::Line line, bool clips) {
    auto* to = static_cast<T*>(target);
    const auto* from = static_cast<const T*>(updates);
    const auto* starts = static_cast<const Index*>(indices);
    const auto add = [&](int64_t stride, auto is_clipped) {
      for (int64_t i = 0; i < count; ++i) {
        int64_t start = starts[i];
        if constexpr (is_clipped) {
          start = std::clamp<int64_t>(start, 0, line.limit);
        } else if (static_cast<uint64_t>(start) > static_cast<uint64_t>(line.limit)) {
          continue;  // a negative one too
        }
        T& element = to[start * stride];
        element = Op::combine(element, from[i]);
      }
    };
    if (clips) return add(line.stride, std::true_type());
    line.stride == 1 ? add(1, std::false_type()) : add(line.stride, std::false_type());
  }
};

template <class Op, class L>
decltype(CombineLoops::line) line_loop(DType indices) {
  if constexpr (std::is_same_v<Op, Sum>) {
    if (indices == DType::kInt32) return L::template line<int32_t>;
    if (indices == DType::kInt64) return L::template line<int64_t>;
  }
  return nullptr;
}

template <class Op>
CombineLoops combine_loops(DType dtype, DType indices) {
  CombineLoops found;
  for_each_compute_type([&]<class T>() {
    using X = typename OperandOf<Op, T>::type;
    using L = Loops<Op, X>;
    if (kDTypeOf<T> != dtype) return;
    found = {L::any,
             best_loop_of<L::dense, X>(),
             L::elements,
             L::beside,
             L::chosen,
             best_loop_of<L::runs, X>(),
             line_loop<Op, L>(indices)};
  });
  return found;
}

// Combines 16-bit floats in float32.
template <class Op>
struct InFloat {
  template <class T>
  static T combine(T a, T b) {
    return Op::combine(static_cast<float>(a), static_cast<float>(b));
  }
};

// The loops for single elements of 16-bit floats as they are stored; null for other dtypes.
template <class Op>
CombineLoops loops_of_halves(DType dtype, DType indices) {
  const auto loops = [&]<class T>() {
    using L = Loops<InFloat<Op>, T>;
    return CombineLoops{.elements = L::elements,
                        .beside = L::beside,
                        .chosen = L::chosen,
                        .line = line_loop<Op, L>(indices)};
  };
  if (dtype == DType::kFloat16) return loops.template operator()<ffi::float16>();
  if (dtype == DType::kBFloat16) return loops.template operator()<ffi::bfloat16>();
  return {};
}

struct CombinePlan {
  Windows windows;
  CombineLoops loops;
  Conversion widen, narrow;  // to the compute type and back
  StridedCopy whole;         // of the operand
  size_t nbytes;
  DType index;
  // The window is split into runs along its last dimension; `outer` has the other dimensions.
  int64_t run_size = 1, run_target_step = 0, run_update_step = 0;  // bytes
  struct Dimension {
    int64_t size, target, update;  // strides in bytes
  };
  std::vector<Dimension> outer;
  bool is_in_rows = false;  // see are_rows
  // The number of parts that are summed concurrently, if there are many updates of few elements.
  int64_t num_parts = 1;
  std::array<std::byte, kMaxComputeWidth> identity{};

  // Applies updates [first, last) for windows of one element, or for dense ones. Requires loops for
  // them.
  void run_part(const KernelCall& call, std::byte* target, int64_t first, int64_t last,
                Tiles& tiles) const;
  void run_elements(const KernelCall& call, void* target, int64_t first, int64_t last,
                    Tiles& tiles) const;
  bool is_run() const {
    const auto width = static_cast<int64_t>(widen.source_width);
    return outer.empty() && widen.is_copy() && run_target_step == width && run_update_step == width;
  }
  void run_once(Run target, Run updates, int64_t size) const;
  void run_window(std::byte* target, std::byte* updates) const;
};

void pack(Run from, std::byte* to, size_t width, int64_t size) {
  for (int64_t i = 0; i < size; ++i) {
    std::memcpy(to + i * static_cast<int64_t>(width), from.data + i * from.step, width);
  }
}

// If the stored type differs from the compute type, elements are converted through buffers.
void CombinePlan::run_once(Run target, Run updates, int64_t size) const {
  const size_t width = widen.source_width;
  if (widen.is_copy()) {
    const auto dense = static_cast<int64_t>(width);
    if (target.step == dense && updates.step == dense) {
      return loops.dense(target.data, updates.data, size);
    }
    return loops.any(target, updates, size);
  }
  alignas(16) std::byte stored[kBlock * kMaxComputeWidth];
  alignas(16) std::byte a[kBlock * kMaxComputeWidth];
  alignas(16) std::byte b[kBlock * kMaxComputeWidth];
  for (int64_t start = 0; start < size; start += kBlock) {
    const int64_t count = std::min(size - start, kBlock);
    const Run to = {target.data + start * target.step, target.step};
    pack(to, stored, width, count);
    widen.run(stored, a, count);
    pack({updates.data + start * updates.step, updates.step}, stored, width, count);
    widen.run(stored, b, count);
    loops.dense(a, b, count);
    narrow.run(a, stored, count);
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(to.data + i * to.step, stored + i * static_cast<int64_t>(width), width);
    }
  }
}

void CombinePlan::run_window(std::byte* target, std::byte* updates) const {
  if (outer.empty()) {
    return run_once({target, run_target_step}, {updates, run_update_step}, run_size);
  }
  std::array<int64_t, kMaxRank> at{};
  while (true) {
    run_once({target, run_target_step}, {updates, run_update_step}, run_size);
    size_t d = outer.size();
    for (; d-- > 0;) {
      target += outer[d].target;
      updates += outer[d].update;
      if (++at[d] < outer[d].size) break;
      target -= outer[d].size * outer[d].target;
      updates -= outer[d].size * outer[d].update;
      at[d] = 0;
    }
    if (d == SIZE_MAX) return;
  }
}

void CombinePlan::run_elements(const KernelCall& call, void* target, int64_t first, int64_t last,
                               Tiles& tiles) const {
  if (!loops.line || !windows.line()) {
    return windows.walk_part(call.operands[1], first, last, tiles,
                             [&](const WindowOffsets& offsets, int64_t count) {
                               loops.elements(target, call.operands[2], offsets, count);
                             });
  }
  constexpr int64_t kAtOnce = 4096;
  const auto at = [](const void* data, int64_t i, size_t element) {
    return static_cast<const std::byte*>(data) + static_cast<size_t>(i) * element;
  };
  for (int64_t count; first < last; first += count) {
    count = std::min(kAtOnce, last - first);
    loops.line(target, at(call.operands[2], first, widen.source_width),
               at(call.operands[1], first, byte_width(index)), count, *windows.line(),
               windows.clips());
    if (!tiles.go_on(count * kStepCost)) return;
  }
}

void CombinePlan::run_part(const KernelCall& call, std::byte* target, int64_t first, int64_t last,
                           Tiles& tiles) const {
  if (windows.size() == 1) return run_elements(call, target, first, last, tiles);
  windows.walk_part(call.operands[1], first, last, tiles,
                    [&](const WindowOffsets& offsets, int64_t count) {
                      loops.runs(target, call.operands[2], offsets, count, run_size);
                    });
}

// The first part of the updates is added to the result directly, every other part to separate sums.
void run_in_parts(const CombinePlan& plan, const KernelCall& call, std::byte* output) {
  const auto target = [&](int64_t part) {
    auto* const others = static_cast<std::byte*>(call.scratch);
    return part == 0 ? output : others + static_cast<size_t>(part - 1) * plan.nbytes;
  };
  const auto size = static_cast<int64_t>(plan.nbytes / plan.widen.source_width);
  const auto bound = [&](int64_t part) { return plan.windows.count() * part / plan.num_parts; };
  const int64_t num_threads = num_threads_for_elements(plan.windows.count() * plan.windows.size());
  run_tiles(plan.num_parts, num_threads, [&](Tiles& tiles) {
    for (int64_t part; tiles.next(part);) {
      if (part > 0) {
        fill_elements(target(part), plan.identity.data(), plan.widen.source_width, size);
      }
      plan.run_part(call, target(part), bound(part), bound(part + 1), tiles);
    }
  });
  for (int64_t part = 1; part < plan.num_parts; ++part) {
    plan.loops.dense(output, target(part), size);
  }
}

// The least size in bytes of rows whose columns are divided among threads.
constexpr int64_t kLeastColumns = 8192;

// Each thread combines some columns of all windows, which are rows: the order of the updates of an
// element stays.
void run_in_columns(const CombinePlan& plan, const KernelCall& call, std::byte* output) {
  const int64_t width = static_cast<int64_t>(plan.widen.source_width), size = plan.run_size;
  const int64_t count = plan.windows.count(), line = kCacheLine / width;
  const int64_t num_threads = num_threads_for_elements(count * size);
  const int64_t num_parts = std::clamp<int64_t>(size / line, 1, num_threads);
  const auto bound = [&](int64_t part) {
    return part == num_parts ? size : size * part / num_parts / line * line;
  };
  auto* const updates = static_cast<std::byte*>(call.operands[2]);
  run_tiles(num_parts, num_threads, [&](Tiles& tiles) {
    for (int64_t part; tiles.next(part);) {
      const int64_t first = bound(part), last = bound(part + 1);
      plan.windows.walk_part(call.operands[1], 0, count, tiles,
                             [&](const WindowOffsets& offsets, int64_t found) {
                               plan.loops.runs(output + first * width, updates + first * width,
                                               offsets, found, last - first);
                             });
    }
  });
}

void run_combine(const KernelCall& call) {
  const auto& plan = *static_cast<const CombinePlan*>(call.data);
  const Windows& windows = plan.windows;
  std::byte* output = begin_output(call, plan.whole);
  if (windows.size() == 0) return;
  if (plan.num_parts > 1) return run_in_parts(plan, call, output);
  const auto width = static_cast<int64_t>(plan.widen.source_width);
  auto* updates = static_cast<std::byte*>(call.operands[2]);
  if (windows.size() == 1 && plan.widen.is_copy()) {
    if (const auto shared = SharedPlaces::of(windows, plan.index, width)) {
      return shared->visit(call.operands[1], [&](int64_t first, const ChosenPlaces& found) {
        plan.loops.chosen(output, updates + first * width, found, shared->stride());
      });
    }
    return run_tiles(
        1, 1, [&](Tiles& tiles) { plan.run_elements(call, output, 0, windows.count(), tiles); });
  }
  if (are_by_element(windows) && plan.widen.is_copy()) {
    return windows.walk_elements(call.operands[1], [&](const ElementOffsets& found) {
      plan.loops.beside(output + found.operand * width, updates + found.all * width, found.windows,
                        windows.count());
    });
  }
  const bool is_run = plan.is_run();
  const auto visit = [&](const WindowOffsets& offsets, int64_t count) {
    if (is_run) return plan.loops.runs(output, updates, offsets, count, plan.run_size);
    for (int64_t i = 0; i < count; ++i) {
      if (offsets.operand[i] < 0) continue;
      plan.run_window(output + offsets.operand[i] * width, updates + offsets.all[i] * width);
    }
  };
  if (!plan.is_in_rows) return windows.walk(call.operands[1], /*in_any_order=*/false, visit);
  if (windows.num_place_parts(width) == 1 && is_run && plan.run_size * width >= kLeastColumns) {
    return run_in_columns(plan, call, output);
  }
  windows.walk_places(call.operands[1], width, visit);
}

// Parts depend on the sizes only, because they determine the order of additions and so the bits.
int64_t num_parts_of(const CombinePlan& plan, DType dtype) {
  constexpr int64_t kLeastUpdates = int64_t{1} << 17, kMostParts = 8, kUpdatesOfElement = 16;
  // Narrow floats are rounded after each addition, so they are added in order.
  const bool is_real = is_integer(dtype) || (is_floating(dtype) && !is_narrow_float(dtype));
  const bool is_element = plan.windows.size() == 1;
  const bool has_loops = is_element ? plan.widen.is_copy() : plan.is_in_rows && plan.is_run();
  if (!is_real || !has_loops) return 1;
  // Threads that choose among rows of many bytes read memory as fast, and sums of their own should
  // stay in the second-level cache.
  constexpr int64_t kMostRowBytes = 512;
  constexpr size_t kMostBytes = size_t{1} << 19;
  const auto row_bytes = plan.run_size * static_cast<int64_t>(plan.widen.source_width);
  if (!is_element && (row_bytes > kMostRowBytes || plan.nbytes > kMostBytes)) return 1;
  const auto size = static_cast<int64_t>(plan.nbytes / plan.widen.source_width);
  const int64_t num_updates = plan.windows.count() * plan.windows.size();
  const int64_t most = std::min(num_updates / kLeastUpdates, kMostParts);
  const int64_t worth = num_updates / (std::max<int64_t>(size, 1) * kUpdatesOfElement);
  // Threads that share the places of single elements keep the order of all updates.
  if (is_element && worth < most) return 1;
  return std::max<int64_t>(std::min(most, worth), 1);
}

template <class Op>
Kernel make_combine(Types inputs, Types, const Params* params) {
  const DType dtype = inputs[0].dtype();
  const DType computed = compute_dtype(dtype);
  auto plan = std::make_shared<CombinePlan>(
      CombinePlan{.windows = make_windows(inputs, params_as<ScatterParams>(params)),
                  .loops = combine_loops<Op>(computed, inputs[1].dtype()),
                  .widen = make_conversion(dtype, computed),
                  .narrow = make_conversion(computed, dtype),
                  .whole = make_whole(inputs[0]),
                  .nbytes = inputs[0].nbytes(),
                  .index = inputs[1].dtype()});
  if (!plan->loops.any) return {};
  const auto width = static_cast<int64_t>(byte_width(dtype));
  const Windows& windows = plan->windows;
  if (windows.size() == 1 || are_by_element(windows)) {
    const CombineLoops halves = loops_of_halves<Op>(dtype, inputs[1].dtype());
    if (halves.elements) {
      plan->loops = halves;
      plan->widen = plan->narrow = make_conversion(dtype, dtype);
    }
  }
  for (size_t i = 0; i < windows.shape().size(); ++i) {
    if (windows.shape()[i] == 1) continue;
    const CombinePlan::Dimension next = {windows.shape()[i], windows.operand_strides()[i] * width,
                                         windows.all_strides()[i] * width};
    // Merges two dimensions if one continues the other.
    if (!plan->outer.empty() && plan->outer.back().target == next.size * next.target &&
        plan->outer.back().update == next.size * next.update) {
      plan->outer.back() = {plan->outer.back().size * next.size, next.target, next.update};
    } else {
      plan->outer.push_back(next);
    }
  }
  if (!plan->outer.empty()) {
    plan->run_size = plan->outer.back().size;
    plan->run_target_step = plan->outer.back().target;
    plan->run_update_step = plan->outer.back().update;
    plan->outer.pop_back();
  }
  const StridedCopy window(static_cast<size_t>(width), windows.shape(), windows.all_strides(),
                           windows.operand_strides());
  plan->is_in_rows = are_rows(windows, window, inputs[0]);
  size_t scratch_bytes = 0;
  if constexpr (std::is_same_v<Op, Sum>) {
    plan->num_parts = num_parts_of(*plan, dtype);
    scratch_bytes = static_cast<size_t>(plan->num_parts - 1) * plan->nbytes;
    // The identity of addition: -0.0 for floats, because x + -0.0 keeps the sign of zero.
    const double zero = is_integer(computed) ? 0.0 : -0.0;
    make_conversion(DType::kFloat64, computed).run(&zero, plan->identity.data(), 1);
  }
  return {.run = run_combine, .data = std::move(plan), .scratch_bytes = scratch_bytes};
}

constexpr KernelRow kRows[] = {
    {"scatter", make_replace, KernelTrait::kUpdatesFirstInput},
    {"scatter_add", make_combine<Sum>, KernelTrait::kUpdatesFirstInput},
    {"scatter_max", make_combine<Maximum>, KernelTrait::kUpdatesFirstInput},
    {"scatter_min", make_combine<Minimum>, KernelTrait::kUpdatesFirstInput},
    {"scatter_mul", make_combine<Product>, KernelTrait::kUpdatesFirstInput},
};

}  // namespace

std::span<const KernelRow> scatter_rows() { return kRows; }

}  // namespace farcall::native
