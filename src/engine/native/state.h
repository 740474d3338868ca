// State: what one run of a plan writes. Kept from run to run, so that a run allocates nothing but
// its results; a running call has a state to itself.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include <farcall/core/storage.h>
#include <farcall/ffi/foreign_call.h>
#include <farcall/program/profile.h>

#include "engine/native/plan.h"

namespace farcall::native {

struct State final : MemoryKeeper {
  explicit State(const Plan& plan);
  // Of a region's plan, whose calls see the options of the whole execution.
  State(const Plan& plan, const ExecutionOptions& options);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // A large arena is leased from the pool of memory for each run, so that an executable holds none
  // between runs. Leasing sets the pointers into it.
  void lease_arenas() {
    if (has_leases_) [[unlikely]]
      lease();
  }
  void return_arenas() {
    if (has_leases_) [[unlikely]]
      end_lease();
  }

  // Runs the instructions; the pointers are set.
  void run();

  // From now on runs tell this profile what they do, those of children too.
  void begin_profile(detail::ProfiledRun& run);
  // Gives it the totals.
  void end_profile();

  // What keep() keeps besides this state's own memory: the arrays of the run that begins.
  void set_memory_of_run(std::span<const Storage* const> inputs, std::span<const Storage> outputs) {
    inputs_of_run_ = inputs;
    outputs_of_run_ = outputs;
  }
  std::shared_ptr<const void> keep() override;
  // The memory belongs to somebody else from now on: the state cannot run again.
  bool is_kept() const { return kept_ != nullptr; }

  // Where a nested plan finds an input, or puts an output.
  void set_input(size_t index, void* data) { set(input_slots[index], data); }
  void set_output(size_t index, void* data) { set(output_slots[index], data); }

  template <class F>
  void for_each_invocation(const F& f) {
    for (Invocation& invocation : invocations) f(invocation);
    for (const auto& child : children) child->for_each_invocation(f);
  }

  const Plan& plan;
  Storage memory;                       // arena, then scratch; where leased, only in a run
  std::vector<void*> operands;          // of all kernels and regions
  std::vector<Storage> private_inputs;  // copies that last for one run
  std::vector<Invocation> invocations;  // one for each foreign call
  std::vector<std::unique_ptr<State>> children;
  ExecutionOptions options;  // what invocations see unless the caller gives others
  int64_t run_id_base = 0;
  int64_t num_runs = 0;
  // Of a nested plan: the pointers to be set, by input and by output.
  std::vector<std::vector<void**>> input_slots, output_slots;

 private:
  static void set(const std::vector<void**>& slots, void* data) {
    for (void** slot : slots) *slot = data;
  }
  // The number of steps of a loop, -1 for other instructions.
  int64_t run(const Instruction& instruction, void* scratch);
  void run_profiled(void* scratch);
  void build(const ExecutionOptions& seen);
  bool is_leased() const;
  void lease();
  void end_lease();
  // Writes the pointers to places of these kinds.
  void set_pointers(bool in_arena);
  void add_memory(std::vector<Storage>& all) const;

  // How instructions are run: one after the other, with a look for interrupts between them, or
  // each with its time.
  enum class Mode : uint8_t { kShort, kLong, kProfiled };
  Mode usual_mode() const;

  Mode mode_;
  bool has_leases_ = false;       // here or in children
  const void* leased_ = nullptr;  // where pointers into a leased arena point
  std::span<const Storage* const> inputs_of_run_;
  std::span<const Storage> outputs_of_run_;
  std::shared_ptr<const std::vector<Storage>> kept_;
  struct Profiled {
    detail::ProfiledRun* run;
    std::vector<detail::ProfiledRun::Total> totals;  // by instruction
    int64_t num_shown = 0;                           // steps of which each equation was shown
  };
  std::unique_ptr<Profiled> profiled_;
};

// The states of an executable. Taking one is a single exchange on a slot that a thread comes back
// to, giving it back a plain store, for the slot stays reserved meanwhile; no lock, and no line of
// memory that all threads write.
class StatePool {
  struct Slot;

 public:
  // A state for one execution; gives it back.
  class Lease {
   public:
    // Without a slot the state is of no further use.
    Lease(State* state, Slot* slot) : state_(state), slot_(slot) {}
    ~Lease() {
      if (!state_->private_inputs.empty()) state_->private_inputs.clear();
      state_->return_arenas();
      if (state_->is_kept()) {
        if (slot_) slot_->state.store(nullptr, std::memory_order_release);
        delete state_;
      } else if (slot_) {
        slot_->state.store(state_, std::memory_order_release);
      } else {
        delete state_;
      }
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    State& operator*() const { return *state_; }
    State* operator->() const { return state_; }

   private:
    State* state_;
    Slot* slot_;
  };

  explicit StatePool(const Plan& plan) : plan_(plan) {}
  ~StatePool();
  StatePool(const StatePool&) = delete;
  StatePool& operator=(const StatePool&) = delete;

  Lease take();

 private:
  static constexpr size_t kSlots = 16;
  struct alignas(64) Slot {
    std::atomic<State*> state{nullptr};  // null: none was made yet; busy(): some execution has it
  };

  static State* busy() { return reinterpret_cast<State*>(alignof(State)); }
  Lease make(size_t first);

  const Plan& plan_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace farcall::native
