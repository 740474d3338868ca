// State: what one run of a plan writes. It is kept between runs, so that a run allocates only its
// results. Concurrent runs use different states.
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
  // The state of a region's plan; its calls see the options of the whole execution.
  State(const Plan& plan, const ExecutionOptions& options);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // A large arena is leased from the memory pool for each run, so that an executable holds none
  // between runs. Leasing sets the pointers into it.
  void lease_arenas() {
    if (has_leases_) [[unlikely]]
      lease();
  }
  void return_arenas() {
    if (has_leases_) [[unlikely]]
      end_lease();
  }

  // Runs the instructions. The pointers must be set.
  void run();

  // From now on, runs of this state and its children report to this profile.
  void begin_profile(detail::ProfiledRun& run);
  // Adds the totals to the profile.
  void end_profile();

  // What keep() keeps besides this state's own memory: the arrays of the run that begins. keep()
  // replaces outputs.
  void set_memory_of_run(std::span<const Storage* const> inputs, std::span<Storage> outputs) {
    inputs_of_run_ = inputs;
    outputs_of_run_ = outputs;
    is_borrowed_ = false;
  }
  // The arrays of the run that begins are in memory of its caller, so keep() raises
  // FAILED_PRECONDITION.
  void set_memory_is_borrowed() { is_borrowed_ = true; }
  // Gives the memory away, and continues the run in copies of all that it may still write.
  std::shared_ptr<const void> keep() override;
  // If true, parts of the state may still point to memory that others hold: it cannot run again.
  bool is_kept() const { return !given_away_.empty(); }
  // Whether the end of a run has memory to give back.
  bool has_memory_of_run() const { return has_leases_ || is_kept() || !private_inputs.empty(); }

  // Sets where a nested plan reads an input, or writes an output.
  void set_input(size_t index, void* data) {
    for (void** slot : input_slots[index]) *slot = data;
  }
  void set_output(size_t index, void* data) {
    for (const OutputSlot slot : output_slots[index]) {
      *slot.pointer = static_cast<std::byte*>(data) + slot.offset;
    }
  }

  template <class F>
  void for_each_invocation(const F& f) {
    for (Invocation& invocation : invocations) f(invocation);
    for (const auto& child : children) child->for_each_invocation(f);
  }

  const Plan& plan;
  Storage memory;                       // arena, then scratch; if leased, only during a run
  std::vector<void*> operands;          // of all kernels and regions
  std::vector<Storage> private_inputs;  // copies that last for one run
  std::vector<Invocation> invocations;  // one for each foreign call
  std::vector<std::unique_ptr<State>> children;
  ExecutionOptions options;  // what invocations see unless the caller passes others
  int64_t run_id_base = 0;
  int64_t num_runs = 0;
  std::vector<void**> run_slots;  // what to set for each of the plan's run_pointers
  // For a nested plan: the pointers to set, by input and by output.
  std::vector<std::vector<void**>> input_slots;
  struct OutputSlot {
    void** pointer;
    size_t offset;  // in the output
  };
  std::vector<std::vector<OutputSlot>> output_slots;

 private:
  // Returns the number of steps of a loop, and -1 for other instructions.
  int64_t run(const Instruction& instruction, void* scratch);
  void run_long(void* scratch);
  void run_profiled(void* scratch);
  void build(const ExecutionOptions& seen);
  bool is_leased() const;
  void lease();
  void end_lease();
  // Where a run of this state reads the pointer.
  void** slot_of(const PointerUse& use);
  // Sets the pointers into the arena, or all others.
  void set_pointers(bool in_arena);
  void add_memory(std::vector<Storage>& all) const;
  // Returns a copy; all pointers of this state and its children into the memory then point there.
  Storage move(const Storage& from);
  void shift_pointers(const Storage& from, const Storage& to);
  // The arenas of this state and its children; `root` is the state of the execution.
  void move_arenas(State& root);
  // The memory of the run's outputs, and the inputs that it overwrites.
  void move_arrays();

  // How instructions run: one after the other, with checks for interrupts in between and groups at
  // the same time, or one after the other and each one timed.
  enum class Mode : uint8_t { kShort, kLong, kProfiled };
  Mode usual_mode() const;

  Mode mode_;
  bool has_leases_ = false;       // this state or its children
  const void* leased_ = nullptr;  // the leased arena for which pointers are set
  std::span<const Storage* const> inputs_of_run_;
  std::span<Storage> outputs_of_run_;
  bool is_borrowed_ = false;
  std::vector<std::shared_ptr<const void>> given_away_;  // the run still has its scratch there
  std::vector<Storage> moved_inputs_;                    // by input; null if it was not moved
  struct Profiled {
    detail::ProfiledRun* run;
    std::vector<detail::ProfiledRun::Total> totals;  // by instruction
    int64_t num_shown = 0;                           // steps of which every equation was shown
  };
  std::unique_ptr<Profiled> profiled_;
};

// The states of an executable. A few threads of the process have a slot of their own, which takes
// no atomic exchange; others take one of the shared slots by an exchange. Giving a state back is a
// plain store, because the slot stays reserved. There is no lock, and no cache line that all
// threads write.
class StatePool {
  struct Slot;

 public:
  // A state for one execution; the destructor gives it back.
  class Lease {
   public:
    // Without a slot, the state is destroyed after the execution.
    Lease(State* state, Slot* slot) : state_(state), slot_(slot) {}
    ~Lease() {
      if (slot_ && !state_->has_memory_of_run()) [[likely]] {
        slot_->state.store(state_, std::memory_order_release);
      } else {
        clean_up();
      }
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    State& operator*() const { return *state_; }
    State* operator->() const { return state_; }

   private:
    void clean_up();

    State* state_;
    Slot* slot_;
  };

  explicit StatePool(const Plan& plan) : plan_(plan) {}
  ~StatePool();
  StatePool(const StatePool&) = delete;
  StatePool& operator=(const StatePool&) = delete;

  Lease take();

 private:
  static constexpr size_t kOwnSlots = 4, kSharedSlots = 12;
  struct alignas(64) Slot {
    std::atomic<State*> state{nullptr};  // null: none was made; busy(): in use
  };

  static State* busy() { return reinterpret_cast<State*>(alignof(State)); }
  static size_t slot_of_thread();
  Lease take_shared(size_t first);

  const Plan& plan_;
  std::array<Slot, kOwnSlots> own_;
  std::atomic<Slot*> shared_{nullptr};  // made when they are needed
};

}  // namespace farcall::native
