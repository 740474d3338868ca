// Reductions over windows, one dimension at a time, and the selections in their derivatives.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include <farcall/core/layout.h>
#include <farcall/primitives/reduce_window.h>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/interruptible.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/reductions/sliding_window.h"
#include "engine/native/kernels/scratch.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

template <class Window>
WindowDimension plan_dimension(const Window& p, size_t i, int64_t size, int64_t num_positions,
                               int64_t element_stride) {
  return make_window_dimension(
      {p.window_strides[i], p.window_dilation[i], p.base_dilation[i], p.padding[i].first}, size,
      p.window_dimensions[i], num_positions, element_stride);
}

// ---- operations

struct Sum {
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

template <class Op, class T>
void run_pass(const Pass& pass, const void* x, void* y) {
  const auto* from = static_cast<const T*>(x);
  auto* to = static_cast<T*>(y);
  InterruptCounter counter;
  for (int64_t outer = 0; outer < pass.outer; ++outer, from += pass.size * pass.inner) {
    for (int64_t position = 0; position < pass.dimension.num_positions; ++position) {
      std::fill_n(to, pass.inner, Op::template identity<T>());
      counter.add(saturated_product(pass.dimension.window, pass.inner));
      const int64_t* offsets = pass.dimension.at(position);
      for (int64_t k = 0; k < pass.dimension.window; ++k) {
        if (offsets[k] == kNothing) continue;
        const T* row = from + offsets[k];
        for (int64_t i = 0; i < pass.inner; ++i) to[i] = Op::combine(to[i], row[i]);
      }
      to += pass.inner;
    }
  }
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

template <class Op>
Kernel make_reduce_window(Types inputs, Types outputs, const Params* params) {
  const auto& p = params_as<ReduceWindowParams>(params);
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
    const bool is_identity = p.window_dimensions[i] == 1 && p.window_strides[i] == 1 &&
                             p.base_dilation[i] == 1 &&
                             p.padding[i] == std::pair<int64_t, int64_t>();
    if (is_identity) continue;
    largest = std::max(largest, pass.result_size());
    plan->passes.push_back(std::move(pass));
  }
  ScratchParts scratch;
  for (size_t& offset : plan->buffers) offset = scratch.take(largest, byte_width(compute));
  return {.run = run_reduce_window, .data = std::move(plan), .scratch_bytes = scratch.bytes()};
}

// ---- selections

struct SelectPlan {
  std::vector<WindowDimension> dimensions;
  int64_t positions = 1, window = 1;
  Conversion load, store;
  int64_t num_values = 0, num_elements = 0, num_results = 0;
  size_t values = 0, elements = 0, results = 0;  // offsets in scratch
  void (*loop)(const SelectPlan& plan, const void* values, const void* elements,
               void* results) = nullptr;
};

// The element selected by the window at a position; kNothing if the window covers no element.
template <class T, bool is_max>
int64_t selected(const SelectPlan& plan, const T* elements, int64_t position) {
  const int64_t* at[kMaxRank];
  const size_t rank = plan.dimensions.size();
  for (size_t i = rank; i-- > 0;) {
    at[i] = plan.dimensions[i].at(position % plan.dimensions[i].num_positions);
    position /= plan.dimensions[i].num_positions;
  }
  int64_t best = kNothing;
  for (int64_t place = 0; place < plan.window; ++place) {
    int64_t offset = 0, rest = place;
    for (size_t i = rank; i-- > 0 && offset != kNothing;) {
      const int64_t step = at[i][rest % plan.dimensions[i].window];
      rest /= plan.dimensions[i].window;
      offset = step == kNothing ? kNothing : offset + step;
    }
    if (offset == kNothing) continue;
    const bool is_kept = best != kNothing && (is_max ? elements[best] >= elements[offset]
                                                     : elements[best] <= elements[offset]);
    if (!is_kept) best = offset;
  }
  return best;
}

template <class T, bool is_max, bool is_scatter>
void run_selection(const SelectPlan& plan, const void* values, const void* elements,
                   void* results) {
  const auto* from = static_cast<const T*>(values);
  auto* to = static_cast<T*>(results);
  if (is_scatter) std::fill_n(to, plan.num_results, T(0));
  InterruptCounter counter;
  for (int64_t i = 0; i < plan.positions; ++i) {
    counter.add(plan.window);
    const int64_t place = selected<T, is_max>(plan, static_cast<const T*>(elements), i);
    if (is_scatter) {
      if (place != kNothing) to[place] += from[i];
    } else {
      to[i] = place == kNothing ? T(0) : from[place];
    }
  }
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
  for (size_t i = 0; i < shape.size(); ++i) {
    plan->dimensions.push_back(plan_dimension(p, i, shape[i], positions[i], strides[i]));
    plan->positions = saturated_product(plan->positions, positions[i]);
    plan->window = saturated_product(plan->window, p.window_dimensions[i]);
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
