// What a foreign call costs: the handler itself with a frame that is ready, and the same call on
// each way that farcall has to it. The handlers decode their frame and do nothing; arrays are
// f32[4].
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <farcall/farcall.h>
#include <farcall/ffi.h>

#include "ready_frame.h"

FARCALL_DECLARE_HANDLER(noop_1);
FARCALL_DECLARE_HANDLER(noop_4);
FARCALL_DECLARE_HANDLER(noop_16);
FARCALL_DECLARE_HANDLER(noop_64);

namespace {

using farcall::Array;
using farcall::ShapeDtype;
using farcall::Storage;

constexpr int kChain = 100;
const ShapeDtype kType(farcall::DType::kFloat32, {4});

FARCALL_FFI_Handler* handler_of(int64_t num_args) {
  return num_args == 1 ? noop_1 : num_args == 4 ? noop_4 : num_args == 16 ? noop_16 : noop_64;
}

std::string register_noop(int64_t num_args) {
  std::string name = "noop_" + std::to_string(num_args);
  farcall::register_ffi_target(name, handler_of(num_args));
  return name;
}

Array values() { return Array::of<float>({1, 2, 3, 4}); }

// Time for each of the `count` foreign calls of one iteration.
void report_per_call(benchmark::State& state, int count) {
  state.counters["per_call"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * count,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// ---- the handler and its frame ----

void bare_frame(benchmark::State& state) {
  ReadyFrame frame(static_cast<int>(state.range(0)));
  FARCALL_FFI_Handler* handler = handler_of(state.range(0));
  benchmark::DoNotOptimize(handler);
  for (auto _ : state) benchmark::DoNotOptimize(handler(frame.get()));
}
BENCHMARK(bare_frame)->Arg(1)->Arg(4)->Arg(16)->Arg(64);

// A frame for each call, as in a program of many calls.
void bare_frame_chain(benchmark::State& state) {
  std::vector<std::unique_ptr<ReadyFrame>> frames;
  for (int i = 0; i < kChain; ++i) frames.push_back(std::make_unique<ReadyFrame>(1));
  FARCALL_FFI_Handler* handler = noop_1;
  benchmark::DoNotOptimize(handler);
  for (auto _ : state) {
    for (const auto& frame : frames) benchmark::DoNotOptimize(handler(frame->get()));
  }
  report_per_call(state, kChain);
}
BENCHMARK(bare_frame_chain);

// ---- farcall's frame ----

farcall::ForeignCallSpec spec_of(int64_t num_args) {
  farcall::ForeignCallSpec spec;
  spec.target = farcall::find_target(register_noop(num_args));
  spec.arguments.assign(static_cast<size_t>(num_args), kType);
  spec.results = {kType};
  return spec;
}

void invocation(benchmark::State& state) {
  const farcall::ForeignCall call(spec_of(state.range(0)));
  farcall::Invocation invocation(call);
  const Storage memory = Storage::allocate(16);
  for (size_t i = 0; i < invocation.num_arguments(); ++i) invocation.set_argument(i, memory.data());
  invocation.set_result(0, memory.data());
  for (auto _ : state) invocation.execute();
}
BENCHMARK(invocation)->Arg(1)->Arg(4)->Arg(16)->Arg(64);

void invocation_chain(benchmark::State& state) {
  const farcall::ForeignCall call(spec_of(1));
  const Storage memory = Storage::allocate(16);
  std::vector<farcall::Invocation> invocations;
  for (int i = 0; i < kChain; ++i) {
    farcall::Invocation& invocation = invocations.emplace_back(call);
    invocation.set_argument(0, memory.data());
    invocation.set_result(0, memory.data());
  }
  for (auto _ : state) {
    for (farcall::Invocation& invocation : invocations) invocation.execute();
  }
  report_per_call(state, kChain);
}
BENCHMARK(invocation_chain);

// All pointers set anew.
void invocation_with_pointers(benchmark::State& state) {
  const farcall::ForeignCall call(spec_of(state.range(0)));
  farcall::Invocation invocation(call);
  const Storage memory = Storage::allocate(16);
  for (auto _ : state) {
    void* const data = memory.data();
    for (size_t i = 0; i < invocation.num_arguments(); ++i) invocation.set_argument(i, data);
    invocation.set_result(0, data);
    invocation.execute();
  }
}
BENCHMARK(invocation_with_pointers)->Arg(1)->Arg(4)->Arg(16)->Arg(64);

// ---- compiled programs ----

std::vector<Array> call_chain(std::span<const Array> inputs, int count) {
  const farcall::FfiCall call("noop_" + std::to_string(inputs.size()), {kType});
  std::vector<Array> operands(inputs.begin(), inputs.end());
  for (int i = 0; i < count; ++i) operands[0] = call(operands)[0];
  return {operands[0]};
}

std::shared_ptr<const farcall::Executable> compile_chain(int64_t num_args, int count) {
  register_noop(num_args);
  const std::vector<ShapeDtype> types(static_cast<size_t>(num_args), kType);
  const farcall::ProgramPtr program = farcall::record(
      [count](std::span<const Array> inputs) { return call_chain(inputs, count); }, types);
  return farcall::compile(program, farcall::host_device());
}

void execute(benchmark::State& state, const farcall::Executable& executable) {
  const Array x = values();
  const std::vector<const Storage*> inputs(executable.input_types().size(), &x.storage());
  const farcall::ExecutionOptions options;
  for (auto _ : state) {
    Storage output;
    executable.execute(inputs, {&output, 1}, options);
    benchmark::DoNotOptimize(output.data());
  }
}

// What a program pays besides for the memory of its result.
void allocate_result(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Storage::allocate(16).data());
}
BENCHMARK(allocate_result);

void program_of_one(benchmark::State& state) { execute(state, *compile_chain(state.range(0), 1)); }
BENCHMARK(program_of_one)->Arg(1)->Arg(4)->Arg(16)->Arg(64);

void program_of_chain(benchmark::State& state) {
  execute(state, *compile_chain(1, kChain));
  report_per_call(state, kChain);
}
BENCHMARK(program_of_chain);

// Several threads in one executable, which takes no lock.
void program_of_one_shared(benchmark::State& state) {
  static const std::shared_ptr<const farcall::Executable> executable = compile_chain(1, 1);
  execute(state, *executable);
}
BENCHMARK(program_of_one_shared)->Threads(1)->Threads(2)->Threads(8);

// ---- the C++ front ----

void jit_call(benchmark::State& state) {
  register_noop(1);
  const auto compiled =
      farcall::jit([](const Array& x) { return call_chain(std::span(&x, 1), 1)[0]; });
  const Array x = values();
  for (auto _ : state) benchmark::DoNotOptimize(compiled(x));
}
BENCHMARK(jit_call);

void eager_call(benchmark::State& state) {
  register_noop(1);
  const farcall::FfiCall call("noop_1", {kType});
  const Array x = values();
  for (auto _ : state) benchmark::DoNotOptimize(call({x}));
}
BENCHMARK(eager_call);

// Recording and compiling a program of one call.
void compile_one(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(compile_chain(1, 1));
}
BENCHMARK(compile_one);

}  // namespace

BENCHMARK_MAIN();
