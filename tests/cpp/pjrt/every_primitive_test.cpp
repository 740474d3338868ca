// Every primitive gives the same results with a plugin as with the native engine.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/program/text.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/placement.h>

#include "engine/kernel_testing.h"
#include "plugin_path.h"
#include "program/examples.h"

namespace farcall {
namespace {

using native::testing::TestArray;

// XLA uses other approximations. Relative, and absolute near 0.
constexpr double kTolerance = 2e-6;

// Small numbers of any dtype; zeros for dtypes without numbers.
Array some_values(ShapeDtype type, std::mt19937& random) {
  Storage storage = Storage::allocate(type.nbytes());
  if (type.nbytes() > 0) std::memset(storage.data(), 0, type.nbytes());
  if (!type.is_token() && !is_key(type.dtype())) {
    const TestArray values = native::testing::random_array(type, random, 3);
    std::memcpy(storage.data(), values.data(), type.nbytes());
  }
  return Array(type, std::move(storage));
}

// A program with only the example's equation, which returns its results.
ProgramPtr program_of(const testing::ExampleEquation& example) {
  const ProgramPtr parsed =
      parse_program("{ lambda ; " + example.inputs + ". let " + example.equation + " in () }");
  const Equation& only = parsed->equations.at(0);
  ProgramBuilder builder;
  std::vector<Atom> inputs, operands, outputs;
  for (const ShapeDtype& type : parsed->input_types()) {
    inputs.push_back(Atom::variable(builder.add_input(type)));
  }
  for (const Atom input : only.inputs) {
    const auto place = std::ranges::find(parsed->inputs, input.index) - parsed->inputs.begin();
    operands.push_back(inputs.at(static_cast<size_t>(place)));
  }
  for (const uint32_t output : builder.add_equation(*only.primitive, only.params, operands)) {
    outputs.push_back(Atom::variable(output));
  }
  return builder.build(outputs);
}

struct Outcome {
  std::vector<Array> results;
  std::string error;
};

Outcome outcome_on(const Device& place, const ProgramPtr& program, std::span<const Array> inputs) {
  try {
    return {run(*compile(program, place), inputs), ""};
  } catch (const Error& error) {
    return {{}, error.message()};
  }
}

void expect_close(const Array& got, const Array& expected, double tolerance) {
  ASSERT_EQ(got.type(), expected.type());
  const ShapeDtype type = got.type();
  if (type.is_token() || type.size() == 0) return;
  if (is_key(type.dtype())) {
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), type.nbytes()), 0);
    return;
  }
  TestArray a(type), b(type);
  std::memcpy(a.data(), got.data(), type.nbytes());
  std::memcpy(b.data(), expected.data(), type.nbytes());
  const auto is_same = [&](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y)) ||
           std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y));
  };
  for (int64_t i = 0; i < type.size(); ++i) {
    EXPECT_TRUE(is_same(a.get(i).real(), b.get(i).real()) &&
                is_same(a.get(i).imag(), b.get(i).imag()))
        << "element " << i << ": " << a.text(i) << ", expected " << b.text(i);
  }
}

// Calls a handler, which is registered for the CPU, asks for the platform, writes elements twice,
// in no fixed order, or has poles, whose values plugins do not agree on.
bool depends_on_platform(const testing::ExampleEquation& example) {
  constexpr std::string_view kParts[] = {"ffi_call", "platform_index", "= scatter[", "gamma a",
                                         "zeta a"};
  return std::ranges::any_of(kParts, [&](std::string_view part) {
    return example.equation.find(part) != std::string::npos;
  });
}

TEST(Pjrt, EveryPrimitiveGivesWhatTheNativeEngineGives) {
  if (!*kPluginPath) GTEST_SKIP() << "the package lammps-jax-pjrt-cpu is not installed";
  setenv("FARCALL_PJRT_PLUGIN", kPluginPath, 0);  // another one, such as a GPU's, may be named
  const Device& device = *find_engine("pjrt").devices()[0];
  std::mt19937 random(1);
  size_t num_run = 0;
  for (const auto& example : testing::example_equations()) {
    SCOPED_TRACE(example.equation);
    if (device.description().platform != "cpu" && depends_on_platform(example)) continue;
    const ProgramPtr program = program_of(example);
    std::vector<Array> values;
    for (const ShapeDtype& type : program->input_types()) {
      values.push_back(some_values(type, random));
    }
    const Outcome expected = outcome_on(host_device(), program, values);
    const Outcome got = outcome_on(device, program, values);
    EXPECT_EQ(got.error, expected.error);
    ASSERT_EQ(got.results.size(), expected.results.size());
    for (size_t i = 0; i < got.results.size(); ++i) {
      EXPECT_EQ(&device_of(got.results[i]), &device);
      expect_close(got.results[i], expected.results[i], kTolerance);
    }
    num_run += expected.error.empty();
  }
  EXPECT_GT(num_run, 150);
}

}  // namespace
}  // namespace farcall
