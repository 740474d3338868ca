// Loops that the compiler vectorizes, compiled once for each instruction set that makes a
// difference. All give the same bits: no sum is reordered, and products are not fused with sums
// (the files are compiled with -ffp-contract=off).
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/native/kernels/elementwise/arithmetic.h"

namespace farcall::native {

enum class LoopTarget : uint8_t { kBaseline, kAvx2, kAvx512 };
LoopTarget loop_target();  // of the instruction set in use; in vector/targets.cpp

template <auto kLoop>
struct ForTargets;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
template <class... Args, void (*kLoop)(Args...)>
struct ForTargets<kLoop> {
  [[gnu::flatten, gnu::target("avx2,f16c")]] static void avx2(Args... args) { kLoop(args...); }
  [[gnu::flatten,
    gnu::target(
        "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,f16c,prefer-vector-width=512")]] static void
  avx512(Args... args) {
    kLoop(args...);
  }
  template <LoopTarget kMost>
  static auto best() {
    const LoopTarget target = loop_target();
    if constexpr (kMost == LoopTarget::kAvx512) {
      if (target == LoopTarget::kAvx512) return avx512;
    }
    return target >= LoopTarget::kAvx2 ? avx2 : kLoop;
  }
};
#else
template <class... Args, void (*kLoop)(Args...)>
struct ForTargets<kLoop> {
  template <LoopTarget>
  static auto best() {
    return kLoop;
  }
};
#endif

// The loop for the instruction set in use.
template <auto kLoop>
auto best_loop() {
  return ForTargets<kLoop>::template best<LoopTarget::kAvx512>();
}
// The same for a loop over elements of type T. For complex elements GCC 12 emits fused products in
// spite of -ffp-contract=off, and AVX-512 has them: complex loops use AVX2 at most.
template <auto kLoop, class T>
auto best_loop_of() {
  constexpr LoopTarget kMost = Complex<T> ? LoopTarget::kAvx2 : LoopTarget::kAvx512;
  return ForTargets<kLoop>::template best<kMost>();
}

}  // namespace farcall::native
