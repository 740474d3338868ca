// State: what one run of a plan writes. Kept from run to run, so that a run allocates nothing but
// its results; a running call has a state to itself.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include <farcall/core/storage.h>
#include <farcall/ffi/foreign_call.h>

#include "engine/native/plan.h"

namespace farcall::native {

struct State {
  explicit State(const Plan& plan);

  Storage memory;                       // arena, then scratch
  std::vector<void*> operands;          // of all kernels
  std::vector<Invocation> invocations;  // one for each foreign call
  ExecutionOptions options;             // what invocations see unless the caller gives others
  int64_t run_id_base;
  int64_t num_runs = 0;
};

// States that no call is using. Taking and returning one is a single exchange on a slot that a
// thread comes back to; no lock, and no line of memory that all threads write.
class StatePool {
 public:
  explicit StatePool(const Plan& plan) : plan_(plan) {}
  ~StatePool();
  StatePool(const StatePool&) = delete;
  StatePool& operator=(const StatePool&) = delete;

  std::unique_ptr<State> take();
  void give_back(std::unique_ptr<State> state);

 private:
  static constexpr size_t kSlots = 16;
  struct alignas(64) Slot {
    std::atomic<State*> state{nullptr};
  };

  const Plan& plan_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace farcall::native
