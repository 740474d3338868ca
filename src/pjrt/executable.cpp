#include "pjrt/executable.h"

#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/passes/passes.h>
#include <farcall/program/walk.h>

#include "pjrt/buffer.h"
#include "pjrt/compile_options.h"
#include "pjrt/relay.h"
#include "stablehlo/internal/lower.h"

namespace farcall::pjrt {
namespace {

// Constants up to here stand in the text.
constexpr size_t kInlineBytes = 64;

// A compiled program of the plugin.
class Loaded {
 public:
  Loaded(const PjrtDevice& device, std::string& text) : plugin_(device.client().plugin()) {
    constexpr std::string_view kFormat = "mlir";
    CProgram program{};
    program.struct_size = sizeof(CProgram);
    program.code = text.data();
    program.code_size = text.size();
    program.format = kFormat.data();
    program.format_size = kFormat.size();
    const std::string options = compile_options(device.description().id, device.client().is_cpu());
    ClientCompile args{};
    args.client = device.client().handle();
    args.program = &program;
    args.options = options.data();
    args.options_size = options.size();
    plugin_.call(args);
    executable_ = args.executable;
  }
  ~Loaded() {
    LoadedExecutableDestroy args{};
    args.executable = executable_;
    plugin_.call_quietly(args);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  // Waits for the end where `waits`. The results are new buffers.
  std::vector<CBuffer*> execute(std::span<CBuffer* const> arguments, size_t num_results,
                                bool waits) const {
    std::vector<CBuffer*> results(num_results);
    CBuffer* const* const lists[] = {arguments.data()};
    CBuffer** const output_lists[] = {results.data()};
    CEvent* events[1] = {};
    CExecuteOptions options{};
    options.struct_size = sizeof(CExecuteOptions);
    LoadedExecutableExecute args{};
    args.executable = executable_;
    args.options = &options;
    args.argument_lists = lists;
    args.num_devices = 1;
    args.num_args = arguments.size();
    args.output_lists = output_lists;
    if (waits) args.device_complete_events = events;
    plugin_.call(args);
    if (waits) {
      try {
        plugin_.await(events[0]);
      } catch (...) {
        for (CBuffer* result : results) BufferHandle(plugin_, result);
        throw;
      }
    }
    return results;
  }

  size_t temp_bytes() const {
    if (!plugin_.has<ExecutableGetCompiledMemoryStats>()) return 0;
    LoadedExecutableGetExecutable get{};
    get.loaded = executable_;
    plugin_.call(get);
    ExecutableGetCompiledMemoryStats stats{};
    stats.executable = get.executable;
    plugin_.call_quietly(stats);
    ExecutableDestroy destroy{};
    destroy.executable = get.executable;
    plugin_.call_quietly(destroy);
    return stats.temp_bytes > 0 ? static_cast<size_t>(stats.temp_bytes) : 0;
  }

 private:
  const Plugin& plugin_;
  CLoadedExecutable* executable_ = nullptr;
};

class PjrtExecutable final : public Executable {
 public:
  PjrtExecutable(const PjrtDevice& device, ProgramPtr program)
      : Executable(device, std::move(program), false),
        device_(device),
        overwrites_(input_types().size(), false) {
    check_expansion(this->program(), "compile");
    ProgramPtr live = inline_calls(program_ptr());
    live = choose_platform(std::move(live), device.description().platform);
    live = remove_dead_code(std::move(live));
    stablehlo::LowerOptions options;
    options.max_inline_bytes = kInlineBytes;
    // Other devices cannot call the host.
    if (device.client().is_cpu()) {
      options.relay = [this](const Program& p, const Equation& equation) {
        relays_.push_back(std::make_unique<const Relay>(p, equation));
        return relays_.back()->id();
      };
    }
    stablehlo::Module module = stablehlo::lower(*live, options);
    takes_run_ = module.takes_run;
    if (takes_run_) register_relay(device.client());
    for (const auto& [type, storage] : module.constants) {
      constants_.push_back(buffer_from_host(device, type, to_host(storage)));
    }
    loaded_ = std::make_unique<const Loaded>(device, module.text);
  }

  const std::vector<bool>& overwrites() const override { return overwrites_; }
  std::vector<ForeignCallReport> report() const override {
    std::vector<ForeignCallReport> all;
    for (const auto& relay : relays_) {
      for (ForeignCallReport& report : relay->executable().report()) {
        all.push_back(std::move(report));
      }
    }
    return all;
  }
  MemoryUse memory() const override {
    MemoryUse use;
    for (const ShapeDtype& type : input_types()) use.argument_bytes += type.nbytes();
    for (const ShapeDtype& type : output_types()) use.output_bytes += type.nbytes();
    use.temp_bytes = loaded_->temp_bytes();
    return use;
  }
  void for_each_program(const std::function<void(const ProgramPtr&)>& visit) const override {
    visit(program_ptr());
    for (const auto& relay : relays_) relay->executable().for_each_program(visit);
  }

  void execute(std::span<const Storage* const> inputs, std::span<Storage> outputs,
               const ExecutionOptions& options) const override {
    std::vector<CBuffer*> arguments;
    for (const Storage* input : inputs) arguments.push_back(buffer_of(*input));
    for (const BufferPtr& constant : constants_) arguments.push_back(constant->get());
    std::vector<CBuffer*> results;
    if (takes_run_) {
      results = execute_with_relays(std::move(arguments), outputs.size(), options);
    } else {
      results = loaded_->execute(arguments, outputs.size(), device_.client().is_cpu());
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      auto handle = std::make_shared<const BufferHandle>(device_.client().plugin(), results[i]);
      outputs[i] = on_device(device_, output_types()[i], std::move(handle));
    }
  }

 private:
  CBuffer* buffer_of(const Storage& input) const {
    FARCALL_ASSERT(&device_of(input) == &device());
    return static_cast<const PjrtBuffer*>(input.buffer())->handle()->get();
  }

  std::vector<CBuffer*> execute_with_relays(std::vector<CBuffer*> arguments, size_t num_results,
                                            const ExecutionOptions& options) const {
    ExecutionOptions of_run = options;
    if (of_run.run_id == 0) of_run.run_id = new_run_id();
    const Run run(of_run);
    const uint64_t number = run.number();
    Storage storage = Storage::allocate(sizeof(number));
    std::memcpy(storage.data(), &number, sizeof(number));
    const BufferPtr buffer = buffer_from_host(device_, ShapeDtype(DType::kUInt64, {}), storage);
    arguments.push_back(buffer->get());
    try {
      return loaded_->execute(arguments, num_results, true);
    } catch (const Error&) {
      run.raise_if_failed();
      throw;
    }
  }

  const PjrtDevice& device_;
  std::vector<bool> overwrites_;
  std::vector<std::unique_ptr<const Relay>> relays_;
  std::vector<BufferPtr> constants_;
  bool takes_run_ = false;
  std::unique_ptr<const Loaded> loaded_;
};

}  // namespace

std::shared_ptr<const Executable> compile_for(const PjrtDevice& device, ProgramPtr program) {
  return std::make_shared<PjrtExecutable>(device, std::move(program));
}

}  // namespace farcall::pjrt
