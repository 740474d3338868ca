#include "engine/native/state.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <farcall/core/error.h>
#include <farcall/core/memory_pool.h>

#include "engine/native/interrupt_watch.h"
#include "engine/native/parts.h"
#include "engine/native/region.h"

namespace farcall::native {
namespace {

void* address(const Plan& plan, const State& state, Allocation allocation) {
  switch (allocation.kind) {
    case Allocation::Kind::kArena:
      return static_cast<std::byte*>(state.memory.data()) + allocation.index;
    case Allocation::Kind::kConstant:
      return plan.constants[allocation.index].data();
    default:
      return nullptr;  // set for each run
  }
}

// A run id is a state's number and a count of its runs. Ids are unique, and no counter is written
// by all threads.
int64_t next_run_id_base() {
  constexpr int kBitsForRuns = 40;
  static std::atomic<int64_t> states{0};
  return (states.fetch_add(1, std::memory_order_relaxed) + 1) << kBitsForRuns;
}

}  // namespace

State::State(const Plan& plan) : plan(plan), run_id_base(next_run_id_base()), mode_(usual_mode()) {
  options.run_id = run_id_base;
  options.keeper = this;
  build(options);
}

State::State(const Plan& plan, const ExecutionOptions& options)
    : plan(plan),
      input_slots(plan.program->inputs.size()),
      output_slots(plan.outputs.size()),
      mode_(usual_mode()) {
  build(options);
  for (size_t i = 0; i < run_slots.size(); ++i) {
    const Allocation allocation = plan.run_pointers[i].allocation;
    if (allocation.kind == Allocation::Kind::kInput) {
      input_slots[allocation.index].push_back(run_slots[i]);
    } else {
      output_slots[allocation.index].push_back({run_slots[i], allocation.offset});
    }
  }
}

void** State::slot_of(const PointerUse& use) {
  if (use.call == PointerUse::kNoCall) return &operands[use.index];
  Invocation& invocation = invocations[use.call];
  return use.is_result ? invocation.result_slot(use.index) : invocation.argument_slot(use.index);
}

void State::build(const ExecutionOptions& seen) {
  operands.assign(plan.num_operands, nullptr);
  invocations.reserve(plan.calls.size());
  for (const auto& call : plan.calls) invocations.emplace_back(*call);
  for (Invocation& invocation : invocations) invocation.begin(seen);
  run_slots.reserve(plan.run_pointers.size());
  for (const PointerUse& use : plan.run_pointers) run_slots.push_back(slot_of(use));
  has_leases_ = is_leased();
  for (const auto& child : plan.children) {
    children.push_back(std::make_unique<State>(*child, seen));
    has_leases_ |= children.back()->has_leases_;
  }
  set_pointers(/*in_arena=*/false);
  if (is_leased()) return;
  memory = Storage::allocate(plan.arena_bytes + plan.scratch_bytes);
  set_pointers(/*in_arena=*/true);
}

bool State::is_leased() const {
  return plan.arena_bytes + plan.scratch_bytes >= detail::kPooledBytes;
}

void State::lease() {
  for (const auto& child : children) child->lease_arenas();
  if (!is_leased()) return;
  memory = Storage::allocate(plan.arena_bytes + plan.scratch_bytes);
  // Usually this is the block of the last run.
  if (memory.data() == leased_) return;
  set_pointers(/*in_arena=*/true);
  leased_ = memory.data();
}

void State::end_lease() {
  for (const auto& child : children) child->return_arenas();
  if (is_leased()) memory = Storage();
}

void State::set_pointers(bool in_arena) {
  const auto is_meant = [&](Allocation allocation) {
    return (allocation.kind == Allocation::Kind::kArena) == in_arena;
  };
  for (const PlannedWorkspace& workspace : plan.workspaces) {
    if (!is_meant(workspace.allocation)) continue;
    invocations[workspace.call].set_workspace(address(plan, *this, workspace.allocation));
  }
  for (const PointerUse& use : plan.pointers) {
    if (!is_meant(use.allocation)) continue;
    *slot_of(use) = address(plan, *this, use.allocation);
  }
}

inline int64_t State::run(const Instruction& instruction, void* scratch) {
  switch (instruction.kind) {
    case Instruction::Kind::kForeignCall:
      invocations[instruction.call].execute();
      break;
    case Instruction::Kind::kKernel:
      instruction.run({&operands[instruction.first_operand], scratch, instruction.data});
      break;
    case Instruction::Kind::kScan:
      static_cast<const ScanRegion*>(instruction.data)
          ->run(*this, &operands[instruction.first_operand]);
      return static_cast<const ScanRegion*>(instruction.data)->length;
    case Instruction::Kind::kWhile:
      return static_cast<const WhileRegion*>(instruction.data)
          ->run(*this, &operands[instruction.first_operand]);
    case Instruction::Kind::kCond:
      static_cast<const CondRegion*>(instruction.data)
          ->run(*this, &operands[instruction.first_operand]);
      break;
  }
  return -1;
}

State::Mode State::usual_mode() const {
  constexpr int64_t kLongCost = int64_t{1} << 24;
  return plan.cost < kLongCost && plan.groups.empty() ? Mode::kShort : Mode::kLong;
}

void State::run() {
  void* const scratch = static_cast<std::byte*>(memory.data()) + plan.arena_bytes;
  if (mode_ == Mode::kShort) [[likely]] {
    for (const Instruction& instruction : plan.instructions) run(instruction, scratch);
    return;
  }
  if (mode_ == Mode::kProfiled) return run_profiled(scratch);
  run_long(scratch);
}

void State::run_long(void* scratch) {
  InterruptWatch watch(1);
  size_t next = 0;
  const auto run_until = [&](size_t end) {
    for (; next < end; ++next) {
      run(plan.instructions[next], scratch);
      watch.step();
    }
  };
  for (const std::vector<InstructionPart>& group : plan.groups) {
    run_until(group.front().begin);
    run_parts(group.size(), [&](size_t number) {
      const InstructionPart& part = group[number];
      void* const own = static_cast<std::byte*>(scratch) + part.scratch;
      for (size_t i = part.begin; i < part.end; ++i) run(plan.instructions[i], own);
    });
    watch.step();
    next = group.back().end;
  }
  run_until(plan.instructions.size());
}

// ---- profiles ----

void State::begin_profile(detail::ProfiledRun& run) {
  profiled_ = std::make_unique<Profiled>(Profiled{&run, {}});
  for (const Instruction& instruction : plan.instructions) {
    profiled_->totals.push_back({instruction.equation, instruction.is_copy});
  }
  mode_ = Mode::kProfiled;
  for (const auto& child : children) child->begin_profile(run);
}

void State::end_profile() {
  for (const auto& child : children) child->end_profile();
  if (!profiled_) return;
  profiled_->run->add_totals(plan.program, std::move(profiled_->totals));
  profiled_.reset();
  mode_ = usual_mode();
}

void State::run_profiled(void* scratch) {
  constexpr int64_t kShownSteps = 8;
  detail::ProfiledRun& profile = *profiled_->run;
  const bool is_shown = profiled_->num_shown < kShownSteps;
  ++profiled_->num_shown;
  InterruptWatch watch(1);
  int64_t begin = detail::ProfiledRun::now();
  for (size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction& instruction = plan.instructions[i];
    // Shows the first steps of each loop.
    for (const auto& child : children) child->profiled_->num_shown = is_shown ? 0 : kShownSteps;
    const int64_t inside_before = profile.inside;
    const int64_t steps = run(instruction, scratch);
    const int64_t end = detail::ProfiledRun::now();
    detail::ProfiledRun::Total& total = profiled_->totals[i];
    ++total.calls;
    total.nanoseconds += end - begin;
    total.self += end - begin - (profile.inside - inside_before);
    profile.inside = inside_before + (end - begin);
    if (is_shown) {
      profile.add(
          {plan.program.get(), instruction.equation, instruction.is_copy, begin, end, steps});
    }
    watch.step();
    begin = end;
  }
}

std::shared_ptr<const void> State::keep() {
  if (is_borrowed_) {
    throw Error(ErrorCode::kFailedPrecondition,
                "a function kept an array after its call, but the array is in memory of the "
                "program's caller; the function must copy the data instead");
  }
  std::vector<Storage> all;
  add_memory(all);
  for (const Storage* input : inputs_of_run_) {
    all.push_back(*input);
    input->mark_exported();
  }
  all.insert(all.end(), outputs_of_run_.begin(), outputs_of_run_.end());
  given_away_.push_back(std::make_shared<const std::vector<Storage>>(std::move(all)));
  // Checked calls see copies, which are given away in place of the program's memory.
  bool is_checked = false;
  for_each_invocation([&](Invocation& each) { is_checked |= each.call().spec().is_checked; });
  if (!is_checked) {
    move_arenas(*this);
    move_arrays();
  }
  return given_away_.back();
}

Storage State::move(const Storage& from) {
  Storage to = from.copy();
  if (from.nbytes() > 0) shift_pointers(from, to);
  return to;
}

void State::shift_pointers(const Storage& from, const Storage& to) {
  const auto shift = [&](void*& pointer) {
    const uintptr_t offset =
        reinterpret_cast<uintptr_t>(pointer) - reinterpret_cast<uintptr_t>(from.data());
    if (offset < from.nbytes()) pointer = static_cast<std::byte*>(to.data()) + offset;
  };
  std::ranges::for_each(operands, shift);
  for (Invocation& invocation : invocations) {
    for (size_t i = 0; i < invocation.num_arguments(); ++i) shift(*invocation.argument_slot(i));
    for (size_t i = 0; i < invocation.num_results(); ++i) shift(*invocation.result_slot(i));
  }
  for (const auto& child : children) child->shift_pointers(from, to);
}

void State::move_arenas(State& root) {
  memory = root.move(memory);
  for (const PlannedWorkspace& workspace : plan.workspaces) {
    invocations[workspace.call].set_workspace(address(plan, *this, workspace.allocation));
  }
  for (const auto& child : children) child->move_arenas(root);
}

// Outputs may share memory with each other and with inputs.
void State::move_arrays() {
  const auto replace = [&](const Storage& from) {
    Storage fresh = move(from);
    const void* const old = from.data();
    for (Storage& output : outputs_of_run_) {
      if (output.data() == old) output = fresh;
    }
    return fresh;
  };
  for (size_t i = 0; i < outputs_of_run_.size(); ++i) {
    const Allocation allocation = plan.outputs[i].allocation;
    if (allocation.kind == Allocation::Kind::kOutput && allocation.index == i) {
      replace(outputs_of_run_[i]);
    }
  }
  moved_inputs_.resize(inputs_of_run_.size());
  for (size_t i = 0; i < inputs_of_run_.size(); ++i) {
    if (!plan.overwrites[i]) continue;
    moved_inputs_[i] = replace(moved_inputs_[i] ? moved_inputs_[i] : *inputs_of_run_[i]);
  }
}

void State::add_memory(std::vector<Storage>& all) const {
  all.push_back(memory);
  all.insert(all.end(), private_inputs.begin(), private_inputs.end());
  all.insert(all.end(), moved_inputs_.begin(), moved_inputs_.end());
  all.insert(all.end(), plan.constants.begin(), plan.constants.end());
  for (const Invocation& invocation : invocations) invocation.add_memory(all);
  for (const auto& child : children) child->add_memory(all);
}

StatePool::~StatePool() {
  for (Slot& slot : own_) delete slot.state.load();
  Slot* const shared = shared_.load();
  if (!shared) return;
  for (Slot& slot : std::span(shared, kSharedSlots)) delete slot.state.load();
  delete[] shared;
}

// The number of the slot that this thread alone uses, as long as it lives. Larger numbers are where
// it starts its search in the shared slots.
size_t StatePool::slot_of_thread() {
  static std::atomic<uint32_t> taken{0};  // a bit for each slot
  static std::atomic<size_t> num_others{0};
  thread_local size_t mine_and_one = 0;  // a computed initial value would need another test
  if (mine_and_one != 0) [[likely]]
    return mine_and_one - 1;
  struct AtEnd {
    ~AtEnd() {
      const size_t mine = std::exchange(mine_and_one, kOwnSlots + 1) - 1;
      taken.fetch_and(~(1U << mine), std::memory_order_release);
    }
  };
  uint32_t seen = taken.load(std::memory_order_relaxed);
  for (;;) {
    const auto mine = static_cast<size_t>(std::countr_one(seen));
    if (mine >= kOwnSlots) {
      mine_and_one = kOwnSlots + 1 + num_others.fetch_add(1, std::memory_order_relaxed);
      break;
    }
    if (taken.compare_exchange_weak(seen, seen | 1U << mine, std::memory_order_acquire)) {
      mine_and_one = mine + 1;
      thread_local const AtEnd at_end;
      static_cast<void>(at_end);
      break;
    }
  }
  return mine_and_one - 1;
}

StatePool::Lease StatePool::take() {
  const size_t number = slot_of_thread();
  if (number >= kOwnSlots) return take_shared(number);
  Slot& slot = own_[number];
  State* state = slot.state.load(std::memory_order_relaxed);
  if (state == busy()) return take_shared(number);  // by a run that is in progress on this thread
  if (!state) [[unlikely]]
    state = std::make_unique<State>(plan_).release();
  slot.state.store(busy(), std::memory_order_relaxed);
  return {state, &slot};
}

StatePool::Lease StatePool::take_shared(size_t first) {
  Slot* shared = shared_.load(std::memory_order_acquire);
  if (!shared) {
    auto made = std::make_unique<Slot[]>(kSharedSlots);
    if (shared_.compare_exchange_strong(shared, made.get(), std::memory_order_acq_rel)) {
      shared = made.release();
    }
  }
  const auto slot_at = [&](size_t i) -> Slot& { return shared[(first + i) % kSharedSlots]; };
  for (size_t i = 0; i < kSharedSlots; ++i) {
    Slot& slot = slot_at(i);
    State* state = slot.state.load(std::memory_order_relaxed);
    if (!state || state == busy()) continue;
    if (slot.state.compare_exchange_strong(state, busy(), std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
      return {state, &slot};
    }
  }
  auto state = std::make_unique<State>(plan_);
  for (size_t i = 0; i < kSharedSlots; ++i) {
    Slot& slot = slot_at(i);
    State* expected = nullptr;
    if (slot.state.compare_exchange_strong(expected, busy(), std::memory_order_relaxed)) {
      return {state.release(), &slot};
    }
  }
  return {state.release(), nullptr};
}

void StatePool::Lease::clean_up() {
  state_->private_inputs.clear();
  state_->return_arenas();
  const bool is_reusable = slot_ && !state_->is_kept();
  if (slot_) slot_->state.store(is_reusable ? state_ : nullptr, std::memory_order_release);
  if (!is_reusable) delete state_;
}

}  // namespace farcall::native
