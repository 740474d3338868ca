#include "engine/native/state.h"

namespace farcall::native {
namespace {

void* address(const Plan& plan, const State& state, Place place) {
  switch (place.kind) {
    case Place::Kind::kArena:
      return static_cast<std::byte*>(state.memory.data()) + place.index;
    case Place::Kind::kConstant:
      return plan.constants[place.index].data();
    default:
      return nullptr;  // set for each run
  }
}

// Each thread begins its search at a slot of its own.
size_t first_slot() {
  static std::atomic<size_t> threads{0};
  thread_local size_t mine = 0;  // counted from 1; a first value that is computed costs a test more
  if (mine == 0) [[unlikely]]
    mine = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return mine;
}

// Run ids are made of a state's number and a count, so that no two executions share one and none
// needs a counter that all threads write.
int64_t next_run_id_base() {
  constexpr int kBitsForRuns = 40;
  static std::atomic<int64_t> states{0};
  return (states.fetch_add(1, std::memory_order_relaxed) + 1) << kBitsForRuns;
}

}  // namespace

State::State(const Plan& plan)
    : memory(Storage::allocate(plan.arena_bytes + plan.scratch_bytes)),
      operands(plan.num_operands, nullptr),
      run_id_base(next_run_id_base()) {
  options.run_id = run_id_base;
  invocations.reserve(plan.calls.size());
  for (const auto& call : plan.calls) invocations.emplace_back(*call);
  for (Invocation& invocation : invocations) invocation.begin(options);
  for (const PointerUse& use : plan.pointers) {
    void* const data = address(plan, *this, use.place);
    if (use.call == PointerUse::kNoCall) {
      operands[use.index] = data;
    } else if (use.is_result) {
      invocations[use.call].set_result(use.index, data);
    } else {
      invocations[use.call].set_argument(use.index, data);
    }
  }
}

StatePool::~StatePool() {
  for (Slot& slot : slots_) delete slot.state.load();
}

StatePool::Lease StatePool::take() {
  const size_t first = first_slot();
  for (size_t i = 0; i < kSlots; ++i) {
    Slot& slot = slots_[(first + i) % kSlots];
    State* state = slot.state.load(std::memory_order_relaxed);
    if (!state || state == busy()) continue;
    if (slot.state.compare_exchange_strong(state, busy(), std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
      return {state, &slot};
    }
  }
  return make(first);
}

StatePool::Lease StatePool::make(size_t first) {
  auto state = std::make_unique<State>(plan_);
  for (size_t i = 0; i < kSlots; ++i) {
    Slot& slot = slots_[(first + i) % kSlots];
    State* expected = nullptr;
    if (slot.state.compare_exchange_strong(expected, busy(), std::memory_order_relaxed)) {
      return {state.release(), &slot};
    }
  }
  return {state.release(), nullptr};
}

}  // namespace farcall::native
