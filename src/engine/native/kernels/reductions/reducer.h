// The loops of reductions, by operation and dtype.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/reductions/accumulate.h"
#include "engine/native/kernels/reductions/extremes.h"
#include "engine/native/kernels/reductions/identity.h"
#include "engine/native/kernels/reductions/sum_floats.h"
#include "engine/native/kernels/vector/narrow.h"

namespace farcall::native {

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

// Up to this many elements of a run are added before the sum is merged with others.
inline constexpr int64_t kSequentialElements = 4096;

// The loops of one operation on one type. Accumulators start with the identity.
struct Reducer {
  // reduce_runs combines each of `count` dense runs of x into one accumulator, reduce_row x[i] into
  // accumulator i.
  void (*reduce_runs)(const void* x, int64_t count, int64_t size, void* accumulators,
                      const Element& identity);
  void (*reduce_row)(const void* x, int64_t size, void* accumulators, const Element& identity);
  // Same as reduce_row for four rows, which are combined first.
  void (*reduce_four_rows)(const void* const* rows, int64_t size, void* accumulators);
  void (*merge)(const void* others, int64_t size, void* accumulators);
  void (*finish)(const void* accumulators, int64_t size, void* results);
  size_t accumulator_width = 0;
  DType result = DType::kInvalid;
  // The accumulator for a single element.
  Element (*accumulator_of)(const Element& value);
};

template <class Op, class T>
struct ReducerLoops {
  using A = typename Op::template Accumulator<T>;
  static constexpr bool kIsExtreme =
      Float<T> && (std::is_same_v<Op, Maximum> || std::is_same_v<Op, Minimum>);

  // Merges neighbouring pieces in the order of a binary counter, that is in a balanced tree.
  static A reduce(const T* x, int64_t size, A identity) {
    if (size <= kSequentialElements) return reduce_lanes<Op, A>(x, size, identity);
    A parts[64];
    int depth = 0;
    for (uint64_t piece = 0; size > 0; ++piece) {
      const int64_t count = std::min(size, kSequentialElements);
      A part = reduce_lanes<Op, A>(x, count, identity);
      for (uint64_t rest = piece; rest & 1; rest >>= 1) part = Op::combine(parts[--depth], part);
      parts[depth++] = part;
      x += count;
      size -= count;
    }
    A result = parts[--depth];
    while (depth > 0) result = Op::combine(parts[--depth], result);
    return result;
  }
  // Returns the number of runs before one with NaNs.
  static int64_t combine_extremes(const T* x, int64_t count, int64_t size, A identity,
                                  A* to) requires kIsExtreme {
    if (size < kLeastExtremeRun) return 0;
    T found[64];
    int64_t done = 0;
    while (done < count) {
      const int64_t num_runs = std::min(count - done, std::ssize(found));
      const int64_t num_found =
          find_extremes(x + done * size, num_runs, size, std::is_same_v<Op, Maximum>, found);
      for (int64_t i = 0; i < num_found; ++i) {
        A& best = to[done + i];
        best = Op::combine(best, Op::combine(found[i], identity));
      }
      done += num_found;
      if (num_found < num_runs) break;
    }
    return done;
  }
  // In the order of reduce_lanes, several runs at a time.
  template <int64_t kSize>
  static void reduce_short_runs(const T* x, int64_t count, A identity, A* to) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      A result = identity;
#pragma GCC unroll 4
      for (int64_t j = 0; j < kSize; ++j) {
        result = Op::combine(result, static_cast<A>(x[i * kSize + j]));
      }
      to[i] = Op::combine(to[i], result);
    }
  }
  static void reduce_runs(const void* x, int64_t count, int64_t size, void* accumulators,
                          const Element& identity) {
    const auto* from = static_cast<const T*>(x);
    auto* to = static_cast<A*>(accumulators);
    if constexpr (std::is_same_v<Op, Sum> && std::is_same_v<T, float>) {
      // Summing in double makes the splitting of long runs unnecessary.
      if (size >= kPartsOfSum) return add_sums(from, count, size, identity.as<A>(), to);
    }
    switch (size) {
      case 2:
        return reduce_short_runs<2>(from, count, identity.as<A>(), to);
      case 3:
        return reduce_short_runs<3>(from, count, identity.as<A>(), to);
      case 4:
        return reduce_short_runs<4>(from, count, identity.as<A>(), to);
      default:
        break;
    }
    for (int64_t i = 0; i < count; ++i, from += size) {
      if constexpr (kIsExtreme) {
        const int64_t found = combine_extremes(from, count - i, size, identity.as<A>(), to + i);
        i += found;
        from += found * size;
        if (i == count) return;
      }
      to[i] = Op::combine(to[i], reduce(from, size, identity.as<A>()));
    }
  }
  static void reduce_row(const void* x, int64_t size, void* accumulators, const Element&) {
    const auto* from = static_cast<const T*>(x);
    auto* to = static_cast<A*>(accumulators);
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) to[i] = Op::combine(to[i], static_cast<A>(from[i]));
  }
  // Combines extremes as numbers. Returns false, and leaves them, if there may be NaNs.
  static bool combine_numbers(const T* const* from, int64_t size, A* to) requires kIsExtreme {
    using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    constexpr bool kIsMax = std::is_same_v<Op, Maximum>;
    constexpr Bits kSign = std::numeric_limits<Bits>::min();
    const auto better = [](T a, T b) { return (kIsMax ? a > b : a < b) ? a : b; };
    const auto bits = [](T value) { return std::bit_cast<Bits>(value); };
    // The sign tells +0 from -0: a maximum is negative if all are, a minimum if any is.
    const auto sign = [](Bits a, Bits b) { return kIsMax ? a & b : a | b; };
    Bits best[kBlock];
    Bits has_nan = 0;
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      const T a = from[0][i], b = from[1][i], c = from[2][i], d = from[3][i], e = to[i];
      const T found = better(better(better(a, b), better(c, d)), e);
      const Bits signs = sign(sign(sign(bits(a), bits(b)), sign(bits(c), bits(d))), bits(e));
      best[i] = (bits(found) & ~kSign) | (signs & kSign);
      has_nan |= Bits{a != a} | Bits{b != b} | Bits{c != c} | Bits{d != d} | Bits{e != e};
    }
    if (has_nan != 0) return false;
    std::memcpy(to, best, static_cast<size_t>(size) * sizeof(A));
    return true;
  }
  static void reduce_four_rows(const void* const* rows, int64_t size, void* accumulators) {
    const T* from[] = {static_cast<const T*>(rows[0]), static_cast<const T*>(rows[1]),
                       static_cast<const T*>(rows[2]), static_cast<const T*>(rows[3])};
    auto* to = static_cast<A*>(accumulators);
    if constexpr (kIsExtreme) {
      while (size > 0) {
        const int64_t count = std::min(size, kBlock);
        if (!combine_numbers(from, count, to)) combine_four_rows(from, count, to);
        for (const T*& row : from) row += count;
        to += count;
        size -= count;
      }
    } else {
      combine_four_rows(from, size, to);
    }
  }
  static void combine_four_rows(const T* const* from, int64_t size, A* to) {
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      const A low = Op::combine(static_cast<A>(from[0][i]), static_cast<A>(from[1][i]));
      const A high = Op::combine(static_cast<A>(from[2][i]), static_cast<A>(from[3][i]));
      to[i] = Op::combine(to[i], Op::combine(low, high));
    }
  }
  static void merge(const void* others, int64_t size, void* accumulators) {
    const auto* from = static_cast<const A*>(others);
    auto* to = static_cast<A*>(accumulators);
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) to[i] = Op::combine(to[i], from[i]);
  }
  static void finish(const void* accumulators, int64_t size, void* results) {
    const auto* from = static_cast<const A*>(accumulators);
    auto* to = static_cast<T*>(results);
#pragma GCC ivdep
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
      using L = ReducerLoops<Op, X>;
      if (kDTypeOf<T> != compute) return;
      reducer = {best_loop_of<L::reduce_runs, X>(),
                 best_loop_of<L::reduce_row, X>(),
                 best_loop_of<L::reduce_four_rows, X>(),
                 best_loop_of<L::merge, X>(),
                 best_loop_of<L::finish, X>(),
                 sizeof(typename L::A),
                 kDTypeOf<X>,
                 L::accumulator_of};
    }
  });
  return reducer;
}

// Extremes of 16-bit floats, which are compared as they are stored. Accumulators are floats.
template <class Op, DType dtype>
void reduce_halves(const void* x, int64_t count, int64_t size, void* accumulators,
                   const Element& identity) {
  constexpr bool kIsMax = std::is_same_v<Op, Maximum>;
  constexpr uint16_t kInfinity = dtype == DType::kFloat16 ? 0x7c00 : 0x7f80;
  const ConvertLoop widen = narrow_to_float(dtype);
  const auto* from = static_cast<const uint16_t*>(x);
  auto* to = static_cast<float*>(accumulators);
  uint16_t found[64];
  float wide[64];
  while (count > 0) {
    const int64_t num_runs = std::min(count, std::ssize(found));
    find_extremes_of_halves(from, num_runs, size, kIsMax, kInfinity, found);
    widen(found, wide, num_runs, {});
    for (int64_t i = 0; i < num_runs; ++i) {
      to[i] = Op::combine(to[i], Op::combine(wide[i], identity.as<float>()));
    }
    from += num_runs * size;
    to += num_runs;
    count -= num_runs;
  }
}

// The loop for runs of `size` elements; null if the dtype has none.
template <class Op>
decltype(Reducer::reduce_runs) loop_for_halves(DType dtype, int64_t size) {
  if constexpr (std::is_same_v<Op, Maximum> || std::is_same_v<Op, Minimum>) {
    if (size < kLeastExtremeRun) return nullptr;
    if (dtype == DType::kFloat16) return reduce_halves<Op, DType::kFloat16>;
    if (dtype == DType::kBFloat16) return reduce_halves<Op, DType::kBFloat16>;
  }
  return nullptr;
}

}  // namespace farcall::native
