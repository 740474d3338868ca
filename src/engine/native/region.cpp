#include "engine/native/region.h"

#include <algorithm>
#include <cstring>

#include "engine/native/interrupt_watch.h"
#include "engine/native/state.h"

namespace farcall::native {
namespace {

void copy(void* to, const void* from, size_t nbytes) {
  if (to != from && nbytes > 0) std::memcpy(to, from, nbytes);
}

void* offset(void* pointer, int64_t bytes) { return static_cast<std::byte*>(pointer) + bytes; }

// The pointers of the carry in each step. Values that are not kept in place alternate between the
// result's memory and a separate place.
class CarryPointers {
 public:
  // `first_to_result`: whether the first step writes to the results or to the places.
  CarryPointers(const std::vector<Carry>& carries, void* const* initial, void* const* results,
                void* const* places, bool first_to_result)
      : carries_(carries), initial_(initial), results_(results), places_(places) {
    to_result_ = first_to_result;
  }

  // Must be called before the first step.
  void begin() const {
    for (size_t i = 0; i < carries_.size(); ++i) {
      const Carry& carry = carries_[i];
      if (carry.is_invariant) continue;
      if (carry.is_in_place) {
        copy(results_[i], initial_[i], carry.nbytes);
      } else if (carry.overwrites) {
        copy(to_result_ ? places_[i] : results_[i], initial_[i], carry.nbytes);
      }
    }
  }

  void* read(size_t i, bool is_first) const {
    const Carry& carry = carries_[i];
    if (carry.is_invariant) return initial_[i];
    if (carry.is_in_place) return results_[i];
    if (is_first && !carry.overwrites) return initial_[i];
    return to_result_ ? places_[i] : results_[i];
  }
  void* written(size_t i) const {
    return carries_[i].is_in_place || to_result_ ? results_[i] : places_[i];
  }
  // Whether the pointers of this carry change from step to step.
  bool moves(size_t i) const { return !carries_[i].is_invariant && !carries_[i].is_in_place; }

  void next() { to_result_ = !to_result_; }

  // Copies results that are not in their memory yet. Must be called after the last step;
  // `has_stepped` is false if there were no steps.
  void finish(bool has_stepped) const {
    for (size_t i = 0; i < carries_.size(); ++i) {
      const Carry& carry = carries_[i];
      if (!has_stepped || carry.is_invariant) {
        copy(results_[i], initial_[i], carry.nbytes);
      } else if (!carry.is_in_place && to_result_) {
        // next() was called after the last step, so the step wrote to the places.
        copy(results_[i], places_[i], carry.nbytes);
      }
    }
  }

 private:
  const std::vector<Carry>& carries_;
  void* const* initial_;
  void* const* results_;
  void* const* places_;
  bool to_result_;
};

}  // namespace

// The code takes the operands in the same order, and the slices in the order of the steps.
void ScanRegion::run_code(void* const* operands) const {
  if (!is_reverse) {
    code->run(operands, length);
    return;
  }
  const size_t num_carry = carries.size(), num_xs = x_strides.size(), num_ys = y_strides.size();
  const size_t first_x = num_consts + num_carry, first_y = first_x + num_xs + num_carry;
  std::vector<void*> pointers(operands, operands + first_y + num_ys);
  const auto begin_at_last = [&](size_t first, const std::vector<int64_t>& strides) {
    for (size_t i = 0; i < strides.size(); ++i) {
      pointers[first + i] = offset(pointers[first + i], (length - 1) * strides[i]);
    }
  };
  begin_at_last(first_x, x_strides);
  begin_at_last(first_y, y_strides);
  code->run(pointers.data(), length);
}

void ScanRegion::run(State& state, void* const* operands) const {
  if (length > 0 && code->is_ready(length)) return run_code(operands);
  State& step = *state.children[child];
  const size_t num_carry = carries.size(), num_xs = x_strides.size(), num_ys = y_strides.size();
  void* const* const initial = operands + num_consts;
  void* const* const xs = initial + num_carry;
  void* const* const results = xs + num_xs;
  void* const* const ys = results + num_carry;
  void* const* const places = ys + num_ys;
  // The last step must write to the results.
  CarryPointers carry(carries, initial, results, places, length % 2 == 1);
  if (length == 0) return carry.finish(false);

  carry.begin();
  const int64_t first = is_reverse ? length - 1 : 0, direction = is_reverse ? -1 : 1;
  for (size_t i = 0; i < num_consts; ++i) step.set_input(i, operands[i]);
  for (size_t i = 0; i < num_xs; ++i) {
    step.set_input(num_consts + num_carry + i, offset(xs[i], first * x_strides[i]));
  }
  for (size_t i = 0; i < num_ys; ++i) {
    step.set_output(num_carry + i, offset(ys[i], first * y_strides[i]));
  }
  for (size_t i = 0; i < num_carry; ++i) {
    step.set_input(num_consts + i, carry.read(i, true));
    step.set_output(i, carry.written(i));
  }
  InterruptWatch watch(brief_steps(step.plan.cost));
  for (int64_t n = 0;;) {
    step.run();
    if (++n == length) break;
    watch.step();
    carry.next();
    for (size_t i = 0; i < num_carry; ++i) {
      if (!carry.moves(i)) continue;
      step.set_input(num_consts + i, carry.read(i, false));
      step.set_output(i, carry.written(i));
    }
    for (size_t i = 0; i < num_xs; ++i) {
      for (void** slot : step.input_slots[num_consts + num_carry + i]) {
        *slot = offset(*slot, direction * x_strides[i]);
      }
    }
    for (size_t i = 0; i < num_ys; ++i) {
      for (const State::OutputSlot slot : step.output_slots[num_carry + i]) {
        *slot.pointer = offset(*slot.pointer, direction * y_strides[i]);
      }
    }
  }
  carry.next();
  carry.finish(true);
}

int64_t WhileRegion::run(State& state, void* const* operands) const {
  State& test = *state.children[condition];
  State& step = *state.children[body];
  const size_t num_carry = carries.size();
  void* const* const body_consts = operands + num_condition_consts;
  void* const* const initial = body_consts + num_body_consts;
  void* const* const results = initial + num_carry;
  CarryPointers carry(carries, initial, results, results + num_carry, true);

  // Continues with the machine code after `num_steps` steps.
  const auto run_code = [&](int64_t num_steps) {
    const auto first_carry = static_cast<size_t>(initial - operands);
    std::vector<void*> pointers(operands, results + num_carry);
    for (size_t i = 0; i < num_carry; ++i) {
      pointers[first_carry + i] = carry.read(i, num_steps == 0);
    }
    return num_steps + code->run(pointers.data(), 0);
  };
  if (code->is_ready(0)) return code->run(operands, 0);
  int64_t steps_to_code = code->steps_until_worth();

  bool holds = false;
  test.set_output(0, &holds);
  for (size_t i = 0; i < num_condition_consts; ++i) test.set_input(i, operands[i]);
  for (size_t i = 0; i < num_body_consts; ++i) step.set_input(i, body_consts[i]);
  carry.begin();
  int64_t num_steps = 0;
  InterruptWatch watch(brief_steps(std::max(step.plan.cost, test.plan.cost)));
  for (;; ++num_steps) {
    const bool is_first = num_steps == 0;
    for (size_t i = 0; i < num_carry; ++i) {
      if (!is_first && !carry.moves(i)) continue;
      void* const data = carry.read(i, is_first);
      test.set_input(num_condition_consts + i, data);
      step.set_input(num_body_consts + i, data);
      step.set_output(i, carry.written(i));
    }
    if (num_steps == steps_to_code) {
      if (code->is_ready(num_steps)) return run_code(num_steps);
      steps_to_code = INT64_MAX;
    }
    test.run();
    if (!holds) break;
    step.run();
    carry.next();
    watch.step();
  }
  if (steps_to_code != INT64_MAX) code->is_ready(num_steps);  // counts the steps
  carry.finish(num_steps > 0);
  return num_steps;
}

void CondRegion::run(State& state, void* const* operands) const {
  int32_t wanted;
  std::memcpy(&wanted, operands[0], sizeof(wanted));
  const auto last = static_cast<int32_t>(branches.size()) - 1;
  const auto number = static_cast<size_t>(std::clamp(wanted, 0, last));
  State& branch = *state.children[branches[number]];
  void* const* const inputs = operands + 1;
  void* const* const results = inputs + num_operands;
  for (size_t i = 0; i < num_operands; ++i) branch.set_input(i, inputs[i]);
  for (size_t i = 0; i < num_results; ++i) branch.set_output(i, results[i]);
  branch.run();
  for (const Copy& each : copies[number]) {
    copy(results[each.result], inputs[each.operand], each.nbytes);
  }
}

}  // namespace farcall::native
