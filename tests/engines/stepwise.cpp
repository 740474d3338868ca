#include "stepwise.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include <farcall/core/error.h>

namespace farcall::testing {
namespace {

std::atomic<int64_t> num_to_device{0}, num_to_host{0};
std::atomic<bool> has_failed{false};  // the programs whose results are awaited

// Results wait here while they are held.
class Gate {
 public:
  void close() {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
  }
  void open() {
    {
      const std::lock_guard lock(mutex_);
      is_open_ = true;
    }
    changed_.notify_all();
  }
  bool is_open() {
    const std::lock_guard lock(mutex_);
    return is_open_;
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
} gate;

Storage copy_of(const Storage& from) {
  Storage to = Storage::allocate(from.nbytes());
  if (from.nbytes() > 0) std::memcpy(to.data(), from.data(), from.nbytes());
  return to;
}

class Memory final : public DeviceBuffer {
 public:
  Memory(const Device& device, Storage bytes) : device_(device), bytes_(std::move(bytes)) {}
  const Device& device() const override { return device_; }
  bool is_ready() const override { return gate.is_open(); }
  void wait() const override {
    gate.wait();
    if (has_failed) throw Error(ErrorCode::kInternal, "stepwise: the program has failed");
  }
  Storage to_host() const override {
    wait();
    ++num_to_host;
    return copy_of(bytes_);
  }
  void* address() const override {
    wait();
    return bytes_.data();
  }
  const Storage& bytes() const { return bytes_; }

 private:
  const Device& device_;
  Storage bytes_;
};

Storage on_device(const Device& device, Storage bytes) {
  const size_t nbytes = bytes.nbytes();
  return Storage::adopt(std::make_unique<Memory>(device, std::move(bytes)), nbytes);
}

class StepwiseDevice final : public Device {
 public:
  StepwiseDevice(const Engine& engine, int id)
      : Device(engine, {.platform = "stepwise", .kind = "pretended memory", .id = id}) {}
  Storage allocate(ShapeDtype type) const override {
    return on_device(*this, Storage::allocate(type.nbytes()));
  }
  Storage from_host(ShapeDtype, const Storage& host) const override {
    ++num_to_device;
    return on_device(*this, copy_of(host));
  }
  std::optional<DLDevice> dlpack_device() const override {
    return DLDevice{kDLROCM, description().id};
  }
};

// One equation as a program of its own, compiled for the host.
struct Step {
  std::shared_ptr<const Executable> executable;
  const Equation* equation;
};

class StepwiseExecutable final : public Executable {
 public:
  StepwiseExecutable(const Device& device, ProgramPtr program)
      : Executable(device, std::move(program), false), overwrites_(input_types().size(), false) {
    for (const Equation& equation : this->program().equations) {
      ProgramBuilder builder;
      std::vector<Atom> operands, outputs;
      for (const Atom input : equation.inputs) {
        operands.push_back(Atom::variable(builder.add_input(this->program().type_of(input))));
      }
      for (const uint32_t output :
           builder.add_equation(*equation.primitive, equation.params, operands, equation.where)) {
        outputs.push_back(Atom::variable(output));
      }
      steps_.push_back({compile(builder.build(outputs), host_device()), &equation});
    }
  }

  const std::vector<bool>& overwrites() const override { return overwrites_; }
  std::vector<ForeignCallReport> report() const override {
    std::vector<ForeignCallReport> all;
    for (const Step& step : steps_) {
      for (ForeignCallReport& report : step.executable->report()) all.push_back(std::move(report));
    }
    return all;
  }
  MemoryUse memory() const override { return {}; }
  void for_each_program(const std::function<void(const ProgramPtr&)>& visit) const override {
    visit(program_ptr());
    for (const Step& step : steps_) step.executable->for_each_program(visit);
  }

  void execute(std::span<const Storage* const> inputs, std::span<Storage> outputs,
               const ExecutionOptions& options) const override {
    const Program& p = program();
    std::vector<Storage> values(p.variable_types.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (&device_of(*inputs[i]) != &device()) {
        throw Error(ErrorCode::kInternal, "an input of a program lies on another device");
      }
      values[p.inputs[i]] = static_cast<const Memory*>(inputs[i]->buffer())->bytes();
    }
    for (const Constant& constant : p.constants) values[constant.variable] = constant.storage;
    for (const Step& step : steps_) {
      std::vector<Storage> operands;
      for (const Atom input : step.equation->inputs) operands.push_back(value_of(input, values));
      std::vector<const Storage*> pointers;
      for (const Storage& operand : operands) pointers.push_back(&operand);
      std::vector<Storage> results(step.equation->outputs.size());
      step.executable->execute(pointers, results, options);
      for (size_t i = 0; i < results.size(); ++i) {
        values[step.equation->outputs[i]] = std::move(results[i]);
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = on_device(device(), value_of(p.outputs[i], values));
    }
  }

 private:
  Storage value_of(Atom atom, const std::vector<Storage>& values) const {
    if (atom.is_variable()) return values[atom.index];
    const Literal& literal = program().literals[atom.index];
    Storage storage = Storage::allocate(literal.type.nbytes());
    std::memcpy(storage.data(), literal.bytes.data(), literal.type.nbytes());
    return storage;
  }

  std::vector<bool> overwrites_;
  std::vector<Step> steps_;
};

class StepwiseEngine final : public Engine {
 public:
  std::string_view name() const override { return "stepwise"; }
  std::string_view description() const override { return "equation by equation, for tests"; }
  std::string why_unavailable() const override { return {}; }
  std::span<const Device* const> devices() const override { return devices_; }
  std::shared_ptr<const Executable> compile(ProgramPtr program,
                                            const CompileOptions& options) const override {
    const Device& device = options.device ? *options.device : first_;
    return std::make_shared<StepwiseExecutable>(device, std::move(program));
  }

 private:
  StepwiseDevice first_{*this, 0}, second_{*this, 1};
  std::array<const Device*, 2> devices_ = {&first_, &second_};
};

}  // namespace

const Engine& stepwise_engine() {
  static const Engine& engine = [&]() -> const Engine& {
    static const auto* made = new StepwiseEngine;
    add_engine(*made);
    return *made;
  }();
  return engine;
}

Transfers transfers() { return {num_to_device, num_to_host}; }

void hold_results() { gate.close(); }
void release_results() { gate.open(); }
void fail_results(bool fails) { has_failed = fails; }

}  // namespace farcall::testing

// For Python, which loads this file as a library.
extern "C" {
__attribute__((visibility("default"))) void stepwise_add() { farcall::testing::stepwise_engine(); }
__attribute__((visibility("default"))) int64_t stepwise_to_device() {
  return farcall::testing::transfers().to_device;
}
__attribute__((visibility("default"))) int64_t stepwise_to_host() {
  return farcall::testing::transfers().to_host;
}
__attribute__((visibility("default"))) void stepwise_fail(int fails) {
  farcall::testing::fail_results(fails != 0);
}
__attribute__((visibility("default"))) void stepwise_hold() { farcall::testing::hold_results(); }
__attribute__((visibility("default"))) void stepwise_release() {
  farcall::testing::release_results();
}
}
