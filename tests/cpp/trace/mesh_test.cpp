// Several devices, closure conversion, evaluation while recording: farcall/ops/shard_map.h,
// farcall/program/sharding.h, farcall/trace/closure_convert.h, farcall/trace/compile_time.h.
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/ops/collectives.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/shard_map.h>
#include <farcall/program/cpu_devices.h>
#include <farcall/program/engine.h>
#include <farcall/trace/closure_convert.h>
#include <farcall/trace/compile_time.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/placement.h>

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

// A mesh of four devices. Sets their number first: other tests may run in the same process.
Mesh mesh_of(std::initializer_list<MeshAxis> axes) {
  set_num_cpu_devices(4);
  return Mesh(axes);
}

Array rows() { return Array::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}); }

TEST(Devices, AreAsManyAsWereAskedFor) {
  set_num_cpu_devices(4);
  const auto devices = default_engine().devices();
  ASSERT_EQ(devices.size(), 4U);
  EXPECT_EQ(devices[3]->to_string(), "cpu:3");
  EXPECT_NE(error_of([] { set_num_cpu_devices(2); }).find("4 devices already"), std::string::npos);
  EXPECT_NE(error_of([] { set_num_cpu_devices(65); }).find("from 1 to 64"), std::string::npos);
  const Array x = device_put(rows(), *devices[2]);
  const Array y = jit([](const Array& a) { return a * a; })(x);
  EXPECT_EQ(&device_of(y), devices[2]);
  EXPECT_EQ(devices[2]->memory()->bytes_in_use, 64);
  EXPECT_NE(error_of([&] {
              return x + device_put(rows(), *devices[1]);
            }).find("operand 0 to cpu:2, operand 1 to cpu:1"),
            std::string::npos);
}

TEST(Sharding, CutsAndPutsTogether) {
  const NamedSharding sharding{mesh_of({{"x", 2}, {"y", 2}}), {{"y"}, {"x"}}};
  const Array x = device_put(rows(), sharding);
  ASSERT_NE(sharding_of(x), nullptr);
  EXPECT_EQ(*sharding_of(x), sharding);
  EXPECT_EQ(x.to_string(), rows().to_string());
  const std::vector<Array> shards = shards_of(x);
  ASSERT_EQ(shards.size(), 4U);
  EXPECT_EQ(shards[1].to_string(), "[[5.0], [7.0]]");
  EXPECT_EQ(&device_of(shards[1]), sharding.mesh.devices()[1]);
  const Array again = array_from_shards(x.type(), sharding, shards);
  EXPECT_EQ((again + 1).to_string(), (rows() + 1).to_string());
  ASSERT_NE(sharding_of(again + 1), nullptr);
  EXPECT_EQ(*sharding_of(again + 1), sharding);
}

TEST(Sharding, RefusesWhatDoesNotFit) {
  const Mesh mesh = mesh_of({{"x", 4}});
  const auto put = [&](const Array& x, PartitionSpec spec) {
    return error_of([&] { device_put(x, NamedSharding{mesh, std::move(spec)}); });
  };
  EXPECT_NE(put(rows(), {{}, {"x"}}).find("must be a multiple of 4"), std::string::npos);
  EXPECT_NE(put(rows(), {{}, {}, {"x"}}).find("3 entries"), std::string::npos);
  EXPECT_NE(put(rows(), {{"z"}}).find("names axis \"z\""), std::string::npos);
  EXPECT_NE(put(rows(), {{"x"}, {"x"}}).find("names axis \"x\" twice"), std::string::npos);
  const auto make = [](std::vector<MeshAxis> axes) {
    return error_of([&] { Mesh(std::move(axes), {&host_device()}); });
  };
  EXPECT_NE(make({{"x", 1}, {"x", 1}}).find("named twice"), std::string::npos);
  EXPECT_NE(make({{"x", 2}}).find("2 places, got 1 devices"), std::string::npos);
  EXPECT_NE(make({{"x", 0}}).find("1 or more"), std::string::npos);
  EXPECT_NE(error_of([] { Mesh{{"x", 128}}; }).find("needs 128 devices"), std::string::npos);
}

TEST(ShardMap, RunsOnEveryDevice) {
  const auto body = [](const Array& x) { return lax::psum(x, "x") + lax::axis_index("y"); };
  const auto summed = shard_map(
      body,
      {.mesh = mesh_of({{"x", 2}, {"y", 2}}), .in_specs = {{{"x", "y"}}}, .out_specs = {{{"y"}}}});
  EXPECT_EQ(summed(rows()).to_string(), "[[6.0, 8.0], [11.0, 13.0]]");
  EXPECT_EQ(jit(summed)(rows()).to_string(), summed(rows()).to_string());
  EXPECT_NE(sharding_of(summed(rows())), nullptr);
}

TEST(ShardMap, GradientsGoThrough) {
  const auto mapped = shard_map([](const Array& x) { return lax::psum(numpy::sum(x * x), "x"); },
                                {.mesh = mesh_of({{"x", 4}}), .in_specs = {{{"x"}}}});
  EXPECT_EQ(grad(mapped)(rows()).to_string(), (rows() * 2).to_string());
  EXPECT_EQ(jit(grad(mapped))(rows()).to_string(), (rows() * 2).to_string());
}

TEST(ShardMap, RefusesWhatDoesNotFit) {
  const Mesh mesh = mesh_of({{"x", 4}});
  const auto identity = [](const Array& y) { return y; };
  const auto call = [&](ShardMapOptions options) {
    return error_of([&] { shard_map(identity, options)(rows()); });
  };
  EXPECT_NE(call({.mesh = mesh, .in_specs = {{{"z"}}}}).find("names axis \"z\""),
            std::string::npos);
  EXPECT_NE(call({.mesh = mesh, .in_specs = {{{}, {"x"}}}}).find("must be a multiple of 4"),
            std::string::npos);
  EXPECT_NE(call({.mesh = mesh, .in_specs = {{}, {}}}).find("2 specs for 1"), std::string::npos);
  EXPECT_NE(call({.mesh = mesh, .in_specs = {{{"x"}}}}).find("leaves out axis \"x\""),
            std::string::npos);
  EXPECT_NE(call({.mesh = Mesh()}).find("the mesh has no axes"), std::string::npos);
  EXPECT_NE(call({.mesh = mesh, .axis_names = {"q"}}).find("axis_names has \"q\""),
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
