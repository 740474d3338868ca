// Reductions over windows, one dimension at a time, and the selections in their derivatives.
#include <algorithm>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/core/layout.h>
#include <farcall/core/sizes.h>
#include <farcall/primitives/reduce.h>
#include <farcall/primitives/reduce_window.h>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/instruction_sets.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/reductions/sliding_window.h"
#include "engine/native/kernels/scratch.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

template <class Window>
WindowDimension plan_dimension(const Window& p, size_t i, int64_t size, int64_t num_positions,
                               int64_t element_stride) {
  return {{p.window_strides[i], p.window_dilation[i], p.base_dilation[i], p.padding[i].first},
          size,
          element_stride,
          num_positions,
          p.window_dimensions[i]};
}

// Whether windows along this dimension are more than each element by itself.
template <class Window>
bool has_windows(const Window& p, size_t i) {
  return p.window_dimensions[i] != 1 || p.window_strides[i] != 1 || p.base_dilation[i] != 1 ||
         p.padding[i] != std::pair<int64_t, int64_t>();
}

// ---- operations

struct Sum {
  static constexpr std::string_view kReduction = "reduce_sum";
  template <class T>
  static T identity() {
    return T(0);
  }
  template <class T>
  static T combine(T a, T b) {
    return add(a, b);
  }
};
struct Product {
  static constexpr std::string_view kReduction = "reduce_prod";
  template <class T>
  static T identity() {
    return T(1);
  }
  template <class T>
  static T combine(T a, T b) {
    return multiply(a, b);
  }
};
struct Maximum {
  static constexpr std::string_view kReduction = "reduce_max";
  template <class T>
  requires(!Complex<T>) static T identity() {
    if constexpr (Float<T>) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::min();
  }
  template <class T>
  static T combine(T a, T b) {
    return maximum(a, b);
  }
};
struct Minimum {
  static constexpr std::string_view kReduction = "reduce_min";
  template <class T>
  requires(!Complex<T>) static T identity() {
    if constexpr (Float<T>) return std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::max();
  }
  template <class T>
  static T combine(T a, T b) {
    return minimum(a, b);
  }
};

// ---- reductions

// A reduction along one dimension, over rows of `inner` elements. Offsets are multiples of `inner`.
struct Pass {
  WindowDimension dimension;
  int64_t outer = 1, size = 1, inner = 1;
  int64_t result_size() const { return outer * dimension.num_positions * inner; }
};
using PassLoop = void (*)(const Pass& pass, const void* x, void* y);

// to = combine(to, from) for rows of `inner` elements, which are these steps apart. The step of
// `to` is zero if all rows are combined into one.
template <class Op, class T>
void combine_rows(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t rows,
                  int64_t inner) {
  if (from_step == inner && to_step == inner) {
    inner *= rows;
    rows = 1;
  }
  if (inner == 1) {
    for (int64_t row = 0; row < rows; ++row) {
      to[row * to_step] = Op::combine(to[row * to_step], from[row * from_step]);
    }
    return;
  }
  for (int64_t row = 0; row < rows; ++row, from += from_step, to += to_step) {
    for (int64_t i = 0; i < inner; ++i) to[i] = Op::combine(to[i], from[i]);
  }
}

// The results of the outer numbers and positions in these ranges: in order at `to`.
struct Part {
  int64_t outer, outer_end, position, position_end;
};

// Combines the elements of each position in the order of their places in the window. Returns false
// if the program is to stop.
template <class Op, class T>
bool reduce_part(const Pass& pass, const Part& part, const T* x, T* to, Tiles& tiles) {
  static const auto combine = best_loop_of<combine_rows<Op, T>, T>();
  const auto& dimension = pass.dimension;
  const int64_t count = part.position_end - part.position, inner = pass.inner;
  std::fill_n(to, (part.outer_end - part.outer) * count * inner, Op::template identity<T>());
  // Runs along the longer one of the dimension and the window.
  const bool is_by_place = dimension.window <= dimension.num_positions;
  for (int64_t i = 0; i < (is_by_place ? dimension.window : count); ++i) {
    const Covered run = is_by_place ? dimension.positions(i, part.position, count)
                                    : dimension.places(part.position + i);
    T* const first = to + (is_by_place ? run.first : i) * inner;
    for (int64_t outer = part.outer; outer < part.outer_end; ++outer) {
      combine(x + outer * pass.size * inner + run.offset, run.offset_step,
              first + (outer - part.outer) * count * inner, is_by_place ? run.step * inner : 0,
              run.count, inner);
      if (!tiles.go_on(run.count * inner + 1)) return false;
    }
  }
  return true;
}

template <class Op, class T>
void run_pass(const Pass& pass, const void* x, void* y) {
  if (pass.result_size() == 0) return;
  constexpr int64_t kPartElements = 4096;  // results of a tile: they stay in the cache
  const int64_t positions = pass.dimension.num_positions, row = positions * pass.inner;
  const int64_t strip = std::clamp<int64_t>(kPartElements / pass.inner, 1, positions);
  const int64_t outers = std::clamp<int64_t>(kPartElements / row, 1, pass.outer);
  const int64_t strips = (positions - 1) / strip + 1;
  const int64_t cost = saturated_product(pass.result_size(), pass.dimension.window);
  run_tiles(((pass.outer - 1) / outers + 1) * strips, num_threads_for(cost), [&](Tiles& tiles) {
    for (int64_t tile; tiles.next(tile);) {
      const int64_t outer = tile / strips * outers, position = tile % strips * strip;
      const Part part = {outer, std::min(outer + outers, pass.outer), position,
                         std::min(position + strip, positions)};
      T* const to = static_cast<T*>(y) + outer * row + position * pass.inner;
      if (!reduce_part<Op>(pass, part, static_cast<const T*>(x), to, tiles)) return;
    }
  });
}

struct ReducePlan {
  std::vector<Pass> passes;
  PassLoop loop = nullptr;
  Conversion load, store;
  int64_t input_size = 0, output_size = 0;
  size_t buffers[2] = {0, 0};  // offsets in scratch
};

// Alternates between two buffers; the last pass writes the result, unless that is converted.
void run_reduce_window(const KernelCall& call) {
  const auto& plan = *static_cast<const ReducePlan*>(call.data);
  if (plan.output_size == 0) return;
  auto* scratch = static_cast<std::byte*>(call.scratch);
  const void* from = call.operands[0];
  size_t next = 0;
  const auto buffer = [&] { return scratch + plan.buffers[next++ % 2]; };
  if (!plan.load.is_copy()) {
    auto* loaded = buffer();
    plan.load.run(from, loaded, plan.input_size);
    from = loaded;
  }
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    const bool is_last = i + 1 == plan.passes.size() && plan.store.is_copy();
    void* to = is_last ? call.operands[1] : buffer();
    plan.loop(plan.passes[i], from, to);
    from = to;
  }
  if (from != call.operands[1]) plan.store.run(from, call.operands[1], plan.output_size);
}

// Windows side by side along one dimension, without gaps, are rows or columns of a matrix, which
// the kernel of the reduction reduces faster. No kernel for other windows.
Kernel make_reduction(std::string_view reduction, Types inputs, Types outputs,
                      const ReduceWindowParams& p) {
  constexpr int64_t kLeastWindow = 16, kLeastColumns = 32;
  Shape shape;
  std::vector<int64_t> axes;
  int64_t inner = 1;
  for (size_t i = 0; i < p.window_dimensions.size(); ++i) {
    const int64_t window = p.window_dimensions[i], count = outputs[0].shape()[i];
    const bool fits = p.window_strides[i] == window && p.base_dilation[i] == 1 &&
                      p.window_dilation[i] == 1 && p.padding[i] == std::pair<int64_t, int64_t>() &&
                      inputs[0].shape()[i] == count * window;
    if (!fits || (window != 1 && (window < kLeastWindow || !axes.empty()))) return {};
    shape.push_back(count);
    inner *= count;
    if (window == 1) continue;
    axes.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(window);
    inner = 1;
  }
  if (axes.empty() || shape.size() > kMaxRank || (inner != 1 && inner < kLeastColumns)) return {};
  const ShapeDtype divided(inputs[0].dtype(), shape);
  const ParamsPtr params = make_params(ReduceParams{axes});
  return find_kernel(reduction)({&divided, 1}, outputs, params.get());
}

template <class Op>
Kernel make_reduce_window(Types inputs, Types outputs, const Params* params) {
  const auto& p = params_as<ReduceWindowParams>(params);
  if (Kernel kernel = make_reduction(Op::kReduction, inputs, outputs, p); kernel.run) return kernel;
  const DType dtype = inputs[0].dtype(), compute = compute_dtype(dtype);
  auto plan = std::make_shared<ReducePlan>();
  for_each_compute_type([&]<class T>() {
    if constexpr (requires { Op::template identity<T>(); }) {
      if (kDTypeOf<T> == compute) plan->loop = run_pass<Op, T>;
    }
  });
  if (!plan->loop) return {};
  plan->load = make_conversion(dtype, compute);
  plan->store = make_conversion(compute, dtype);
  plan->input_size = inputs[0].size();
  plan->output_size = outputs[0].size();
  int64_t largest = plan->input_size;
  Shape shape(inputs[0].shape().begin(), inputs[0].shape().end());
  for (size_t i = 0; i < shape.size(); ++i) {
    Pass pass;
    for (size_t j = 0; j < i; ++j) pass.outer *= shape[j];
    for (size_t j = i + 1; j < shape.size(); ++j) pass.inner *= shape[j];
    pass.size = shape[i];
    pass.dimension = plan_dimension(p, i, shape[i], outputs[0].shape()[i], pass.inner);
    shape[i] = outputs[0].shape()[i];
    if (!has_windows(p, i)) continue;
    largest = std::max(largest, pass.result_size());
    plan->passes.push_back(pass);
  }
  ScratchParts scratch;
  for (size_t& offset : plan->buffers) offset = scratch.take(largest, byte_width(compute));
  return {.run = run_reduce_window, .data = std::move(plan), .scratch_bytes = scratch.bytes()};
}

// ---- selections

struct SelectPlan {
  // Without the last dimensions that have no windows, which make up `inner` elements side by side.
  std::vector<WindowDimension> dimensions;
  int64_t inner = 1;
  // Positions before the inner dimensions; those of one group and of others share no element.
  int64_t num_groups = 1, positions = 1;
  int64_t window = 1;
  Conversion load, store;
  int64_t num_values = 0, num_elements = 0, num_results = 0;
  size_t values = 0, elements = 0, results = 0;  // offsets in scratch
  void (*loop)(const SelectPlan& plan, const void* values, const void* elements,
               void* results) = nullptr;
};

// Calls visit(offset) for the places of the window at a position, in row-major order. There are
// none if the window covers no element.
template <class Visit>
void for_each_place(const SelectPlan& plan, int64_t position, Visit visit) {
  Covered at[kMaxRank];
  int64_t numbers[kMaxRank], offset = 0;
  const size_t rank = plan.dimensions.size();
  for (size_t i = rank; i-- > 0;) {
    at[i] = plan.dimensions[i].places(position % plan.dimensions[i].num_positions);
    if (at[i].count == 0) return;
    position /= plan.dimensions[i].num_positions;
    offset += at[i].offset;
    numbers[i] = 0;
  }
  visit(offset);
  for (size_t i = rank; i-- > 0;) {
    offset += at[i].offset_step;
    if (++numbers[i] == at[i].count) {
      offset -= at[i].count * at[i].offset_step;
      numbers[i] = 0;
      continue;
    }
    visit(offset);
    i = rank;
  }
}

constexpr int64_t kSelectedAtOnce = 128;

// Keeps the first of equal elements, and no NaN.
template <class T, bool is_max>
void select_better(const T* elements, int64_t offset, int64_t count, T* best, int64_t* places) {
  for (int64_t i = 0; i < count; ++i) {
    const bool is_kept = is_max ? best[i] >= elements[i] : best[i] <= elements[i];
    best[i] = is_kept ? best[i] : elements[i];
    places[i] = is_kept ? places[i] : offset;
  }
}

// For each of `count` elements side by side, the place that the window at a position selects.
// Returns false if the window covers no element.
template <class T, bool is_max>
bool select_places(const SelectPlan& plan, const T* elements, int64_t position, int64_t count,
                   int64_t* places) {
  static const auto select = best_loop<select_better<T, is_max>>();
  T best[kSelectedAtOnce];
  bool is_first = true;
  for_each_place(plan, position, [&](int64_t offset) {
    if (!std::exchange(is_first, false))
      return select(elements + offset, offset, count, best, places);
    std::copy_n(elements + offset, count, best);
    std::fill_n(places, count, offset);
  });
  return !is_first;
}

template <class T, bool is_max, bool is_scatter>
void run_selection(const SelectPlan& plan, const void* values, const void* elements,
                   void* results) {
  const auto* x = static_cast<const T*>(elements);
  const auto* from = static_cast<const T*>(values);
  auto* to = static_cast<T*>(results);
  if (is_scatter) std::fill_n(to, plan.num_results, T(0));
  const int64_t cost = saturated_product(plan.window, kStepCost);
  const int64_t num_threads = num_threads_for(saturated_product(cost, plan.num_values));
  const int64_t of_group = plan.positions / std::max<int64_t>(plan.num_groups, 1);
  run_tiles(plan.num_groups, num_threads, [&](Tiles& tiles) {
    int64_t places[kSelectedAtOnce];
    for (int64_t group; tiles.next(group);) {
      for (int64_t i = group * of_group; i < (group + 1) * of_group; ++i) {
        for (int64_t start = 0; start < plan.inner; start += kSelectedAtOnce) {
          const int64_t count = std::min(plan.inner - start, kSelectedAtOnce);
          const bool has_any = select_places<T, is_max>(plan, x + start, i, count, places);
          const int64_t first = i * plan.inner + start;
          for (int64_t c = 0; c < count; ++c) {
            if (!is_scatter) to[first + c] = has_any ? from[places[c] + start + c] : T(0);
            if (is_scatter && has_any) to[places[c] + start + c] += from[first + c];
          }
          if (!tiles.go_on(saturated_product(count, cost))) return;
        }
      }
    }
  });
}

void run_select(const KernelCall& call) {
  const auto& plan = *static_cast<const SelectPlan*>(call.data);
  auto* scratch = static_cast<std::byte*>(call.scratch);
  if (plan.load.is_copy()) {
    return plan.loop(plan, call.operands[0], call.operands[1], call.operands[2]);
  }
  plan.load.run(call.operands[0], scratch + plan.values, plan.num_values);
  plan.load.run(call.operands[1], scratch + plan.elements, plan.num_elements);
  plan.loop(plan, scratch + plan.values, scratch + plan.elements, scratch + plan.results);
  plan.store.run(scratch + plan.results, call.operands[2], plan.num_results);
}

template <bool is_scatter>
Kernel make_select(Types inputs, Types outputs, const Params* params) {
  const auto& p = params_as<SelectWindowParams>(params);
  const DType dtype = inputs[0].dtype(), compute = compute_dtype(dtype);
  auto plan = std::make_shared<SelectPlan>();
  for_each_compute_type([&]<class T>() {
    if constexpr (Float<T>) {
      if (kDTypeOf<T> != compute) return;
      plan->loop = p.select_prim == "ge" ? run_selection<T, true, is_scatter>
                                         : run_selection<T, false, is_scatter>;
    }
  });
  if (!plan->loop) return {};
  const auto shape = inputs[1].shape();
  const auto strides = strides_of(shape, row_major(shape.size()));
  const auto positions = is_scatter ? inputs[0].shape() : outputs[0].shape();
  size_t num_outer = shape.size();
  while (num_outer > 0 && !has_windows(p, num_outer - 1)) plan->inner *= shape[--num_outer];
  bool is_group = true;
  for (size_t i = 0; i < num_outer; ++i) {
    plan->dimensions.push_back(plan_dimension(p, i, shape[i], positions[i], strides[i]));
    plan->positions = saturated_product(plan->positions, positions[i]);
    plan->window = saturated_product(plan->window, p.window_dimensions[i]);
    is_group = is_group && !has_windows(p, i);
    if (is_group) plan->num_groups *= positions[i];
  }
  plan->load = make_conversion(dtype, compute);
  plan->store = make_conversion(compute, dtype);
  plan->num_values = inputs[0].size();
  plan->num_elements = inputs[1].size();
  plan->num_results = outputs[0].size();
  ScratchParts scratch;
  if (!plan->load.is_copy()) {
    plan->values = scratch.take(plan->num_values, byte_width(compute));
    plan->elements = scratch.take(plan->num_elements, byte_width(compute));
    plan->results = scratch.take(plan->num_results, byte_width(compute));
  }
  return {.run = run_select, .data = std::move(plan), .scratch_bytes = scratch.bytes()};
}

constexpr KernelRow kRows[] = {
    {"reduce_window_max", make_reduce_window<Maximum>},
    {"reduce_window_min", make_reduce_window<Minimum>},
    {"reduce_window_prod", make_reduce_window<Product>},
    {"reduce_window_sum", make_reduce_window<Sum>},
    {"select_and_gather_add", make_select<false>},
    {"select_and_scatter_add", make_select<true>},
};

}  // namespace

std::span<const KernelRow> reduce_window_rows() { return kRows; }

}  // namespace farcall::native
