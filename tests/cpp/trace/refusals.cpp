// Code that must not compile, one mistake for each REFUSAL, and the words that the compiler must
// say; see ../handler/refusal/run.cmake.
#include <tuple>
#include <utility>
#include <vector>

#include <farcall/ops/loops.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/custom_rules.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/jit.h>

using farcall::Array;

struct Undescribed {
  int number;
  std::vector<Array> arrays;
};

const auto scaled = [](const Array& x, int) { return x; };

void call() {
#if REFUSAL == 0  // control: this compiles
  farcall::grad(scaled)(1.f, 2);
#elif REFUSAL == 1   // REFUSAL 1: argnums names an argument that the function does not take
  farcall::grad<2>(scaled)(1.f, 2);
#elif REFUSAL == 2   // REFUSAL 2: argnums names an argument that holds no arrays
  farcall::grad<0, 1>(scaled)(1.f, 2);
#elif REFUSAL == 3   // REFUSAL 3: another number of arguments than the function takes
  farcall::jit(scaled)(1.f);
#elif REFUSAL == 4   // REFUSAL 4: for auxiliary data has_aux
  farcall::grad([](const Array& x) { return std::pair(x, x); })(1.f);
#elif REFUSAL == 5   // REFUSAL 5: must return a std::pair (result, auxiliary)
  farcall::grad(scaled, farcall::has_aux)(1.f, 2);
#elif REFUSAL == 6   // REFUSAL 6: must own its value (std::string, not const char*)
  farcall::jit([](const Array& x, const char*) { return x; })(1.f, "text");
#elif REFUSAL == 7   // REFUSAL 7: the body must return a carry of the type that it gets
  farcall::lax::scan([](const Array& x, const Array&) { return std::pair(std::tuple(x, x), x); },
                     Array(1), Array(2));
#elif REFUSAL == 8   // REFUSAL 8: the backward rule must return a tuple
  farcall::grad(farcall::custom_vjp([](const Array& x, const Array&) { return x; },
                                    [](const Array& x, const Array&) { return std::pair(x, x); },
                                    [](const Array& x, const Array&) { return x; }))(1.f, 2.f);
#elif REFUSAL == 9   // REFUSAL 9: a struct that holds arrays must be described
  farcall::jit([](const Array& x) { return Undescribed{1, {x}}; })(1.f);
#elif REFUSAL == 10  // REFUSAL 10: the function cannot be called with these arguments
  farcall::vmap([](const auto& x) { return x; })(1.f, 2.f);
#elif REFUSAL == 11  // REFUSAL 11: an argument of another type than the function takes
  farcall::vjp([](const Array& x) { return x; }, std::vector<Array>());
#elif REFUSAL == 12  // REFUSAL 12: the function returns nothing
  farcall::jit([](const Array&) {})(1.f);
#elif REFUSAL == 13  // REFUSAL 13: all branches must return values of one type
  farcall::lax::cond(
      true, [](const Array& x) { return x; }, [](const Array& x) { return std::pair(x, x); },
      Array(1.f));
#elif REFUSAL == 14  // REFUSAL 14: the rule must return a pair (results, tangents)
  farcall::custom_jvp([](const Array& x) { return x; },
                      [](const auto&, const auto&) { return Array(1.f); })(1.f);
#elif REFUSAL == 15  // REFUSAL 15: the backward rule must take (residuals, cotangent)
  farcall::custom_vjp([](const Array& x) { return x; },
                      [](const Array& x) { return std::pair(x, x); },
                      [](const Array& x) { return x; })(1.f);
#elif REFUSAL == 16  // REFUSAL 16: the body must return a pair (carry, y)
  farcall::lax::scan([](const Array& x, const Array&) { return x; }, Array(1.f), Array(2.f));
#elif REFUSAL == 17  // REFUSAL 17: an Array cannot be used as a condition
  if (Array(1.f)) farcall::jit(scaled);
#elif REFUSAL == 18  // REFUSAL 18: takes an integer, numpy::Slice
  Array(1.f)["first"];
#endif
}
