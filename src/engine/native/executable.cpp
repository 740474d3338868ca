// The run loop, and the engine object.
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/engine.h>

#include "engine/native/passes.h"
#include "engine/native/plan.h"
#include "engine/native/state.h"

namespace farcall::native {
namespace {

class NativeExecutable final : public Executable {
 public:
  NativeExecutable(ProgramPtr program, std::unique_ptr<const Plan> plan)
      : Executable(std::move(program), is_brief(*plan)), plan_(std::move(plan)), pool_(*plan_) {}

  void execute(std::span<const Storage* const> inputs, std::span<Storage> outputs,
               const ExecutionOptions& options) const override {
    std::unique_ptr<State> state = pool_.take();
    try {
      const Given given(*state, options);
      make_outputs(inputs, outputs);
      set_pointers(*state, inputs, outputs);
      state->options.run_id = state->run_id_base + ++state->num_runs;
      run(*state);
    } catch (...) {
      for (Storage& output : outputs) output = Storage();
      end_stages(*state);
      pool_.give_back(std::move(state));
      throw;
    }
    pool_.give_back(std::move(state));
  }

 private:
  static bool is_brief(const Plan& plan) {
    constexpr int64_t kBriefBytes = 1 << 14;
    return plan.calls.empty() && plan.instructions.size() <= 16 &&
           plan.program->cost().bytes + plan.program->cost().flops <= kBriefBytes;
  }

  // Binds options that a caller gave for one execution.
  class Given {
   public:
    Given(State& state, const ExecutionOptions& options)
        : state_(is_default(options) ? nullptr : &state) {
      if (!state_) return;
      for (Invocation& invocation : state_->invocations) invocation.begin(options);
    }
    ~Given() {
      if (!state_) return;
      for (Invocation& invocation : state_->invocations) invocation.begin(state_->options);
    }
    Given(const Given&) = delete;
    Given& operator=(const Given&) = delete;

   private:
    static bool is_default(const ExecutionOptions& options) {
      return options.run_id == 0 && options.device_ordinal == 0 && !options.thread_pool &&
             !options.stream && options.user_data.empty() && !options.custom_options &&
             !options.extensions;
    }
    State* state_;
  };

  void make_outputs(std::span<const Storage* const> inputs, std::span<Storage> outputs) const {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const PlannedOutput& planned = plan_->outputs[i];
      switch (planned.place.kind) {
        case Place::Kind::kInput: {
          const Storage& input = *inputs[planned.place.index];
          outputs[i] = input.is_owned() ? input : copy(input);
          break;
        }
        case Place::Kind::kConstant:
          outputs[i] = plan_->constants[planned.place.index];
          break;
        default:
          outputs[i] = planned.place.index == i ? Storage::allocate(planned.nbytes)
                                                : outputs[planned.place.index];
      }
    }
  }

  // Adopted memory may be changed by its owner, which a result must not notice.
  static Storage copy(const Storage& from) {
    Storage to = Storage::allocate(from.nbytes());
    if (from.nbytes() > 0) std::memcpy(to.data(), from.data(), from.nbytes());
    return to;
  }

  void set_pointers(State& state, std::span<const Storage* const> inputs,
                    std::span<const Storage> outputs) const {
    for (const PointerUse& use : plan_->run_pointers) {
      void* const data = use.place.kind == Place::Kind::kInput ? inputs[use.place.index]->data()
                                                               : outputs[use.place.index].data();
      if (use.call == PointerUse::kNoCall) {
        state.operands[use.index] = data;
      } else if (use.is_result) {
        state.invocations[use.call].set_result(use.index, data);
      } else {
        state.invocations[use.call].set_argument(use.index, data);
      }
    }
  }

  void run(State& state) const {
    if (plan_->has_execution_stages) {
      for (Invocation& invocation : state.invocations) invocation.prepare();
      for (Invocation& invocation : state.invocations) invocation.initialize();
    }
    void* const scratch = static_cast<std::byte*>(state.memory.data()) + plan_->arena_bytes;
    for (const Instruction& instruction : plan_->instructions) {
      switch (instruction.kind) {
        case Instruction::Kind::kForeignCall:
          state.invocations[instruction.call].execute();
          break;
        case Instruction::Kind::kKernel:
          instruction.run({&state.operands[instruction.first_operand], scratch, instruction.data});
          break;
      }
    }
    end_stages(state);
  }

  void end_stages(State& state) const noexcept {
    if (!plan_->has_execution_stages) return;
    for (Invocation& invocation : state.invocations) invocation.end();
  }

  std::unique_ptr<const Plan> plan_;
  mutable StatePool pool_;
};

class NativeEngine final : public Engine {
 public:
  std::string_view name() const override { return "native"; }
  std::string_view platform() const override { return "cpu"; }
  std::shared_ptr<const Executable> compile(ProgramPtr program,
                                            const CompileOptions&) const override {
    ProgramPtr live = remove_dead_code(program);
    return std::make_shared<NativeExecutable>(std::move(program), make_plan(std::move(live)));
  }
};

const bool kRegistered = [] {
  static const NativeEngine engine;
  register_engine(engine);
  return true;
}();

}  // namespace
}  // namespace farcall::native
