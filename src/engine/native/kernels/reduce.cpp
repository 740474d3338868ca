// Reductions over any set of dimensions.
#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include <farcall/primitives/reduce.h>

#include "engine/native/kernels/accumulate.h"
#include "engine/native/kernels/elementwise.h"
#include "engine/native/kernels/interruptible.h"
#include "engine/native/kernels/rows.h"
#include "engine/native/kernels/sum_floats.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

// Results that are worked on at a time, and rows that are added one after the other. Longer sums
// are halved again and again, so that rounding errors grow with the logarithm of the length.
constexpr int64_t kColumns = 128;
constexpr int64_t kSequentialRows = 32;
constexpr int64_t kSequentialElements = 256;

// ---- operations

struct Maximum {
  template <class T>
  using Accumulator = T;
  template <class A>
  static A combine(A a, A b) {
    return maximum(a, b);
  }
};
struct Minimum {
  template <class T>
  using Accumulator = T;
  template <class A>
  static A combine(A a, A b) {
    return minimum(a, b);
  }
};
struct All {
  static constexpr bool kSignless = true;
  template <Unsigned T>
  using Accumulator = T;
  template <class A>
  static A combine(A a, A b) {
    return a & b;
  }
};
struct Any {
  static constexpr bool kSignless = true;
  template <Unsigned T>
  using Accumulator = T;
  template <class A>
  static A combine(A a, A b) {
    return a | b;
  }
};

// ---- loops

struct alignas(16) Element {
  std::byte bytes[16] = {};

  template <class T>
  static Element of(T value) {
    Element element;
    std::memcpy(element.bytes, &value, sizeof(T));
    return element;
  }
  template <class T>
  T as() const {
    T value;
    std::memcpy(static_cast<void*>(&value), bytes, sizeof(T));
    return value;
  }
};

// The loops of one operation on one type. Accumulators start as the identity.
struct Reducer {
  // All of x into one accumulator, or x[i] into the accumulator i.
  void (*reduce_run)(const void* x, int64_t size, void* accumulator, const Element& identity);
  void (*reduce_row)(const void* x, int64_t size, void* accumulators, const Element& identity);
  void (*merge)(const void* others, int64_t size, void* accumulators);
  void (*finish)(const void* accumulators, int64_t size, void* results);
  size_t accumulator_width = 0;
  DType result = DType::kInvalid;
  // The accumulator that holds one element.
  Element (*accumulator_of)(const Element& value);
};

template <class Op, class T>
struct Loops {
  using A = typename Op::template Accumulator<T>;

  static A reduce(const T* x, int64_t size, A identity) {
    if constexpr (std::is_same_v<Op, Sum> && std::is_same_v<T, float>) {
      // In double, so that a long run need not be halved.
      if (size > kSequentialElements) return sum_floats(x, size, identity);
    }
    if (size > kSequentialElements) {
      const int64_t half = size / 2;
      return Op::combine(reduce(x, half, identity), reduce(x + half, size - half, identity));
    }
    constexpr int kLanes = 16;
    A lanes[kLanes];
    std::fill_n(lanes, kLanes, identity);
    int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      // Unrolled whole, this would no longer be a loop that the compiler makes vectors of.
#pragma GCC unroll 1
      for (int lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = Op::combine(lanes[lane], static_cast<A>(x[i + lane]));
      }
    }
    for (; i < size; ++i) lanes[i % kLanes] = Op::combine(lanes[i % kLanes], static_cast<A>(x[i]));
    for (int step = kLanes / 2; step > 0; step /= 2) {
      for (int lane = 0; lane < step; ++lane) {
        lanes[lane] = Op::combine(lanes[lane], lanes[lane + step]);
      }
    }
    return lanes[0];
  }
  static void reduce_run(const void* x, int64_t size, void* accumulator, const Element& identity) {
    A& result = *static_cast<A*>(accumulator);
    result = Op::combine(result, reduce(static_cast<const T*>(x), size, identity.as<A>()));
  }
  static void reduce_row(const void* x, int64_t size, void* accumulators, const Element&) {
    const auto* from = static_cast<const T*>(x);
    auto* to = static_cast<A*>(accumulators);
    for (int64_t i = 0; i < size; ++i) to[i] = Op::combine(to[i], static_cast<A>(from[i]));
  }
  static void merge(const void* others, int64_t size, void* accumulators) {
    const auto* from = static_cast<const A*>(others);
    auto* to = static_cast<A*>(accumulators);
    for (int64_t i = 0; i < size; ++i) to[i] = Op::combine(to[i], from[i]);
  }
  static void finish(const void* accumulators, int64_t size, void* results) {
    const auto* from = static_cast<const A*>(accumulators);
    auto* to = static_cast<T*>(results);
    for (int64_t i = 0; i < size; ++i) to[i] = static_cast<T>(from[i]);
  }
  static Element accumulator_of(const Element& value) { return Element::of(A(value.as<T>())); }
};

template <class Op>
Reducer reducer_of(DType compute) {
  Reducer reducer{};
  for_each_compute_type([&]<class T>() {
    using X = typename OperandOf<Op, T>::type;
    if constexpr (requires { typename Op::template Accumulator<X>; }) {
      using L = Loops<Op, X>;
      if (kDTypeOf<T> != compute) return;
      reducer = {L::reduce_run,         L::reduce_row, L::merge,         L::finish,
                 sizeof(typename L::A), kDTypeOf<X>,   L::accumulator_of};
    }
  });
  return reducer;
}

// ---- walking

struct Walk {
  int64_t size = 1, stride = 0;  // in elements of the operand
};

struct ReducePlan {
  Reducer reducer;
  Element identity;
  Conversion load, store;
  std::vector<Walk> kept, reduced;  // but the innermost one
  int64_t num_kept = 1, num_reduced = 1;
  int64_t inner = 1;
  bool is_inner_reduced = false;
  bool is_empty = false;  // the operand
};

struct Accumulators {
  alignas(64) std::byte bytes[kColumns * kMaxComputeWidth];
};

int64_t offset_of(std::span<const Walk> walks, int64_t index) {
  int64_t offset = 0;
  for (size_t i = walks.size(); i-- > 0;) {
    offset += index % walks[i].size * walks[i].stride;
    index /= walks[i].size;
  }
  return offset;
}

// One run, or one row, of `size` elements into the accumulators.
void reduce_piece(const ReducePlan& plan, const std::byte* x, int64_t size, void* accumulators) {
  const auto loop = plan.is_inner_reduced ? plan.reducer.reduce_run : plan.reducer.reduce_row;
  if (plan.load.is_copy()) return loop(x, size, accumulators, plan.identity);
  alignas(64) std::byte block[kBlock * 4];  // what is converted becomes float32 or smaller
  for (int64_t start = 0; start < size; start += kBlock) {
    const int64_t count = std::min(size - start, kBlock);
    plan.load.run(x + static_cast<size_t>(start) * plan.load.source_width, block, count);
    loop(block, count, accumulators, plan.identity);
  }
}

void set_identity(const ReducePlan& plan, Accumulators& accumulators, int64_t count) {
  fill_elements(accumulators.bytes, &plan.identity, plan.reducer.accumulator_width, count);
}

// The reduced indices from `first` to `last`, for `count` results that `size` elements of each
// index go into.
void reduce_range(const ReducePlan& plan, const std::byte* x, int64_t size, int64_t count,
                  int64_t first, int64_t last, void* accumulators, InterruptCounter& counter) {
  if (last - first <= kSequentialRows) {
    counter.add((last - first) * size);
    for (int64_t i = first; i < last; ++i) {
      const int64_t offset =
          offset_of(plan.reduced, i) * static_cast<int64_t>(plan.load.source_width);
      reduce_piece(plan, x + offset, size, accumulators);
    }
    return;
  }
  const int64_t middle = first + (last - first) / 2;
  reduce_range(plan, x, size, count, first, middle, accumulators, counter);
  Accumulators others;
  set_identity(plan, others, count);
  reduce_range(plan, x, size, count, middle, last, others.bytes, counter);
  plan.reducer.merge(others.bytes, count, accumulators);
}

void finish(const ReducePlan& plan, const Accumulators& accumulators, int64_t count,
            std::byte* output) {
  if (plan.store.is_copy()) return plan.reducer.finish(accumulators.bytes, count, output);
  Accumulators results;
  plan.reducer.finish(accumulators.bytes, count, results.bytes);
  plan.store.run(results.bytes, output, count);
}

void run_reduce(const KernelCall& call) {
  const auto& plan = *static_cast<const ReducePlan*>(call.data);
  const auto* x = static_cast<const std::byte*>(call.operands[0]);
  auto* output = static_cast<std::byte*>(call.operands[1]);
  // An empty operand has no address to go on from.
  const auto source_width = plan.is_empty ? 0 : static_cast<int64_t>(plan.load.source_width);
  const auto target_width = static_cast<int64_t>(plan.store.target_width);
  Accumulators accumulators;
  InterruptCounter counter;
  if (plan.is_inner_reduced) {
    for (int64_t start = 0; start < plan.num_kept; start += kColumns) {
      const int64_t count = std::min(plan.num_kept - start, kColumns);
      set_identity(plan, accumulators, count);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t offset = offset_of(plan.kept, start + i) * source_width;
        reduce_range(plan, x + offset, plan.inner, 1, 0, plan.num_reduced,
                     accumulators.bytes + static_cast<size_t>(i) * plan.reducer.accumulator_width,
                     counter);
      }
      finish(plan, accumulators, count, output);
      output += count * target_width;
    }
    return;
  }
  for (int64_t i = 0; i < plan.num_kept; ++i) {
    const std::byte* row = x + offset_of(plan.kept, i) * source_width;
    for (int64_t start = 0; start < plan.inner; start += kColumns) {
      const int64_t count = std::min(plan.inner - start, kColumns);
      set_identity(plan, accumulators, count);
      reduce_range(plan, row + start * source_width, count, count, 0, plan.num_reduced,
                   accumulators.bytes, counter);
      finish(plan, accumulators, count, output);
      output += count * target_width;
    }
  }
}

// ---- planning

// Neighbouring dimensions that are both kept, or both reduced, are walked as one.
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

// The lowest and the highest value of a real dtype, as the dtype computed in.
struct Extremes {
  Element lowest, highest;
};

Extremes narrow_extremes(DType dtype) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float lowest = -kInfinity, highest = kInfinity;
  if (byte_width(dtype) == 1) {
    // Some have no infinities, and one has no negative values.
    std::swap(lowest, highest);
    for (int bits = 0; bits < 1 << dtype_info(dtype).bits; ++bits) {
      const auto byte = static_cast<uint8_t>(bits);
      float value;
      narrow_to_float(dtype)(&byte, &value, 1, {});
      if (value < lowest) lowest = value;
      if (value > highest) highest = value;
    }
  }
  return {Element::of(lowest), Element::of(highest)};
}

Extremes extremes(DType dtype) {
  const auto& info = dtype_info(dtype);
  if (is_narrow_float(dtype)) return narrow_extremes(dtype);
  Extremes result;
  for_each_compute_type([&]<class T>() {
    if (kDTypeOf<T> != compute_dtype(dtype)) return;
    using Limits = std::numeric_limits<T>;
    if constexpr (Complex<T>) {
      const auto infinity = std::numeric_limits<typename T::value_type>::infinity();
      result = {Element::of(T(-infinity, -infinity)), Element::of(T(infinity, infinity))};
    } else if constexpr (Float<T>) {
      result = {Element::of(-Limits::infinity()), Element::of(Limits::infinity())};
    } else {
      const int unused = static_cast<int>(8 * sizeof(T)) - info.bits;
      result = {Element::of(static_cast<T>(Limits::min() >> unused)),
                Element::of(static_cast<T>(Limits::max() >> unused))};
    }
  });
  return result;
}

enum class Identity : uint8_t { kZero, kOne, kLowest, kHighest, kAllBits };

// As an element of the dtype computed in.
Element identity_value(Identity identity, DType dtype) {
  Element result;
  if (identity == Identity::kLowest) return extremes(dtype).lowest;
  if (identity == Identity::kHighest) return extremes(dtype).highest;
  if (identity == Identity::kAllBits) std::memset(result.bytes, 0xff, sizeof(result.bytes));
  if (identity == Identity::kOne) {
    const int64_t one = 1;
    make_conversion(DType::kInt64, compute_dtype(dtype)).run(&one, result.bytes, 1);
  }
  return result;
}

Kernel make_reduction(Types inputs, Types outputs, const Params* params, const Reducer& reducer,
                      Identity identity) {
  if (!reducer.finish) return {};
  const DType dtype = inputs[0].dtype();
  auto plan = std::make_shared<ReducePlan>();
  plan->reducer = reducer;
  plan->identity = reducer.accumulator_of(identity_value(identity, dtype));
  plan->load = make_conversion(dtype, compute_dtype(dtype));
  plan->store = make_conversion(reducer.result, outputs[0].dtype());
  plan_walks(*plan, inputs[0].shape(), params_as<ReduceParams>(params).axes);
  plan->is_empty = inputs[0].size() == 0;
  if (outputs[0].size() == 0) plan->num_kept = 0;
  return {.run = run_reduce, .data = std::move(plan)};
}

template <class Op, Identity identity>
Kernel make_reduce(Types inputs, Types outputs, const Params* params) {
  return make_reduction(inputs, outputs, params, reducer_of<Op>(compute_dtype(inputs[0].dtype())),
                        identity);
}

// On bools a sum is "or" and a product "and".
template <class Op, Identity identity, class BoolOp, Identity bool_identity>
Kernel make_arithmetic_reduce(Types inputs, Types outputs, const Params* params) {
  return inputs[0].dtype() == DType::kBool
             ? make_reduce<BoolOp, bool_identity>(inputs, outputs, params)
             : make_reduce<Op, identity>(inputs, outputs, params);
}

constexpr KernelRow kRows[] = {
    {"reduce_and", make_reduce<All, Identity::kAllBits>},
    {"reduce_max", make_reduce<Maximum, Identity::kLowest>},
    {"reduce_min", make_reduce<Minimum, Identity::kHighest>},
    {"reduce_or", make_reduce<Any, Identity::kZero>},
    {"reduce_prod", make_arithmetic_reduce<Product, Identity::kOne, All, Identity::kAllBits>},
    {"reduce_sum", make_arithmetic_reduce<Sum, Identity::kZero, Any, Identity::kZero>},
};

}  // namespace

std::span<const KernelRow> reduce_rows() { return kRows; }

}  // namespace farcall::native
