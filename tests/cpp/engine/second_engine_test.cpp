// A second engine: it runs what the native engine runs, and arrays stay on their devices.
#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/ops/callback.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/ops/numpy.h>
#include <farcall/program/text.h>
#include <farcall/program/transfers.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/vmap.h>

#include "kernel_testing.h"
#include "program/examples.h"
#include "stepwise.h"

namespace farcall {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Device& device(size_t number) { return *testing::stepwise_engine().devices()[number]; }
Array on(size_t number, std::initializer_list<float> values) {
  return device_put(Array::of<float>(values), device(number));
}

// Small numbers of any dtype; zeros for dtypes without numbers.
Array some_values(ShapeDtype type, std::mt19937& random) {
  Storage storage = Storage::allocate(type.nbytes());
  if (type.nbytes() > 0) std::memset(storage.data(), 0, type.nbytes());
  if (!type.is_token() && !is_key(type.dtype())) {
    const native::testing::TestArray values = native::testing::random_array(type, random, 3);
    std::memcpy(storage.data(), values.data(), type.nbytes());
  }
  return Array(type, std::move(storage));
}

struct Outcome {
  std::vector<std::vector<std::byte>> bytes;
  std::string error;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_on(const Device& place, const ProgramPtr& program, std::span<const Array> inputs) {
  Outcome outcome;
  try {
    for (const Array& result : run(*compile(program, place), inputs)) {
      EXPECT_EQ(&device_of(result), &place);
      const auto* data = static_cast<const std::byte*>(result.data());
      outcome.bytes.emplace_back(data, data + result.type().nbytes());
    }
  } catch (const Error& error) {
    outcome.error = error.message();
  }
  return outcome;
}

TEST(SecondEngine, EveryPrimitiveGivesTheBitsOfTheNativeEngine) {
  std::mt19937 random(1);
  size_t num_run = 0;
  for (const auto& [inputs, equation] : farcall::testing::example_equations()) {
    SCOPED_TRACE(equation);
    ProgramPtr program = parse_program("{ lambda ; " + inputs + ". let " + equation + " in () }");
    ProgramBuilder builder;
    std::vector<Atom> operands, outputs;
    for (const ShapeDtype& type : program->input_types()) {
      operands.push_back(Atom::variable(builder.add_input(type)));
    }
    const Equation& only = program->equations.at(0);
    std::vector<Atom> read;
    for (const Atom input : only.inputs) {
      if (!input.is_variable()) {
        read.push_back(builder.add_literal(program->literals[input.index]));
        continue;
      }
      const auto place = std::ranges::find(program->inputs, input.index) - program->inputs.begin();
      read.push_back(operands.at(static_cast<size_t>(place)));
    }
    for (const uint32_t output : builder.add_equation(*only.primitive, only.params, read)) {
      outputs.push_back(Atom::variable(output));
    }
    program = builder.build(outputs);
    std::vector<Array> values;
    for (const ShapeDtype& type : program->input_types())
      values.push_back(some_values(type, random));
    const Outcome native = outcome_on(host_device(), program, values);
    for (const size_t number : {0, 1}) {
      const int64_t before = testing::transfers().to_device;
      EXPECT_EQ(outcome_on(device(number), program, values), native);
      if (!native.error.empty()) continue;
      EXPECT_EQ(testing::transfers().to_device - before, std::ssize(values));
    }
    if (!native.error.empty()) {
      EXPECT_THAT(native.error, AnyOf(HasSubstr("no target"), HasSubstr("unknown axis"),
                                      HasSubstr("custom_vjp"), HasSubstr("only as a part of it")));
    }
    num_run += native.error.empty();
  }
  EXPECT_GT(num_run, 150);
}

TEST(SecondEngine, ItsDevicesAreFoundByNameAndPlatform) {
  testing::stepwise_engine();  // registers it
  EXPECT_EQ(&find_engine("stepwise"), &testing::stepwise_engine());
  EXPECT_THAT(find_devices("stepwise"), ElementsAre(&device(0), &device(1)));
  EXPECT_THAT(find_devices("native"), ElementsAre(&host_device()));
  EXPECT_THAT(find_devices("cpu"), ElementsAre(&host_device()));
  EXPECT_EQ(device(1).to_string(), "stepwise:1");
  try {
    find_devices("abacus");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_EQ(error.message(),
              "unknown platform or engine \"abacus\"; known ones: native, cpu, stepwise");
  }
  EXPECT_THROW(add_engine(testing::stepwise_engine()), Error);
  EXPECT_EQ(&default_engine(), &find_engine("native"));
  EXPECT_EQ(&default_device(), &host_device());
}

TEST(SecondEngine, ProgramsRunWhereTheirArraysWerePut) {
  const Array x = on(0, {1, 2, 3});
  EXPECT_TRUE(x.is_concrete());
  EXPECT_TRUE(is_committed(x));
  const Array y = x + 1.0F;
  EXPECT_EQ(&device_of(y), &device(0));
  EXPECT_TRUE(is_committed(y));
  EXPECT_THAT(y.values<float>(), ElementsAre(2, 3, 4));

  const auto f = jit([](const Array& a, const Array& b) { return numpy::sin(a) * b; });
  const Array z = f(x, Array::of<float>({2, 2, 2}));
  EXPECT_EQ(&device_of(z), &device(0));
  const Array on_host = f(Array::of<float>({1, 2, 3}), Array::of<float>({2, 2, 2}));
  EXPECT_EQ(&device_of(on_host), &host_device());
  EXPECT_FALSE(is_committed(on_host));
  EXPECT_EQ(&device_of(f(on(1, {1, 2, 3}), Array::of<float>({2, 2, 2}))), &device(1));
  EXPECT_EQ(f.cache_size(), 1);  // one program, compiled for three devices
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(z.values<float>()[i], on_host.values<float>()[i]);
  }
}

TEST(SecondEngine, ArraysOfDifferentDevicesDoNotMeet) {
  const Array x = on(0, {1}), y = on(1, {1});
  const auto f = jit([](const Array& a, const Array& b) { return a + b; });
  for (const auto& call :
       {std::function([&] { return x + y; }), std::function([&] { return f(x, y); })}) {
    try {
      call();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(error.message(), HasSubstr("operand 0 to stepwise:0, operand 1 to stepwise:1. "
                                             "Move one with device_put"));
    }
  }
  EXPECT_THAT((device_put(x, device(1)) + y).values<float>(), ElementsAre(2));
  // An array that was put on the host explicitly is committed like on any other device.
  EXPECT_THROW(x + device_put(Array::of<float>({1}), host_device()), Error);
}

TEST(SecondEngine, AJittedFunctionMayNameItsDevice) {
  const auto f = jit([](const Array& a) { return a * 2.0F; }, {.device = &device(1)});
  for (const Array& x : {Array::of<float>({1, 2}), on(0, {1, 2}), on(1, {1, 2})}) {
    const Array y = f(x);
    EXPECT_EQ(&device_of(y), &device(1));
    EXPECT_THAT(y.values<float>(), ElementsAre(2, 4));
  }
  const auto compiled = f.lower(Array::of<float>({1, 2})).compile();
  EXPECT_EQ(&device_of(compiled(Array::of<float>({1, 2}))), &device(1));
}

TEST(SecondEngine, TheDefaultDeviceHoldsForAScope) {
  const auto f = jit([](const Array& a) { return a + 1.0F; });
  const Array x = Array::of<float>({1, 2});
  EXPECT_EQ(&device_of(f(x)), &host_device());
  Array made;
  {
    const DefaultDeviceScope scope(device(1));
    EXPECT_EQ(&default_device(), &device(1));
    EXPECT_EQ(&device_of(f(x)), &device(1));
    EXPECT_EQ(&device_of(x * x), &device(1));
    made = numpy::ones({2});
    EXPECT_EQ(&device_of(made), &device(1));
    EXPECT_FALSE(is_committed(made));
    EXPECT_EQ(Mesh({{"x", 2}}).devices()[1], &device(1));
  }
  EXPECT_EQ(&device_of(f(x)), &host_device());
  EXPECT_EQ(&device_of(made + x), &host_device());  // not committed
}

TEST(SecondEngine, TransformationsOfArraysOnADevice) {
  const Array x = on(1, {1, 2, 3});
  const auto f = [](const Array& a) { return numpy::sum(a * a * a); };
  const Array slope = grad(f)(x);
  EXPECT_EQ(&device_of(slope), &device(1));
  EXPECT_THAT(slope.values<float>(), ElementsAre(3, 12, 27));
  EXPECT_THAT(vmap([](const Array& a) { return a * a; })(x).values<float>(), ElementsAre(1, 4, 9));
  // A device array that a function closes over becomes a constant.
  const auto g = jit([&](const Array& a) { return a + x; });
  EXPECT_THAT(g(Array::of<float>({1, 1, 1})).values<float>(), ElementsAre(2, 3, 4));
}

TEST(SecondEngine, CallbacksAndForeignCallsGetTheValues) {
  const Array x = on(0, {1, 2});
  const auto twice = [](std::span<const Array> inputs) {
    return std::vector<Array>{
        Array::of<float>({inputs[0].values<float>()[0] * 2, inputs[0].values<float>()[1] * 2})};
  };
  const ShapeDtype type = x.type();
  const Array y = pure_callback(twice, {type}, {x})[0];
  EXPECT_EQ(&device_of(y), &device(0));
  EXPECT_THAT(y.values<float>(), ElementsAre(2, 4));
}

TEST(SecondEngine, ValuesAreCopiedToTheHostOnce) {
  const Array x = on(0, {1, 2});
  const int64_t before = testing::transfers().to_host;
  EXPECT_THAT(x.values<float>(), ElementsAre(1, 2));
  EXPECT_THAT(x.values<float>(), ElementsAre(1, 2));
  EXPECT_EQ(testing::transfers().to_host, before + 1);
  // A program on the array's device copies nothing.
  const int64_t sent = testing::transfers().to_device;
  EXPECT_EQ(&device_of(x * x), &device(0));
  EXPECT_EQ(testing::transfers().to_device, sent);
}

TEST(SecondEngine, UnwantedTransfersAreRefused) {
  constexpr auto kToHost = static_cast<size_t>(Transfer::kDeviceToHost);
  const Array x = on(0, {1, 2});
  const TransferCount before = transfer_counts()[kToHost];
  const int guard = set_transfer_guard_of_thread(Transfer::kDeviceToHost,
                                                 static_cast<int>(TransferGuard::kDisallow));
  EXPECT_THROW(x.values<float>(), Error);
  EXPECT_EQ(transfer_counts()[kToHost].transfers, before.transfers);
  {
    const ExplicitTransfers by_request;
    EXPECT_THAT(x.values<float>(), ElementsAre(1, 2));
  }
  EXPECT_EQ(set_transfer_guard_of_thread(Transfer::kDeviceToHost, guard),
            static_cast<int>(TransferGuard::kDisallow));
  EXPECT_EQ(transfer_counts()[kToHost].transfers, before.transfers + 1);
  EXPECT_EQ(transfer_counts()[kToHost].bytes, before.bytes + 8);
}

TEST(SecondEngine, ResultsMayComeLater) {
  const Array x = on(0, {1, 2});
  testing::hold_results();
  const Array y = x + x;
  EXPECT_FALSE(is_ready(y));
  testing::release_results();
  block_until_ready(y);
  EXPECT_TRUE(is_ready(y));
  EXPECT_THAT(y.values<float>(), ElementsAre(2, 4));
  EXPECT_TRUE(is_ready(Array::of<float>({1})));
}

TEST(SecondEngine, AnArrayThatWasGivenAwaySaysSo) {
  const Array x = on(0, {1, 2});
  discard(x);
  EXPECT_TRUE(x.is_deleted());
  EXPECT_FALSE(x.is_concrete());
  EXPECT_THROW(x.values<float>(), Error);
  EXPECT_THROW(x + x, Error);
}

}  // namespace
}  // namespace farcall
