// The run loop, and the engine object.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/core/message.h>
#include <farcall/core/type_text.h>
#include <farcall/program/donation.h>
#include <farcall/program/engine.h>
#include <farcall/program/profile.h>
#include <farcall/program/walk.h>

#include "engine/native/devices.h"
#include "engine/native/engine.h"
#include "engine/native/form_clusters.h"
#include "engine/native/pipeline.h"
#include "engine/native/plan.h"
#include "engine/native/plan/facts.h"
#include "engine/native/state.h"

namespace farcall::native {
namespace {

class NativeExecutable final : public Executable {
 public:
  // `unfused`: the program of the plan before clusters were formed.
  NativeExecutable(const Device& device, ProgramPtr program, ProgramPtr unfused,
                   std::unique_ptr<const Plan> plan)
      : Executable(device, std::move(program), runs_briefly(*plan)),
        unfused_(std::move(unfused)),
        plan_(std::move(plan)),
        overwrites_(std::ranges::find(plan_->overwrites, true) != plan_->overwrites.end()),
        runs_in_place_(device.is_host() && !overwrites_ && !this->program().holds_callback &&
                       has_own_outputs(*plan_)),
        pool_(*plan_) {}

  const std::vector<bool>& overwrites() const override { return plan_->overwrites; }
  const NamedSharding* input_sharding(size_t i) const override {
    return sharding_in(plan_->input_shardings, i);
  }
  const NamedSharding* output_sharding(size_t i) const override {
    return sharding_in(plan_->output_shardings, i);
  }
  std::vector<ForeignCallReport> report() const override {
    std::vector<ForeignCallReport> reports;
    for (const PlannedCall& planned : plan_->reports) {
      reports.push_back(planned.report);
      reports.back().scratch_bytes = planned.call->scratch_peak();
    }
    for_each_nested(*plan_, [&](const Executable& nested) {
      for (ForeignCallReport& report : nested.report()) reports.push_back(std::move(report));
    });
    return reports;
  }

  Fusion fusion() const override {
    // If fusion is off, the plan has no clusters to report.
    Fusion fusion = is_fusion_on() ? explain_clusters(*unfused_) : Fusion();
    fusion.coded_operations = coded_operations(*plan_);
    for_each_nested(*plan_, [&](const Executable& nested) { fusion += nested.fusion(); });
    return fusion;
  }

  ProgramPtr optimized_program() const override {
    return is_fusion_on() ? form_clusters(unfused_) : unfused_;
  }

  std::vector<LoopReport> loops() const override {
    std::vector<LoopReport> loops;
    add_loops(*plan_, loops);
    for_each_nested(*plan_, [&](const Executable& nested) {
      for (LoopReport& loop : nested.loops()) loops.push_back(std::move(loop));
    });
    return loops;
  }

  MemoryUse memory() const override {
    MemoryUse use;
    for (const ShapeDtype& type : input_types()) use.argument_bytes += type.nbytes();
    for (const PlannedOutput& output : plan_->outputs) {
      use.output_bytes += output.nbytes;
      const bool is_input = output.allocation.kind == Allocation::Kind::kInput;
      if (is_input && plan_->overwrites[output.allocation.index]) use.alias_bytes += output.nbytes;
    }
    add_memory(*plan_, use);
    return use;
  }

  void for_each_program(const std::function<void(const ProgramPtr&)>& visit) const override {
    visit(program_ptr());
    visit(unfused_);
    visit_programs(*plan_, visit);
    for_each_nested(*plan_, [&](const Executable& nested) { nested.for_each_program(visit); });
  }

  void execute(std::span<const Storage* const> inputs, std::span<Storage> outputs,
               const ExecutionOptions& options) const override {
    return device().is_host() ? execute_on_host(inputs, outputs, options)
                              : execute_elsewhere(inputs, outputs, options);
  }

  bool runs_in_place() const override { return runs_in_place_; }
  void execute_in_place(std::span<const void* const> inputs, std::span<void* const> results,
                        const ExecutionOptions& options) const override {
    const StatePool::Lease state = pool_.take();
    run(*state, options, [&] {
      state->set_memory_is_borrowed();
      set_pointers(*state, [&](Allocation allocation) {
        return allocation.kind == Allocation::Kind::kInput
                   ? const_cast<void*>(inputs[allocation.index])
                   : results[allocation.index];
      });
    });
  }

 private:
  // On the memory of another device than the host. Not inlined, so that runs on the host save no
  // registers for it.
  [[gnu::noinline]] void execute_elsewhere(std::span<const Storage* const> inputs,
                                           std::span<Storage> outputs,
                                           const ExecutionOptions& options) const {
    // Inputs that the run overwrites are copied here unless they are donated: the bytes alone do
    // not show whether an input is donated.
    const std::vector<bool> consumed = consumed_inputs(*this, inputs);
    std::vector<Storage> copies;
    std::vector<const Storage*> bytes;
    copies.reserve(inputs.size());  // addresses must stay
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Storage& own = LocalDevice::bytes_of(*inputs[i]);
      const bool is_copied = overwrites_ && plan_->overwrites[i] && !consumed[i];
      bytes.push_back(is_copied ? &copies.emplace_back(own.copy()) : &own);
    }
    execute_on_host(bytes, outputs, options);
    move_to_device(outputs);
  }

  void execute_on_host(std::span<const Storage* const> inputs, std::span<Storage> outputs,
                       const ExecutionOptions& options) const {
    const StatePool::Lease state = pool_.take();
    std::vector<const Storage*> own;
    try {
      run(*state, options, [&] {
        if (overwrites_) inputs = with_own_copies(*state, inputs, own);
        make_outputs(inputs, outputs);
        state->set_memory_of_run(inputs, outputs);
        set_pointers(*state, [&](Allocation allocation) {
          const bool is_input = allocation.kind == Allocation::Kind::kInput;
          return (is_input ? *inputs[allocation.index] : outputs[allocation.index]).data();
        });
      });
    } catch (...) {
      for (Storage& output : outputs) output = Storage();
      throw;
    }
  }

  // One run of a state. `set_memory` sets the pointers of this run.
  template <class SetMemory>
  void run(State& state, const ExecutionOptions& options, const SetMemory& set_memory) const {
    state.options.run_id = state.run_id_base + ++state.num_runs;
    const Profiling profiling(*this, state);
    state.lease_arenas();
    set_memory();
    if (is_default(options) && !plan_->has_execution_stages) [[likely]]
      return state.run();
    const Binding binding(state, options);
    if (plan_->has_execution_stages) {
      state.for_each_invocation([](Invocation& invocation) { invocation.prepare(); });
      state.for_each_invocation([](Invocation& invocation) { invocation.initialize(); });
    }
    state.run();
  }

  static const NamedSharding* sharding_in(const Shardings& all, size_t i) {
    return i < all.size() && all[i] ? &*all[i] : nullptr;
  }

  // Reports the run to the profile, if one is being recorded.
  class Profiling {
   public:
    Profiling(const NativeExecutable& executable, State& state) {
      if (is_profiling()) [[unlikely]]
        begin(executable, state);
    }
    ~Profiling() {
      if (state_) [[unlikely]]
        state_->end_profile();
    }
    Profiling(const Profiling&) = delete;
    Profiling& operator=(const Profiling&) = delete;

   private:
    void begin(const NativeExecutable& executable, State& state) {
      run_ = std::make_unique<detail::ProfiledRun>(executable.device(), executable.program_ptr());
      state_ = &state;
      state.begin_profile(*run_);
    }

    std::unique_ptr<detail::ProfiledRun> run_;
    State* state_ = nullptr;
  };

  static bool is_default(const ExecutionOptions& options) {
    return options.run_id == 0 && options.device_ordinal == 0 && !options.thread_pool &&
           !options.stream && options.user_data.empty() && !options.custom_options &&
           !options.extensions;
  }

  // Passes options to the calls of one execution. The state's default options are bound
  // permanently; other options, and the states that the execution stages create, live as long as
  // this object.
  class Binding {
   public:
    Binding(State& state, const ExecutionOptions& options) : state_(state) {
      if (is_default(options)) return;
      given_ = options;
      given_->keeper = &state;
      // All calls of an execution have the same id.
      if (given_->run_id == 0) given_->run_id = state.options.run_id;
      state.for_each_invocation([&](Invocation& invocation) { invocation.begin(*given_); });
    }
    ~Binding() {
      state_.for_each_invocation([&](Invocation& invocation) { invocation.begin(state_.options); });
    }
    Binding(const Binding&) = delete;
    Binding& operator=(const Binding&) = delete;

   private:
    State& state_;
    std::optional<ExecutionOptions> given_;
  };

  void make_outputs(std::span<const Storage* const> inputs, std::span<Storage> outputs) const {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const PlannedOutput& planned = plan_->outputs[i];
      switch (planned.allocation.kind) {
        case Allocation::Kind::kInput: {
          // The owner of adopted memory may change it later, so results must not share it.
          const Storage& input = *inputs[planned.allocation.index];
          outputs[i] = input.is_owned() ? input : input.copy();
          break;
        }
        case Allocation::Kind::kConstant:
          outputs[i] = plan_->constants[planned.allocation.index];
          break;
        default:
          if (planned.allocation.index != i) {
            outputs[i] = outputs[planned.allocation.index];
          } else if (!outputs[i]) {
            outputs[i] = Storage::allocate(planned.nbytes);
          }
      }
    }
  }

  // Moves the results of the run to the device. Results that share memory continue to share it.
  void move_to_device(std::span<Storage> outputs) const {
    const auto& device = static_cast<const LocalDevice&>(this->device());
    const auto is_again = [&](size_t i) {
      const Allocation allocation = plan_->outputs[i].allocation;
      return allocation.kind == Allocation::Kind::kOutput && allocation.index != i;
    };
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (is_again(i)) outputs[i] = Storage();
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = is_again(i) ? outputs[plan_->outputs[i].allocation.index]
                               : device.own(std::move(outputs[i]));
    }
  }

  // `data_of` returns the memory of an input or an output.
  template <class DataOf>
  void set_pointers(State& state, const DataOf& data_of) const {
    for (size_t i = 0; i < state.run_slots.size(); ++i) {
      const PointerUse& use = plan_->run_pointers[i];
      const bool is_input = use.allocation.kind == Allocation::Kind::kInput;
      void* data = static_cast<std::byte*>(data_of(use.allocation)) + use.allocation.offset;
      // Handlers rely on alignment, which adopted memory may not have.
      if (use.needs_alignment && is_input && !is_aligned(data)) [[unlikely]]
        data = aligned(state, data, input_types()[use.allocation.index].nbytes());
      *state.run_slots[i] = data;
    }
  }

  static void* aligned(State& state, const void* input, size_t nbytes) {
    return state.private_inputs.emplace_back(Storage::copy_of(input, nbytes)).data();
  }

  // A donated input is overwritten only if nothing else holds its memory; otherwise it is copied.
  std::span<const Storage* const> with_own_copies(State& state,
                                                  std::span<const Storage* const> inputs,
                                                  std::vector<const Storage*>& own) const {
    own.assign(inputs.begin(), inputs.end());
    state.private_inputs.reserve(2 * inputs.size());  // addresses must stay
    const std::vector<bool> consumed = consumed_inputs(*this, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (plan_->overwrites[i] && !consumed[i]) {
        own[i] = &state.private_inputs.emplace_back(inputs[i]->copy());
      }
    }
    return own;
  }

  ProgramPtr unfused_;
  std::unique_ptr<const Plan> plan_;
  bool overwrites_;
  bool runs_in_place_;
  mutable StatePool pool_;
};

void log_compiled(const Program& program, double seconds) {
  send_message(
      MessageKind::kLog,
      fmt::format("Compiled {} for ({}) -> ({}), {} equations, in {:.6f} s",
                  program.name.empty() ? "a program" : program.name,
                  types_to_string(program.input_types()), types_to_string(program.output_types()),
                  program.equations.size(), seconds));
}

class NativeEngine final : public Engine {
 public:
  std::string_view name() const override { return "native"; }
  std::string_view description() const override {
    return "kernels and foreign calls on the host, on the calling thread; large products on more";
  }
  std::string why_unavailable() const override { return {}; }
  std::span<const Device* const> devices() const override { return devices_.all(); }
  void share_devices(Processes& processes) const { devices_.share(processes); }
  std::shared_ptr<const Executable> compile(ProgramPtr program,
                                            const CompileOptions& options) const override {
    check_expansion(*program, "compile");
    if (!is_on(Flag::kLogCompiles)) return plan_and_make(std::move(program), options);
    const auto begin = std::chrono::steady_clock::now();
    auto made = plan_and_make(program, options);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    log_compiled(*program, seconds.count());
    return made;
  }

 private:
  std::vector<Storage> evaluate_known(const ProgramPtr& program) const {
    std::vector<Storage> results(program->outputs.size());
    NativeExecutable(devices_.host(), program, program, make_plan(program, {}))
        .execute({}, results, {});
    return results;
  }
  std::shared_ptr<const Executable> plan_and_make(ProgramPtr program,
                                                  const CompileOptions& options) const {
    const ProfileScope profiled("compile", program->name);
    Passed passed =
        run_passes(program, [this](const ProgramPtr& known) { return evaluate_known(known); });
    PlanOptions plan{.donated_inputs = options.donated_inputs};
    plan.in_place = donation_pairs(*passed.program, options.donated_inputs);
    const Device& device = options.device ? *options.device : devices_.host();
    return std::make_shared<NativeExecutable>(
        device, std::move(program), std::move(passed.unfused),
        make_plan(std::move(passed.program), std::move(plan)));
  }

  Devices devices_{*this};
};

const NativeEngine& native_engine() {
  static const auto* engine = new NativeEngine;
  return *engine;
}

const bool kSharesDevices = [] {
  farcall::detail::add_device_sharing(
      [](Processes& processes) { native_engine().share_devices(processes); });
  return true;
}();

}  // namespace

const Engine& engine() { return native_engine(); }

}  // namespace farcall::native
