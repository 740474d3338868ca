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
  static auto best(LoopTarget most = LoopTarget::kAvx512) {
    const LoopTarget target = std::min(loop_target(), most);
    return target == LoopTarget::kAvx512 ? avx512 : target == LoopTarget::kAvx2 ? avx2 : kLoop;
  }
};
#else
template <class... Args, void (*kLoop)(Args...)>
struct ForTargets<kLoop> {
  static auto best(LoopTarget = {}) { return kLoop; }
};
#endif

// The loop for the instruction set in use.
template <auto kLoop>
auto best_loop() {
  return ForTargets<kLoop>::best();
}
// The same for a loop over elements of type T. For complex elements GCC 12 emits fused products in
// spite of -ffp-contract=off, and AVX-512 has them: complex loops use AVX2 at most.
template <auto kLoop, class T>
auto best_loop_of() {
  return ForTargets<kLoop>::best(Complex<T> ? LoopTarget::kAvx2 : LoopTarget::kAvx512);
}

}  // namespace farcall::native
