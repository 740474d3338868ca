// Elementwise kernels of three operands of one dtype.
#include <algorithm>
#include <type_traits>

#include "engine/native/kernels/elementwise/arithmetic.h"
#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/special/special.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

struct Clamp {
  template <class T>
  T operator()(T lower, T x, T upper) const {
    return minimum(maximum(lower, x), upper);
  }
};
struct IncompleteBeta {
  template <Float T>
  T operator()(T a, T b, T x) const {
    return static_cast<T>(incomplete_beta(Wider<T>(a), Wider<T>(b), Wider<T>(x)));
  }
};

// If no bound is zero or NaN, two comparisons are enough.
template <Float T>
void clamp_between(const T* lower, const T* x, const T* upper, T* result, int64_t size) {
  constexpr int64_t kBlock = 64;
  for (int64_t start = 0; start < size; start += kBlock) {
    const int64_t end = std::min(size, start + kBlock);
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    Bits has_special = 0;
    for (int64_t i = start; i < end; ++i) {
      has_special |= __builtin_islessgreater(lower[i] * upper[i], T(0)) ? Bits(0) : ~Bits(0);
    }
    if (has_special != 0) {
#pragma GCC ivdep
      for (int64_t i = start; i < end; ++i) result[i] = Clamp()(lower[i], x[i], upper[i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = start; i < end; ++i) {
        const T above = lower[i] > x[i] ? lower[i] : x[i];
        result[i] = upper[i] < above ? upper[i] : above;
      }
    }
  }
}

template <class Op, class T>
void ternary_loop(const void* const* inputs, void* output, int64_t size, int64_t) {
  const auto* x = static_cast<const T*>(inputs[0]);
  const auto* y = static_cast<const T*>(inputs[1]);
  const auto* z = static_cast<const T*>(inputs[2]);
  auto* result = static_cast<T*>(output);
  if constexpr (Float<T> && std::is_same_v<Op, Clamp>) {
    return clamp_between(x, y, z, result, size);
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) result[i] = Op()(x[i], y[i], z[i]);
}

template <class Op>
ElementwiseSpec make_ternary(Types inputs, Types, const Params*) {
  static const LoopTable loops = [] {
    LoopTable table{};
    for_each_compute_type([&]<class T>() {
      if constexpr (requires(T x) { Op()(x, x, x); }) {
        table[static_cast<size_t>(kDTypeOf<T>)] = {best_loop_of<ternary_loop<Op, T>, T>(),
                                                   kDTypeOf<T>};
      }
    });
    return table;
  }();
  return elementwise(loops, inputs[1].dtype());
}

constexpr KernelRow kRows[] = {
    {"clamp", make_ternary<Clamp>},
    {"regularized_incomplete_beta", make_ternary<IncompleteBeta>},
};

}  // namespace

std::span<const KernelRow> ternary_rows() { return kRows; }

}  // namespace farcall::native
