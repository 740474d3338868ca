// Axes of a mesh, closures as arguments, computing while recording: farcall/ops/mesh.h,
// farcall/trace/closure_convert.h, farcall/trace/compile_time.h.
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/ops/collectives.h>
#include <farcall/ops/derivatives.h>
#include <farcall/ops/mesh.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/closure_convert.h>
#include <farcall/trace/compile_time.h>
#include <farcall/trace/jit.h>

namespace farcall {
namespace {

template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

const Mesh kMesh = {{"x", 1}, {"y", 1}};

TEST(ShardMap, CollectivesKnowTheAxes) {
  const auto summed = shard_map(
      [](const Array& x) {
        return lax::psum(x, {"x", "y"}) + lax::axis_index("x");
      },
      {kMesh, {{{"x"}}}, {{{"x"}}}});
  const Array x = Array::of<float>({1, 2, 3});
  EXPECT_EQ(summed(x).to_string(), "[1.0, 2.0, 3.0]");
  EXPECT_EQ(jit(summed)(x).to_string(), summed(x).to_string());
}

TEST(ShardMap, GradientsGoThrough) {
  const auto mapped = shard_map([](const Array& x) { return lax::psum(x * x, "x"); }, {kMesh});
  const auto loss = [&](const Array& x) { return numpy::sum(mapped(x)); };
  const Array gradient = grad(loss)(Array::of<float>({1, 2, 3}));
  EXPECT_EQ(gradient.values<float>()[2], 6);
}

TEST(ShardMap, RefusesWhatDoesNotFit) {
  const Array x = Array::of<float>({1, 2, 3});
  const auto identity = [](const Array& y) { return y; };
  EXPECT_NE(error_of([&] {
              shard_map(identity, {{{"x", 2}}})(x);
            }).find("there is one device"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              shard_map(identity, {kMesh, {{{"z"}}}})(x);
            }).find("names axis \"z\", which the mesh does not have"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              shard_map(identity, {kMesh, {{{}, {"x"}}}})(x);
            }).find("2 entries"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              shard_map(identity, {kMesh, {{}, {}}})(x);
            }).find("2 specs for 1"),
            std::string::npos);
  const FlatFunction flat = [](std::span<const Array> inputs) {
    return std::vector<Array>(inputs.begin(), inputs.end());
  };
  EXPECT_NE(error_of([&] {
              with_mesh_axes(flat, {&x, 1}, {"x", "x"});
            }).find("named twice"),
            std::string::npos);
}

TEST(ClosureConvert, HoistsWhatCanHaveADerivative) {
  const auto outer = [](const Array& y) {
    const auto [converted, hoisted] = closure_convert([&](const Array& x) { return x * y; }, 1.0f);
    EXPECT_EQ(hoisted.size(), 1U);
    return converted(hoisted, Array(3.0f)) + converted({{Array(10.0f)}}, Array(1.0f));
  };
  EXPECT_EQ(jit(outer)(Array::scalar(2.0f)).item<float>(), 16);
  EXPECT_EQ(grad(outer)(Array::scalar(2.0f)).item<float>(), 3);
}

TEST(ClosureConvert, ChecksItsArguments) {
  const auto [converted, hoisted] = closure_convert(
      [](const std::vector<Array>& xs) { return xs[0]; }, std::vector<Array>{Array(1.0f)});
  const auto& function = converted;
  EXPECT_NE(error_of([&] {
              function({}, std::vector<Array>{Array(1.0f), Array(2.0f)});
            }).find("recorded for arguments of structure"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              function({{Array(1.0f)}}, std::vector<Array>{Array(1.0f)});
            }).find("takes 0 hoisted arrays, got 1"),
            std::string::npos);
}

TEST(CompileTimeEval, ComputesWhatIsKnown) {
  const auto f = [](const Array& x) {
    const CompileTimeEval scope;
    const Array known = numpy::sum(Array::of<float>({1, 2}));
    EXPECT_TRUE(known.is_concrete());
    EXPECT_FALSE((x + Array(1.0f)).is_concrete());
    return x * known;
  };
  const ProgramPtr program = make_jaxpr(f)(Array::scalar(2.0f));
  EXPECT_EQ(program->equations.size(), 2U);
  EXPECT_EQ(jit(f)(Array::scalar(2.0f)).item<float>(), 6);
}

}  // namespace
}  // namespace farcall
