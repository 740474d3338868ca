// Several devices, closures as arguments, computing while recording: farcall/ops/shard_map.h,
// farcall/ops/custom_partitioning.h, farcall/program/sharding.h, farcall/trace/divisions.h,
// farcall/trace/closure_convert.h, farcall/trace/compile_time.h.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/ops/collectives.h>
#include <farcall/ops/custom_partitioning.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/shard_map.h>
#include <farcall/ops/sharding_constraint.h>
#include <farcall/program/cpu_devices.h>
#include <farcall/program/engine.h>
#include <farcall/trace/closure_convert.h>
#include <farcall/trace/compile_time.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/divisions.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/varying.h>
#include <farcall/trace/vmap.h>

#include "array_testing.h"

namespace farcall {
namespace {

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
  EXPECT_NE(message_of([] { set_num_cpu_devices(2); }).find("4 devices already"),
            std::string::npos);
  EXPECT_NE(message_of([] { set_num_cpu_devices(65); }).find("from 1 to 64"), std::string::npos);
  const Array x = device_put(rows(), *devices[2]);
  const Array y = jit([](const Array& a) { return a * a; })(x);
  EXPECT_EQ(&device_of(y), devices[2]);
  EXPECT_EQ(devices[2]->memory()->bytes_in_use, 64);
  EXPECT_NE(message_of([&] {
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
    return message_of([&] { device_put(x, NamedSharding{mesh, std::move(spec)}); });
  };
  EXPECT_NE(put(rows(), {{}, {"x"}}).find("must be a multiple of 4"), std::string::npos);
  EXPECT_NE(put(rows(), {{}, {}, {"x"}}).find("3 entries"), std::string::npos);
  EXPECT_NE(put(rows(), {{"z"}}).find("names axis \"z\""), std::string::npos);
  EXPECT_NE(put(rows(), {{"x"}, {"x"}}).find("names axis \"x\" twice"), std::string::npos);
  const auto make = [](std::vector<MeshAxis> axes) {
    return message_of([&] { Mesh(std::move(axes), {&host_device()}); });
  };
  EXPECT_NE(make({{"x", 1}, {"x", 1}}).find("named twice"), std::string::npos);
  EXPECT_NE(make({{"x", 2}}).find("2 places, got 1 devices"), std::string::npos);
  EXPECT_NE(make({{"x", 0}}).find("1 or more"), std::string::npos);
  const Device* twice[] = {mesh.devices()[1], mesh.devices()[2], mesh.devices()[1]};
  EXPECT_NE(message_of([&] {
              Mesh(std::vector<MeshAxis>{{"x", 3}}, {std::begin(twice), std::end(twice)});
            }).find("mesh (x: 3) has cpu:1 at two places"),
            std::string::npos);
  EXPECT_NE(message_of([] { Mesh{{"x", 128}}; }).find("needs 128 devices"), std::string::npos);
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

// Devices divide the sums of large arrays. The number of elements is not a multiple of any tile's.
TEST(ShardMap, SumsLargeArraysOnAllDevices) {
  constexpr int64_t kSize = 40001, kDevices = 4;
  const auto summed =
      jit(shard_map([](const Array& x) { return lax::psum(x, "x") * lax::psum(x + 1, "x"); },
                    {.mesh = mesh_of({{"x", kDevices}}), .in_specs = {{{"x"}}}}));
  std::vector<int32_t> data(kDevices * kSize);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int32_t>(i % 1000);
  std::vector<int32_t> wanted(kSize);
  for (size_t i = 0; i < wanted.size(); ++i) {
    int32_t sum = 0;
    for (size_t device = 0; device < kDevices; ++device) sum += data[device * kSize + i];
    wanted[i] = sum * (sum + kDevices);
  }
  const Array x = Array::of<int32_t>(data, Shape{kDevices, kSize});
  for (int run = 0; run < 10; ++run) {
    EXPECT_TRUE(std::ranges::equal(summed(x).values<int32_t>(), wanted));
  }
}

TEST(ShardMap, GradientsGoThrough) {
  const auto mapped = shard_map([](const Array& x) { return lax::psum(numpy::sum(x * x), "x"); },
                                {.mesh = mesh_of({{"x", 4}}), .in_specs = {{{"x"}}}});
  EXPECT_EQ(grad(mapped)(rows()).to_string(), (rows() * 2).to_string());
  EXPECT_EQ(jit(grad(mapped))(rows()).to_string(), (rows() * 2).to_string());
}

TEST(ShardMap, GradientsInsideAreSummedForValuesThatAllDevicesShare) {
  const Mesh mesh = mesh_of({{"x", 4}});
  const auto run = [&](bool checks, bool is_marked) {
    const auto slope = [is_marked](const Array& w, const Array& x) {
      const Array at = is_marked ? lax::pvary(w, "x") : w;
      const auto loss = [&](const Array& v) { return numpy::sum(v * x); };
      return lax::reshape(grad(loss)(at), {1});
    };
    const auto mapped = shard_map(slope, {.mesh = mesh,
                                          .in_specs = {PartitionSpec(), {{"x"}}},
                                          .out_specs = {{{"x"}}},
                                          .check_replication = checks});
    return mapped(Array::scalar<float>(3), rows()).to_string();
  };
  EXPECT_EQ(run(true, false), "[36.0, 36.0, 36.0, 36.0]");
  EXPECT_EQ(run(true, true), "[3.0, 7.0, 11.0, 15.0]");
  EXPECT_EQ(run(false, false), "[3.0, 7.0, 11.0, 15.0]");
}

TEST(ShardMap, TellsTheAxesOverWhichValuesVary) {
  using Names = std::vector<std::string>;
  std::vector<Names> found;
  const auto body = [&](const Array& x) {
    const Array sum = lax::psum(x, "x");
    const auto constant = [&](const Array&) { return x; };
    const Array zero = jvp(constant, std::tuple(sum), std::tuple(sum)).second;
    for (const Array& array : {x, sum, sum * lax::axis_index("y"), zero, rows()}) {
      found.push_back(names_of(varying_axes(array)));
    }
    return x;
  };
  const PartitionSpec both = {{"x", "y"}};
  shard_map(body, {.mesh = mesh_of({{"x", 2}, {"y", 2}}), .in_specs = {both}, .out_specs = {both}})(
      rows());
  EXPECT_EQ(found, (std::vector<Names>{{"x", "y"}, {"y"}, {"y"}, {"x", "y"}, {}}));
}

TEST(ShardMap, RefusesWhatDoesNotFit) {
  const Mesh mesh = mesh_of({{"x", 4}});
  const auto identity = [](const Array& y) { return y; };
  const auto call = [&](ShardMapOptions options) {
    return message_of([&] { shard_map(identity, options)(rows()); });
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

TEST(Vmap, SplitsTheMappedDimensionOverAxes) {
  const Mesh mesh = mesh_of({{"x", 2}, {"y", 2}});
  const NamedSharding columns{mesh, {{"y"}}};
  const auto constrained = [&](const Array& v) { return with_sharding_constraint(v * 2, columns); };
  const VmapOptions over_x{.spmd_axis_names = {"x"}};
  EXPECT_NE(jit(vmap(constrained, over_x)).lower(rows()).as_text().find("spec=((x,), (y,))"),
            std::string::npos);
  EXPECT_NE(jit(vmap(constrained, {.in_axes = 1, .out_axes = 1, .spmd_axis_names = {"x"}}))
                .lower(rows())
                .as_text()
                .find("spec=((y,), (x,))"),
            std::string::npos);
  // A recorded function is batched for each choice of axes.
  const auto inner = jit(constrained);
  for (const auto& [options, spec] :
       {std::pair(over_x, "spec=((x,), (y,))"), std::pair(VmapOptions(), "spec=((), (y,))")}) {
    EXPECT_NE(jit(vmap(inner, options)).lower(rows()).as_text().find(spec), std::string::npos);
  }

  // Each device has half of the batch.
  const auto mapped = shard_map(
      [](const Array& v) { return v + lax::axis_index("x"); },
      {.mesh = mesh, .in_specs = {{{"y"}}}, .out_specs = {{{"y"}}}, .check_replication = false});
  EXPECT_EQ(vmap(mapped, over_x)(rows()).to_string(),
            "[[1.0, 2.0], [3.0, 4.0], [6.0, 7.0], [8.0, 9.0]]");
  EXPECT_NE(message_of([&] {
              vmap(mapped, over_x)(numpy::ones({3, 2}));
            }).find("spmd_axis_name x splits the mapped dimension into 2 parts, but its size is 3"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              vmap(mapped, {.spmd_axis_names = {"y"}})(rows());
            }).find("spmd_axis_name \"y\" splits the mapped dimension, so the spec (y) inside"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              vmap(mapped, {.spmd_axis_names = {"z"}})(rows());
            }).find("spmd_axis_name \"z\" must be an axis of the mesh"),
            std::string::npos);
}

TEST(Jit, CompilesForTheShardingsOfItsArguments) {
  const NamedSharding by_rows{mesh_of({{"x", 4}}), {{"x"}}}, whole{by_rows.mesh, {}};
  const auto add = [](const Array& a, const Array& b) { return std::pair(a + b, numpy::sum(b)); };
  const auto compiled = jit(add).lower(device_put(rows(), by_rows), rows()).compile();
  const Shardings inputs = {by_rows, whole}, outputs = {by_rows, whole};
  EXPECT_EQ(compiled.input_shardings(), inputs);
  EXPECT_EQ(compiled.output_shardings(), outputs);
  const auto [sum, total] = compiled(rows(), rows());  // moves its arguments
  ASSERT_NE(sharding_of(sum), nullptr);
  EXPECT_EQ(*sharding_of(sum), by_rows);
  EXPECT_EQ(sum.to_string(), (rows() * 2).to_string());

  const auto wanted = jit([](const Array& a) { return a + 1; }, {.out_shardings = {by_rows}});
  EXPECT_EQ(wanted.lower(rows()).compile().input_shardings(), Shardings{whole});
  EXPECT_EQ(wanted.lower(rows()).compile().output_shardings(), Shardings{by_rows});
  const auto plain = jit([](const Array& a) { return a + 1; });
  EXPECT_EQ(plain.lower(rows()).compile().output_shardings(), Shardings{std::nullopt});
  const Device& last = *default_engine().devices()[3];
  const auto on_last = plain.lower(device_put(rows(), last)).compile();
  EXPECT_EQ(&device_of(on_last(rows())), &last);
  // Arguments with a requested sharding may be anywhere.
  const auto moved = jit(add, {.in_shardings = {by_rows}});
  EXPECT_EQ(moved.lower(device_put(rows(), last), rows()).compile().input_shardings(),
            (Shardings{by_rows, by_rows}));
  EXPECT_NE(
      message_of([&] {
        jit(add, {.name = "add"}).lower(device_put(rows(), by_rows), device_put(rows(), last));
      })
          .find("jit(add): lower: the arguments are on different devices: argument 0 on cpu:0, "
                "cpu:1, cpu:2, cpu:3, argument 1 on cpu:3"),
      std::string::npos);
}

TEST(Jit, PlacesArgumentsAndResults) {
  const NamedSharding by_rows{mesh_of({{"x", 4}}), {{"x"}}}, whole{by_rows.mesh, {}};
  const auto add = [](const Array& a, const Array& b) { return std::pair(a + b, a * b); };
  const auto placed =
      jit(add, {.in_shardings = {by_rows, std::nullopt}, .out_shardings = {std::nullopt, whole}});
  const auto [sum, product] = placed(rows(), rows());
  EXPECT_EQ(sum.to_string(), (rows() * 2).to_string());
  EXPECT_EQ(product.to_string(), (rows() * rows()).to_string());
  ASSERT_NE(sharding_of(sum), nullptr);
  EXPECT_EQ(*sharding_of(sum), by_rows);
  ASSERT_NE(sharding_of(product), nullptr);
  EXPECT_EQ(*sharding_of(product), whole);

  const auto wanted = jit([](const Array& a) { return a + 1; }, {.out_shardings = {by_rows}});
  for (int i = 0; i < 2; ++i) {
    ASSERT_NE(sharding_of(wanted(rows())), nullptr);
    EXPECT_EQ(*sharding_of(wanted(rows())), by_rows);
  }
  const auto compiled = wanted.lower(rows()).compile();
  EXPECT_EQ(*sharding_of(compiled(rows())), by_rows);
  // Inside another function, and under a transformation.
  EXPECT_EQ(jit([&](const Array& a) { return wanted(a) * 2; })(rows()).to_string(),
            ((rows() + 1) * 2).to_string());
  EXPECT_EQ(grad([&](const Array& a) { return numpy::sum(wanted(a) * a); })(rows()).to_string(),
            (rows() * 2 + 1).to_string());

  const auto call = [&](JitOptions options) {
    return message_of([&] { jit(add, std::move(options))(rows(), rows()); });
  };
  EXPECT_NE(call({.in_shardings = {by_rows, by_rows, by_rows}})
                .find("jit: in_shardings has 3 shardings for 2 arrays; give one for each"),
            std::string::npos);
  EXPECT_NE(call({.in_shardings = {NamedSharding{by_rows.mesh, {{}, {"x"}}}}})
                .find("jit: in_shardings: argument 0: dimension 1 of size 2 must be a multiple"),
            std::string::npos);
  EXPECT_NE(call({.out_shardings = {by_rows, by_rows, by_rows}})
                .find("jit: out_shardings has 3 shardings for 2 arrays"),
            std::string::npos);
  EXPECT_NE(call({.out_shardings = {NamedSharding{by_rows.mesh, {{}, {"x"}}}}})
                .find("jit: out_shardings: result[0]: dimension 1"),
            std::string::npos);
}

TEST(CustomPartitioning, RunsItsFunctionOnShards) {
  const NamedSharding by_rows{mesh_of({{"x", 4}}), {{"x"}}};
  std::vector<PartitionSpec> seen;
  const auto partition = [&](const SpreadCall& call) -> ShardFunction {
    seen = {call.operands[0].spec, call.results[0].spec};
    const auto local = [](std::span<const Array> shards) {
      return std::vector<Array>{lax::psum(numpy::sum(shards[0], 0), "x") + 100};
    };
    return {local, {{{"x"}}}, {{}}};
  };
  const auto rule = [](const SpreadCall&) {
    return ShardingRule("n d -> d", {.reduction_factors = {"n"}});
  };
  const auto summed =
      custom_partitioning([](const Array& x) { return numpy::sum(x, 0); },
                          {.name = "summed", .partition = partition, .sharding_rule = rule});
  EXPECT_EQ(jit(summed)(rows()).to_string(), "[16.0, 20.0]");
  EXPECT_TRUE(seen.empty());
  const Array spread = device_put(rows(), by_rows);
  EXPECT_EQ(jit(summed)(spread).to_string(), "[116.0, 120.0]");
  EXPECT_EQ(summed(spread).to_string(), "[116.0, 120.0]");
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0], (PartitionSpec{{"x"}, {}}));
  EXPECT_EQ(seen[1], (PartitionSpec{{}}));
  const auto gradient = grad([&](const Array& x) { return numpy::sum(summed(x) * 3); });
  EXPECT_EQ(gradient(spread).to_string(), numpy::full({4, 2}, Array(3.F)).to_string());

  const auto compiled = jit(summed).lower(spread).compile();
  const DividedRun run = compiled.divided();
  ASSERT_EQ(run.calls.size(), 1U);
  EXPECT_TRUE(run.calls[0].is_divided());
  EXPECT_NE(to_text(run.calls).find("custom_partitioning is divided by its partition over x"),
            std::string::npos);
  EXPECT_TRUE(jit(summed).lower(rows()).compile().divided().calls.empty());

  EXPECT_NE(message_of([] {
              custom_partitioning([](const Array& x) { return x; }, {.name = "f"});
            }).find("custom_partitioning(f): partition is missing"),
            std::string::npos);
  const auto wrong =
      custom_partitioning([](const Array& x) { return x; },
                          {.name = "g", .partition = [](const SpreadCall&) -> ShardFunction {
                             return {[](std::span<const Array> shards) {
                                       return std::vector(shards.begin(), shards.end());
                                     },
                                     {{{"x"}}, {}},
                                     {{}}};
                           }});
  EXPECT_NE(message_of([&] { jit(wrong)(spread); })
                .find("custom_partitioning(g): partition returned 2 specs, expected one for each "
                      "of the 1 operands"),
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
  EXPECT_NE(message_of([&] {
              function({}, std::vector<Array>{Array(1.0f), Array(2.0f)});
            }).find("recorded for arguments of structure"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
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
