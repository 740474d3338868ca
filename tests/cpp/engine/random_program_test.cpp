// Random programs give the same bits when compiled as a whole, run one operation at a time, and
// printed, parsed and compiled. These differ in where values lie in memory.
//
// FARCALL_RANDOM_SEED repeats one program; FARCALL_RANDOM_PROGRAMS sets the number of programs.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <farcall/program/text.h>
#include <farcall/program/verify.h>
#include <farcall/trace/interpreter.h>

#include "calls.h"
#include "engine/native/state.h"

namespace farcall::native {
namespace {

using testing::Call;

// Copies argument i, plus one, to result i. Reads all arguments before it writes any result, so any
// aliases are allowed.
const std::string& any_call() {
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    std::vector<std::vector<float>> arguments;
    for (size_t i = 0; i < call.num_arguments(); ++i) {
      arguments.emplace_back(call.in(i), call.in(i) + Call::size(call.argument(i)));
    }
    for (size_t i = 0; i < call.num_results(); ++i) {
      for (size_t k = 0; k < arguments[i].size(); ++k) call.out(i)[k] = arguments[i][k] + 1;
    }
    return nullptr;
  });
  return name;
}

// Generates programs by applying random operations to random earlier values.
class Writer {
 public:
  explicit Writer(uint32_t seed) : random_(seed) {}

  std::vector<ShapeDtype> input_types() {
    std::vector<ShapeDtype> types(1 + pick(3));
    for (ShapeDtype& type : types) type = ShapeDtype(DType::kFloat32, random_shape());
    return types;
  }

  std::vector<Array> write(std::span<const Array> inputs) {
    values_.assign(inputs.begin(), inputs.end());
    if (chance(2)) values_.push_back(closed_over());
    const int steps = 1 + pick(25);
    for (int i = 0; i < steps; ++i) step();
    std::vector<Array> outputs;
    const int num_outputs = 1 + pick(4);
    for (int i = 0; i < num_outputs; ++i) outputs.push_back(any());
    if (chance(2)) outputs.push_back(values_.back());
    return outputs;
  }

  Array random_array(ShapeDtype type) {
    std::vector<float> values(static_cast<size_t>(type.size()));
    for (float& value : values) value = static_cast<float>(pick(17) - 8) / 4;
    return Array::of(std::span<const float>(values), type.shape());
  }

 private:
  int pick(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }
  bool chance(int of) { return pick(of) == 0; }
  const Array& any() {
    // Newer values are more likely, so that chains grow.
    const size_t back = static_cast<size_t>(std::min(pick(4), pick(12)));
    return values_[values_.size() - 1 - std::min(back, values_.size() - 1)];
  }

  Shape random_shape() {
    Shape shape(static_cast<size_t>(pick(4)));
    for (int64_t& size : shape) size = chance(12) ? 0 : 1 + pick(5);
    return shape;
  }

  Array closed_over() { return random_array(ShapeDtype(DType::kFloat32, random_shape())); }

  std::vector<int64_t> permutation(size_t rank) {
    std::vector<int64_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  std::vector<int64_t> some_axes(size_t rank) {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < rank; ++i) {
      if (chance(2)) axes.push_back(static_cast<int64_t>(i));
    }
    return axes;
  }

  // Another array of the same shape, or a scalar.
  Array partner(const Array& x) {
    std::vector<Array> candidates = {Array::scalar(static_cast<float>(pick(5)) / 2)};
    for (const Array& value : values_) {
      if (value.rank() == 0 || std::ranges::equal(value.shape(), x.shape())) {
        candidates.push_back(value);
      }
    }
    return candidates[static_cast<size_t>(pick(static_cast<int>(candidates.size())))];
  }

  void step() {
    const Array x = any();
    switch (pick(5)) {
      case 0:
      case 1:
        return elementwise(x);
      case 2:
        return structural(x);
      case 3:
        return reduction(x);
      default:
        return foreign(x);
    }
  }

  void elementwise(const Array& x) {
    switch (pick(9)) {
      case 0:
        return add(lax::neg(x));
      case 1:
        return add(lax::abs(x));
      case 2:
        return add(lax::add(x, partner(x)));
      case 3:
        return add(lax::sub(partner(x), x));
      case 4:
        return add(lax::mul(x, x));
      case 5:
        return add(lax::max(x, partner(x)));
      case 6: {
        // To bool and back: results of another element size.
        const Array which = lax::lt(x, partner(x));
        const Array cases[] = {x, Array::scalar(0.5f)};
        return add(lax::select_n(which, cases));
      }
      case 7:
        return add(lax::convert_element_type(
            lax::convert_element_type(x, chance(2) ? DType::kFloat64 : DType::kFloat16),
            DType::kFloat32));
      default:
        return add(lax::clamp(Array::scalar(-3.f), x, Array::scalar(3.f)));
    }
  }

  void structural(const Array& x) {
    switch (pick(7)) {
      case 0:
        return add(lax::transpose(x, permutation(x.rank())));
      case 1:
        return add(numpy::ravel(x));
      case 2: {
        Shape shape(x.shape().begin(), x.shape().end());
        shape.insert(shape.begin() + pick(static_cast<int>(shape.size()) + 1), 1);
        return add(lax::reshape(x, shape));
      }
      case 3:
        return add(lax::rev(x, some_axes(x.rank())));
      case 4: {
        if (x.size() > 500) return;
        Shape shape(x.shape().begin(), x.shape().end());
        shape.insert(shape.begin(), 1 + pick(2));
        return add(numpy::broadcast_to(x, shape));
      }
      case 5: {
        std::vector<int64_t> starts, limits, strides;
        for (const int64_t size : x.shape()) {
          starts.push_back(size == 0 ? 0 : pick(static_cast<int>(size)));
          limits.push_back(size - (size > starts.back() ? pick(2) : 0));
          limits.back() = std::max(limits.back(), starts.back());
          strides.push_back(1 + pick(2));
        }
        return add(lax::slice(x, starts, limits, strides));
      }
      default: {
        if (x.rank() == 0 || x.size() > 500) return;
        const Array parts[] = {x, lax::neg(x), x};
        return add(lax::concatenate(parts, pick(static_cast<int>(x.rank()))));
      }
    }
  }

  void reduction(const Array& x) {
    const auto axes = some_axes(x.rank());
    switch (pick(3)) {
      case 0:
        return add(lax::reduce_sum(x, axes));
      case 1:
        if (x.size() == 0) return;  // avoids infinities
        return add(lax::reduce_max(x, axes));
      default:
        if (x.rank() == 0) return;
        return add(numpy::sum(x, axes, /*keepdims=*/true));
    }
  }

  void foreign(const Array& x) {
    const Array y = partner(x);
    FfiCallOptions options;
    const std::vector<Array> operands = {x, y};
    const std::vector<ShapeDtype> results = {x.type().strengthened(), y.type().strengthened()};
    if (chance(2)) options.input_output_aliases[0] = 0;
    if (chance(3)) options.input_output_aliases[1] = 1;
    if (chance(3)) {
      const MajorToMinor first(permutation(x.rank())), second(permutation(y.rank()));
      options.input_layouts = {first, second};
      options.output_layouts = {first, second};
    }
    options.has_side_effect = chance(6);
    const auto outputs = FfiCall(any_call(), results, options)(operands);
    add(outputs[0]);
    if (chance(2)) add(outputs[1]);
  }

  void add(Array value) { values_.push_back(std::move(value)); }

  std::mt19937 random_;
  std::vector<Array> values_;
};

void expect_same(const std::vector<Array>& got, const std::vector<Array>& wanted,
                 const char* which) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].type().strengthened(), wanted[i].type().strengthened()) << which;
    const size_t nbytes = got[i].type().nbytes();
    if (nbytes == 0) continue;
    ASSERT_EQ(std::memcmp(got[i].data(), wanted[i].data(), nbytes), 0)
        << which << ", output " << i << ": " << got[i].to_string() << " instead of "
        << wanted[i].to_string();
  }
}

// Runs a plan whose equations run at the same time where nothing but memory forbids it.
std::vector<Array> run_in_groups(const ProgramPtr& program, const std::vector<Array>& inputs) {
  const auto any = [](const Program&, const Equation& equation) {
    return equation.primitive->kind != PrimitiveKind::kView;
  };
  return tbb::task_arena(4).execute([&] {
    const auto plan =
        make_plan(remove_dead_code(inline_calls(program)), PlanOptions{.runs_long = any});
    State state(*plan);
    std::vector<Storage> outputs;
    for (const PlannedOutput& output : plan->outputs) {
      outputs.push_back(Storage::allocate(output.nbytes));
    }
    const auto memory = [&](Allocation allocation) {
      switch (allocation.kind) {
        case Allocation::Kind::kInput:
          return const_cast<void*>(inputs[allocation.index].data());
        case Allocation::Kind::kConstant:
          return const_cast<void*>(plan->constants[allocation.index].data());
        default:
          return static_cast<void*>(static_cast<std::byte*>(outputs[allocation.index].data()) +
                                    allocation.offset);
      }
    };
    for (size_t i = 0; i < state.run_slots.size(); ++i) {
      *state.run_slots[i] = memory(plan->run_pointers[i].allocation);
    }
    state.run();
    std::vector<Array> results;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ShapeDtype type = program->output_types()[i];
      const auto* values = static_cast<const float*>(memory(plan->outputs[i].allocation));
      results.push_back(
          Array::of(std::span(values, static_cast<size_t>(type.size())), type.shape()));
    }
    return results;
  });
}

void check(uint32_t seed) {
  Writer writer(seed);
  const auto types = writer.input_types();
  const ProgramPtr program =
      record([&](std::span<const Array> x) { return writer.write(x); }, types);
  SCOPED_TRACE("FARCALL_RANDOM_SEED=" + std::to_string(seed) + "\n" + to_text(*program));
  verify(*program);
  const ProgramPtr read = parse_program(to_text(*program));
  ASSERT_TRUE(*read == *program);

  std::vector<Array> inputs, copies;
  for (const ShapeDtype& type : types) {
    inputs.push_back(writer.random_array(type));
    copies.push_back(Array::of(inputs.back().values<float>(), inputs.back().shape()));
  }
  const std::vector<Array> wanted = evaluate(*program, inputs);
  const auto executable = testing::compile(program);
  const std::vector<Array> first = run(*executable, inputs);
  expect_same(first, wanted, "compiled");
  // Detects state kept from a run, and results that share memory with it.
  std::vector<Array> others;
  for (const ShapeDtype& type : types) others.push_back(writer.random_array(type));
  run(*executable, others);
  expect_same(first, wanted, "after another run");
  expect_same(run(*executable, inputs), wanted, "compiled, again");
  expect_same(run(*testing::compile(read), inputs), wanted, "parsed");
  expect_same(run_in_groups(program, inputs), wanted, "in groups");
  expect_same(inputs, copies, "inputs");
}

TEST(RandomPrograms, GiveTheSameBitsHoweverTheyRun) {
  if (const char* seed = std::getenv("FARCALL_RANDOM_SEED")) {
    return check(static_cast<uint32_t>(std::strtoul(seed, nullptr, 10)));
  }
  const char* programs = std::getenv("FARCALL_RANDOM_PROGRAMS");
  const uint32_t count =
      programs ? static_cast<uint32_t>(std::strtoul(programs, nullptr, 10)) : 2000;
  for (uint32_t seed = 1; seed <= count; ++seed) {
    check(seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace farcall::native
