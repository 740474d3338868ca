// Loops and branches. Their regions read values that they do not change directly from outside. If a
// program inside has effects, the number of the run is passed through the region like a carry.

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include <farcall/primitives/control_flow.h>
#include <farcall/program/cost.h>

#include "core/internal/joined.h"
#include "stablehlo/rules.h"

namespace farcall::stablehlo {
namespace {

// Of an element of any dtype; not all dtypes have the number zero.
constexpr std::byte kZeroBits[16] = {};

// The number of the run, as the last value of a loop or branch.
class RunInRegion {
 public:
  RunInRegion(Emitter& emitter, bool is_carried) : emitter_(emitter), is_carried_(is_carried) {
    if (is_carried) outer_ = emitter.run();
  }
  void append_outer(Values& values) const {
    if (is_carried_) values.push_back(outer_);
  }
  // At the start of a region: the run is its last argument.
  void enter(const Values& arguments) const {
    if (is_carried_) emitter_.set_run(arguments.back());
  }
  void enter_branch() const {
    if (is_carried_) emitter_.set_run(outer_);
  }
  void append(Values& values) const {
    if (is_carried_) values.push_back(emitter_.run());
  }
  // After the operation: the run is its last result.
  void leave(Values& results) const {
    if (!is_carried_) return;
    emitter_.set_run(results.back());
    results.pop_back();
  }
  // Restores the run from outside the region.
  void restore() const { enter_branch(); }

 private:
  Emitter& emitter_;
  bool is_carried_;
  Value outer_;
};

// While the regions of a loop are written.
class InLoop {
 public:
  explicit InLoop(Emitter& emitter) : emitter_(emitter), before_(emitter.is_in_loop()) {
    emitter.set_in_loop(true);
  }
  InLoop(const InLoop&) = delete;
  InLoop& operator=(const InLoop&) = delete;
  ~InLoop() { emitter_.set_in_loop(before_); }

 private:
  Emitter& emitter_;
  bool before_;
};

std::span<const Value> part(std::span<const Value> values, size_t begin, size_t count) {
  return values.subspan(begin, count);
}

using Step = std::function<Values(std::span<const Value>)>;

int64_t flops_or_bytes(const Cost& cost) { return std::max(cost.flops, cost.bytes); }

// How many steps of this cost take at most some milliseconds.
int64_t steps_of_part(const Cost& cost) {
  const int64_t each = std::max<int64_t>(flops_or_bytes(cost), 1);
  return std::clamp<int64_t>((int64_t{1} << 22) / each, 1, 1024);
}

// Scans below this cost are not worth tests for interrupts; it is at least some milliseconds.
constexpr int64_t kLongScan = int64_t{1} << 24;
// The same for the steps of a while inside a loop; some microseconds. XLA compiles a small loop as
// one function, which is several times faster, unless it holds a relay.
constexpr int64_t kLongStep = int64_t{1} << 16;

// Whether the loop goes on after a part. Only if it does, a relay tests whether the run has failed
// or is interrupted: most loops inside loops end with their first part.
Value goes_on_after_part(Emitter& e, const Value& goes_on, std::span<const std::string> axes) {
  const std::string branches[] = {
      e.region({}, [&](const Values&) { return Values{goes_on}; }),
      e.region({}, [&](const Values&) { return Values{guarded(e, goes_on, axes)}; })};
  const Value index = e.convert(goes_on, DType::kInt32);
  return e.op("stablehlo.case", Values{index}, {&goes_on.type, 1}, {}, branches)[0];
}

// A loop without relays, as a loop of loops of `num_steps` steps each, with a test in between.
Values loop_in_parts(Emitter& e, const Values& carry, const Step& goes_on, const Step& next,
                     int64_t num_steps, std::span<const std::string> axes) {
  const ShapeDtype counter(DType::kInt32, {}), truth(DType::kBool, {});
  const Value zero = e.number(counter, 0), one = e.number(counter, 1);
  const Value most = e.number(counter, static_cast<double>(num_steps));
  const std::vector<ShapeDtype> types = types_of(carry);
  const auto rest = [](std::span<const Value> values) { return values.subspan(1); };
  const auto inner_types = joined<std::vector<ShapeDtype>>({&counter, 1}, types);
  const auto outer_types = joined<std::vector<ShapeDtype>>({&truth, 1}, types);
  const std::string inner[] = {
      e.region(inner_types,
               [&](const Values& x) {
                 const Values both = {e.compare("LT", x[0], most), goes_on(rest(x))[0]};
                 return Values{e.op("stablehlo.and", both, truth)};
               }),
      e.region(inner_types, [&](const Values& x) {
        const Value count = e.op("stablehlo.add", {x[0], one}, counter);
        return joined<Values>({&count, 1}, next(rest(x)));
      })};
  const std::string outer[] = {
      e.region(outer_types, [](const Values& x) { return Values{x[0]}; }),
      e.region(outer_types, [&](const Values& x) {
        const Values start = joined<Values>({&zero, 1}, rest(x));
        const Values end = e.op("stablehlo.while", start, inner_types, {}, inner);
        const Value test = goes_on_after_part(e, goes_on(rest(end))[0], axes);
        return joined<Values>({&test, 1}, rest(end));
      })};
  const Values start = joined<Values>(goes_on(carry), carry);
  Values results = e.op("stablehlo.while", start, outer_types, {}, outer);
  results.erase(results.begin());
  return results;
}

// Whether a relay may test for interrupts.
bool can_test(const Emitter& e) { return e.options().guard && e.is_for_cpu_plugin(); }

Values while_loop(Emitter& e, const Call& call) {
  const auto& p = call.params<WhileParams>();
  const auto num_cond = static_cast<size_t>(p.cond_nconsts);
  const auto num_body = static_cast<size_t>(p.body_nconsts);
  const auto cond_consts = part(call.inputs, 0, num_cond);
  const auto body_consts = part(call.inputs, num_cond, num_body);
  Values carry(call.inputs.begin() + static_cast<int64_t>(num_cond + num_body), call.inputs.end());
  const size_t num_carry = carry.size();
  const size_t num_relays = e.num_relays();
  const auto goes_on = [&](std::span<const Value> values) {
    return e.program(*p.cond_jaxpr, joined<Values>(cond_consts, values))[0];
  };
  // The condition of a while cannot return the run. A condition with effects is computed before the
  // loop and at the end of the body, and carried.
  const bool is_carried = is_ordered(*p.cond_jaxpr);
  if (is_carried) carry.push_back(goes_on(carry));
  const bool has_order = is_carried || is_ordered(*p.body_jaxpr);
  const RunInRegion run(e, has_order);
  run.append_outer(carry);
  const std::vector<ShapeDtype> types = types_of(carry);
  const auto step = [&](std::span<const Value> values) {
    return e.program(*p.body_jaxpr, joined<Values>(body_consts, part(values, 0, num_carry)));
  };
  const auto axes =
      joined<std::vector<std::string>>(p.body_jaxpr->axis_names, p.cond_jaxpr->axis_names);
  const Cost cost = p.body_jaxpr->cost() + p.cond_jaxpr->cost();
  // Over several devices, a loop around would have to test each of its own steps too.
  const bool may_have_parts =
      !e.is_in_loop() || (!e.options().layout && flops_or_bytes(cost) >= kLongStep);
  const InLoop scope(e);
  const std::string body = e.region(types, [&](const Values& x) {
    run.enter(x);
    Values next = step(x);
    if (is_carried) next.push_back(goes_on(next));
    run.append(next);
    return next;
  });
  const std::string condition = e.region(types, [&](const Values& x) {
    run.enter(x);
    const Value test = is_carried ? x[num_carry] : goes_on(part(x, 0, num_carry));
    if (e.num_relays() == num_relays || !e.options().layout) return Values{test};
    return Values{guarded(e, test, axes)};
  });
  const bool is_pure = !has_order && e.num_relays() == num_relays;
  if (is_pure && may_have_parts && can_test(e)) {
    const auto test = [&](std::span<const Value> values) { return Values{goes_on(values)}; };
    return loop_in_parts(e, carry, test, step, steps_of_part(cost), axes);
  }
  const std::string regions[] = {condition, body};
  run.restore();
  Values results = e.op("stablehlo.while", carry, types, {}, regions);
  run.leave(results);
  results.resize(num_carry);
  return results;
}

// Slice number `index` of an array along its leading dimension.
Value slice_at(Emitter& e, const Value& array, const Value& index, const Value& zero) {
  Values operands = {array, index};
  operands.insert(operands.end(), array.type.rank() - 1, zero);
  std::vector<int64_t> sizes(array.type.shape().begin(), array.type.shape().end());
  sizes[0] = 1;
  const Value slice = e.op("stablehlo.dynamic_slice", operands, array.type.with_shape(sizes),
                           "slice_sizes = " + array_text(sizes));
  return e.reshape(slice, std::span(sizes).subspan(1));
}

Value with_slice(Emitter& e, const Value& array, const Value& slice, const Value& index,
                 const Value& zero) {
  std::vector<int64_t> sizes(array.type.shape().begin(), array.type.shape().end());
  sizes[0] = 1;
  Values operands = {array, e.reshape(slice, sizes), index};
  operands.insert(operands.end(), array.type.rank() - 1, zero);
  return e.op("stablehlo.dynamic_update_slice", operands, array.type);
}

// A while with a counter; the stacked results are part of the carry.
Values scan(Emitter& e, const Call& call) {
  const auto& p = call.params<ScanParams>();
  const auto num_consts = static_cast<size_t>(p.num_consts);
  const auto num_carry = static_cast<size_t>(p.num_carry);
  const size_t num_stacked = call.results.size() - num_carry;
  const auto consts = part(call.inputs, 0, num_consts);
  const auto slices = call.inputs.subspan(num_consts + num_carry);
  const ShapeDtype counter(DType::kInt64, {});
  const Value zero = e.number(counter, 0), one = e.number(counter, 1);
  const Value last = e.number(counter, static_cast<double>(p.length - 1));
  Values carry = {zero};
  for (const Value& value : part(call.inputs, num_consts, num_carry)) carry.push_back(value);
  for (size_t i = 0; i < num_stacked; ++i) {
    carry.push_back(e.splat(call.results[num_carry + i], kZeroBits));
  }
  if (p.length == 0) return {carry.begin() + 1, carry.end()};
  const bool has_order = is_ordered(*p.jaxpr);
  const RunInRegion run(e, has_order);
  run.append_outer(carry);
  const std::vector<ShapeDtype> types = types_of(carry);
  const InLoop scope(e);
  const auto step = [&](std::span<const Value> x) {
    const Value index = p.reverse ? e.op("stablehlo.subtract", {last, x[0]}, counter) : x[0];
    Values inputs = joined<Values>(consts, part(x, 1, num_carry));
    for (const Value& array : slices) inputs.push_back(slice_at(e, array, index, zero));
    const Values outputs = e.program(*p.jaxpr, inputs);
    Values next = {e.op("stablehlo.add", {x[0], one}, counter)};
    next.insert(next.end(), outputs.begin(), outputs.begin() + static_cast<int64_t>(num_carry));
    for (size_t i = 0; i < num_stacked; ++i) {
      next.push_back(with_slice(e, x[1 + num_carry + i], outputs[num_carry + i], index, zero));
    }
    return next;
  };
  const auto goes_on = [&](std::span<const Value> x) {
    return Values{e.compare("LE", x[0], last)};
  };
  const size_t num_relays = e.num_relays();
  const std::string body = e.region(types, [&](const Values& x) {
    run.enter(x);
    Values next = step(x);
    run.append(next);
    return next;
  });
  const bool is_pure = !has_order && e.num_relays() == num_relays;
  if (is_pure && can_test(e)) {
    const Cost cost = p.jaxpr->cost();
    if (flops_or_bytes(p.length * cost) >= kLongScan) {
      carry = loop_in_parts(e, carry, goes_on, step, steps_of_part(cost), p.jaxpr->axis_names);
      carry.erase(carry.begin());
      return carry;
    }
  }
  const std::string condition = e.region(types, [&](const Values& x) {
    run.enter(x);
    const Value test = goes_on(x)[0];
    const bool needs_guard = e.num_relays() != num_relays && e.options().layout;
    return Values{needs_guard ? guarded(e, test, p.jaxpr->axis_names) : test};
  });
  const std::string regions[] = {condition, body};
  run.restore();
  Values results = e.op("stablehlo.while", carry, types, {}, regions);
  run.leave(results);
  results.erase(results.begin());
  return results;
}

Values cond(Emitter& e, const Call& call) {
  const auto& branches = call.params<CondParams>().branches;
  bool has_effects = false;
  for (const ProgramPtr& branch : branches) has_effects = has_effects || is_ordered(*branch);
  const RunInRegion run(e, has_effects);
  const ShapeDtype number(DType::kInt32, {});
  const Value index = e.op("stablehlo.clamp",
                           {e.number(number, 0), call.inputs[0],
                            e.number(number, static_cast<double>(branches.size() - 1))},
                           number);
  std::vector<std::string> regions;
  for (const ProgramPtr& branch : branches) {
    regions.push_back(e.region({}, [&](const Values&) {
      run.enter_branch();
      Values results = e.program(*branch, call.inputs.subspan(1));
      run.append(results);
      return results;
    }));
  }
  run.restore();
  std::vector<ShapeDtype> types = call.results;
  if (has_effects) types.push_back(e.run().type);
  Values results = e.op("stablehlo.case", Values{index}, types, {}, regions);
  run.leave(results);
  return results;
}

}  // namespace

void add_control_flow(Rules& rules) {
  rules["while"] = while_loop;
  rules["scan"] = scan;
  rules["cond"] = cond;
}

}  // namespace farcall::stablehlo
