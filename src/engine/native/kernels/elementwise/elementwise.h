// Elementwise operations: their description (a loop over dense arrays of the types computed in, and
// the conversions before and after it), and the kernel of one operation. A cluster runs several on
// tiles (cluster.h).
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "engine/native/kernel.h"
#include "engine/native/kernels/elementwise/arithmetic.h"
#include "engine/native/kernels/elementwise/convert.h"
#include "engine/native/kernels/instruction_sets.h"

namespace farcall::native {

// Elements of a block. Four blocks of the widest elements fit the stack of any thread.
inline constexpr int64_t kBlock = 512;
inline constexpr size_t kMaxComputeWidth = 16;
inline constexpr size_t kMaxElementwiseInputs = 3;

using Loop = void (*)(const void* const* inputs, void* output, int64_t size, int64_t extra);

// A loop and the dtype that it writes. There is no kernel if `loop` is null.
struct TypedLoop {
  Loop loop = nullptr;
  DType result = DType::kInvalid;
};
using LoopTable = std::array<TypedLoop, kNumDTypes>;  // by the dtype computed in

// `loops`, with this loop for `dtype`.
inline LoopTable with_loop(LoopTable loops, DType dtype, TypedLoop loop) {
  loops[static_cast<size_t>(dtype)] = loop;
  return loops;
}

// What an operation does with each element. Each input has the shape of the output, or one element,
// which is repeated.
struct ElementwiseSpec {
  TypedLoop loop{};
  std::array<DType, kMaxElementwiseInputs> loads{};  // in which the loop reads each input
  int64_t extra = 0;                                 // passed to the loop
  // If there is no loop: the operation is this conversion of its one input.
  std::optional<Conversion> conversion{};

  // False if the dtype has no kernel.
  bool is_valid() const { return loop.loop || conversion; }
};

Kernel make_elementwise(std::span<const ShapeDtype> inputs, const ShapeDtype& output,
                        const ElementwiseSpec& spec);

// Fills `target` with `size` copies of one element of `width` bytes.
void fill_elements(void* target, const void* element, size_t width, int64_t size);
// Writes each of `count` elements `times` times. The memory need not be aligned if repeats_few().
inline bool repeats_few(size_t width, int64_t times) {
  constexpr int64_t kFew = 16;
  return times <= kFew && width <= 8;
}
void repeat_elements(void* target, const void* elements, size_t width, int64_t count,
                     int64_t times);

template <class T>
inline constexpr DType kDTypeOf = farcall::detail::scalar_dtype<T>();

// Calls visit.operator()<T>() for every type that kernels compute in.
template <class Visit>
void for_each_compute_type(Visit visit) {
  const auto call = [&]<class... T>() { (visit.template operator()<T>(), ...); };
  call.template operator()<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
                           float, double, std::complex<float>, std::complex<double>>();
}

// Operations that treat the bits of signed and unsigned integers alike have a member kSignless.
// They are compiled for unsigned integers only.
template <class Op, class T>
struct OperandOf {
  using type = T;
};
template <class Op, Signed T>
requires requires { Op::kSignless; }
struct OperandOf<Op, T> {
  using type = std::make_unsigned_t<T>;
};

// If the behaviour of an operation depends on a number, it takes that as the last argument.
//
// The output may be one of the inputs. ivdep states that iterations are independent, so that loops
// are vectorized for that case too.
template <class Op, class T>
void unary_loop(const void* const* inputs, void* output, int64_t size,
                [[maybe_unused]] int64_t extra) {
  const auto* x = static_cast<const T*>(inputs[0]);
  if constexpr (requires { Op()(T(), int64_t()); }) {
    auto* result = static_cast<decltype(Op()(T(), int64_t()))*>(output);
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) result[i] = Op()(x[i], extra);
  } else {
    auto* result = static_cast<decltype(Op()(T()))*>(output);
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) result[i] = Op()(x[i]);
  }
}

template <class Op, class T>
void binary_loop(const void* const* inputs, void* output, int64_t size, int64_t) {
  const auto* x = static_cast<const T*>(inputs[0]);
  const auto* y = static_cast<const T*>(inputs[1]);
  auto* result = static_cast<decltype(Op()(T(), T()))*>(output);
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) result[i] = Op()(x[i], y[i]);
}

// The loops of an operation for the types that it accepts.
template <class Op>
const LoopTable& unary_loops() {
  static const LoopTable table = [] {
    LoopTable loops{};
    for_each_compute_type([&]<class T>() {
      using X = typename OperandOf<Op, T>::type;
      auto& row = loops[static_cast<size_t>(kDTypeOf<T>)];
      if constexpr (requires(X x) { Op()(x, int64_t()); }) {
        row = {best_loop_of<unary_loop<Op, X>, X>(), kDTypeOf<decltype(Op()(X(), int64_t()))>};
      } else if constexpr (requires(X x) { Op()(x); }) {
        row = {best_loop_of<unary_loop<Op, X>, X>(), kDTypeOf<decltype(Op()(X()))>};
      }
    });
    return loops;
  }();
  return table;
}

template <class Op>
const LoopTable& binary_loops() {
  static const LoopTable table = [] {
    LoopTable loops{};
    for_each_compute_type([&]<class T>() {
      using X = typename OperandOf<Op, T>::type;
      auto& row = loops[static_cast<size_t>(kDTypeOf<T>)];
      if constexpr (requires(X x) { Op()(x, x); }) {
        row = {best_loop_of<binary_loop<Op, X>, X>(), kDTypeOf<decltype(Op()(X(), X()))>};
      }
    });
    return loops;
  }();
  return table;
}

// An operation that computes in `dtype`; all inputs are converted to it.
ElementwiseSpec elementwise(const LoopTable& loops, DType dtype, int64_t extra = 0);

// Makes an operation on the dtype of the first operand.
template <class Op>
ElementwiseSpec make_unary(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype>,
                           const Params*) {
  return elementwise(unary_loops<Op>(), inputs[0].dtype());
}
template <class Op>
ElementwiseSpec make_binary(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype>,
                            const Params*) {
  return elementwise(binary_loops<Op>(), inputs[0].dtype());
}

}  // namespace farcall::native
