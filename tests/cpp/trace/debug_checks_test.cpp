#include <farcall/trace/debug_checks.h>

#include <cmath>

#include <gtest/gtest.h>

#include <farcall/ops/control_flow.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/jit.h>

namespace farcall {
namespace {

template <class F>
std::string floating_point_error_of(const F& f) {
  try {
    f();
  } catch (const FloatingPointError& error) {
    return error.message();
  }
  return "nothing was raised";
}

Array shifted_log(const Array& x) { return numpy::log(numpy::subtract(x, 2)); }

TEST(DebugNans, NamesTheEquationOfACompiledProgram) {
  const auto f = jit([](const Array& x) { return numpy::add(shifted_log(x), 1); });
  const Array x = Array::of<float>({1, 3});
  EXPECT_TRUE(std::isnan(f(x).values<float>()[0]));
  const FlagScope scope(Flag::kDebugNans, 1);
  EXPECT_EQ(floating_point_error_of([&] { f(x); }),
            "invalid value (nan) encountered in log: f32[2]. The flag debug_nans makes it an "
            "error");
  EXPECT_EQ(f(Array::of<float>({3, 4})).values<float>()[0], 1);
}

TEST(DebugNans, LooksIntoLoops) {
  const Array xs = Array::of<float>({3, 1});
  const auto f = jit([](const Array& all) {
    return lax::scan(
               [](std::span<const Array> carry, std::span<const Array> x) {
                 return lax::LoopResults{{numpy::add(carry[0], shifted_log(x[0]))}, {}};
               },
               std::array{Array::scalar(0.0F)}, std::array{all})
        .carry[0];
  });
  const FlagScope scope(Flag::kDebugNans, 1);
  EXPECT_NE(floating_point_error_of([&] { f(xs); }).find("encountered in log: f32[]"),
            std::string::npos);
}

TEST(DebugInfs, IsAFlagOfItsOwn) {
  const Array zero = Array::of<double>({0});
  const FlagScope nans(Flag::kDebugNans, 1);
  EXPECT_TRUE(std::isinf(numpy::log(zero).item<double>()));
  const FlagScope infinities(Flag::kDebugInfs, 1);
  EXPECT_NE(floating_point_error_of([&] {
              numpy::log(zero);
            }).find("invalid value (inf) encountered in log"),
            std::string::npos);
}

TEST(DisableJit, RunsTheFunctionEachTime) {
  int calls = 0;
  const auto f = jit([&](const Array& x) {
    ++calls;
    return numpy::add(x, 1);
  });
  const Array x = Array::of<float>({1});
  f(x), f(x);
  EXPECT_EQ(calls, 1);
  const FlagScope scope(Flag::kDisableJit, 1);
  f(x), f(x);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace farcall
