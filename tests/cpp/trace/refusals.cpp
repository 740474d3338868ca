// Code that must not compile, one mistake for each REFUSAL, and the words that the compiler must
// say; see ../handler/refusal/run.cmake.
#include <tuple>
#include <utility>

#include <farcall/ops/derivatives.h>
#include <farcall/ops/loops.h>
#include <farcall/trace/custom_rules.h>
#include <farcall/trace/jit.h>

using farcall::Array;

const auto scaled = [](const Array& x, int) { return x; };

void call() {
#if REFUSAL == 0  // control: this compiles
  farcall::grad(scaled)(1.f, 2);
#elif REFUSAL == 1  // REFUSAL 1: argnums names an argument that the function does not take
  farcall::grad<2>(scaled)(1.f, 2);
#elif REFUSAL == 2  // REFUSAL 2: argnums names an argument that holds no arrays
  farcall::grad<0, 1>(scaled)(1.f, 2);
#elif REFUSAL == 3  // REFUSAL 3: another number of arguments than the function takes
  farcall::jit(scaled)(1.f);
#elif REFUSAL == 4  // REFUSAL 4: for auxiliary data has_aux
  farcall::grad([](const Array& x) { return std::pair(x, x); })(1.f);
#elif REFUSAL == 5  // REFUSAL 5: must return a std::pair (result, auxiliary)
  farcall::grad(scaled, farcall::has_aux)(1.f, 2);
#elif REFUSAL == 6  // REFUSAL 6: must own its value (std::string, not const char*)
  farcall::jit([](const Array& x, const char*) { return x; })(1.f, "text");
#elif REFUSAL == 7  // REFUSAL 7: the body must return a carry of the type that it gets
  farcall::lax::scan([](const Array& x, const Array&) { return std::pair(std::tuple(x, x), x); },
                     Array(1), Array(2));
#elif REFUSAL == 8  // REFUSAL 8: the backward rule must return a tuple
  farcall::grad(farcall::custom_vjp([](const Array& x, const Array&) { return x; },
                                    [](const Array& x, const Array&) { return std::pair(x, x); },
                                    [](const Array& x, const Array&) { return x; }))(1.f, 2.f);
#endif
}
