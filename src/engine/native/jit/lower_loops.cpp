// Loops and branches: their carries are in registers, or stay in memory.

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/internal/joined.h"
#include "engine/native/jit/elementwise.h"
#include "engine/native/jit/indexing.h"
#include "engine/native/jit/lowering.h"

namespace farcall::native::jit {
namespace {

// The steps of an inner loop that is unrolled.
constexpr int64_t kMostUnrolled = 16;

bool is_same_place(const Value& x, const Value& y) {
  return x.place && y.place && x.place->number == y.place->number;
}

Values values_of(const auto& carries) {
  Values values;
  for (const auto& carried : carries) values.push_back(carried.value);
  return values;
}

}  // namespace

std::vector<Lowering::Carried> Lowering::begin_carries(std::span<const Value> initial) {
  std::vector<Carried> carries;
  std::unordered_set<size_t> places;
  for (const Value& each : initial) {
    if (each.place && !places.insert(each.place->number).second) {
      throw Refusal{"an array that is carried twice"};
    }
    carries.push_back(begin_carry(each));
  }
  return carries;
}

Value Lowering::copied(const Value& value, const Value& place) {
  const std::optional<Arg> from = is_in_memory(value) ? places_.address_of(value) : std::nullopt;
  Value made = places_.changed(place);
  const Arg to = *places_.address_of(made);
  from ? calls_.copy(to, *from, value.type.nbytes()) : store_all(value, to);
  return made;
}

Lowering::Carried Lowering::begin_outer_carry(const Program& body, size_t input, size_t initial,
                                              size_t result) {
  const ShapeDtype type = body.variable_types[body.inputs[input]];
  if (type.is_token() || type.size() == 0 || (packing_.fits(type) && !is_indexed(body, input))) {
    packing_.check(type);
    return begin_carry(load(type, pointer(initial)));
  }
  in_place_.push_back({initial, result, type.nbytes()});
  return {places_.add(type, pointer(result)), {}};
}

Lowering::Carried Lowering::begin_carry(const Value& initial) {
  if (initial.place) {
    places_.address_of(initial);  // checks the version
    return {places_.changed(initial), {}};
  }
  if (is_in_memory(initial)) return {copied(initial, calls_.new_array(initial.type)), {}};
  packing_.check(initial.type);
  Carried carried{{initial.type, {}}, {}};
  const RegType type = packing_.reg_type_of(initial.type);
  for (const Arg& part : initial.parts) {
    const Reg reg = b_.new_carry(type);
    b_.move(reg, type, part);
    carried.regs.push_back(reg);
    carried.value.parts.push_back(Arg::reg(reg));
  }
  return carried;
}

// All registers of the carry change at once: a register that another one still needs is copied
// first.
void Lowering::end_step(std::vector<Carried>& carries, std::vector<Value> results) {
  std::unordered_set<size_t> places;
  for (const Carried& carried : carries) {
    if (carried.value.place) places.insert(carried.value.place->number);
  }
  for (size_t i = 0; i < carries.size(); ++i) {
    Value& result = results[i];
    const Value& carried = carries[i].value;
    if (is_same_place(result, carried) ||
        (carried.place && is_in_memory(result) && !packing_.holds(result.type))) {
      places_.address_of(result);  // checks the version
      if (result.place && result.place->number != carried.place->number &&
          places.contains(result.place->number)) {
        throw Refusal{"arrays that change places"};
      }
    } else {
      result = in_registers(std::move(result));
    }
  }
  for (size_t i = 0; i < carries.size(); ++i) {
    Value& value = carries[i].value;
    if (!value.place) continue;
    value = is_same_place(results[i], value) ? places_.changed(value) : copied(results[i], value);
  }
  struct Change {
    Reg to;
    RegType type;
    Arg from;
  };
  std::vector<Change> changes;
  std::unordered_set<Reg> changing;
  for (size_t i = 0; i < carries.size(); ++i) {
    const RegType type = packing_.reg_type_of(carries[i].value.type);
    for (size_t part = 0; part < carries[i].regs.size(); ++part) {
      const Arg from = results[i].parts[part];
      if (from == Arg::reg(carries[i].regs[part])) continue;
      changing.insert(carries[i].regs[part]);
      changes.push_back({carries[i].regs[part], type, from});
    }
  }
  for (Change& change : changes) {
    if (!change.from.is_reg() || !changing.contains(change.from.as_reg())) continue;
    const Reg kept = b_.new_reg(change.type);
    b_.move(kept, change.type, change.from);
    change.from = Arg::reg(kept);
  }
  for (const Change& change : changes) b_.move(change.to, change.type, change.from);
}

void Lowering::loop_while(std::vector<Carried>& carries, const WhileParams& loop,
                          std::span<const Value> condition_consts,
                          std::span<const Value> body_consts,
                          const std::function<void()>& after_step) {
  const uint32_t body = b_.new_label(), test = b_.new_label();
  const std::vector<uint32_t> before = places_.versions();
  b_.begin_loop();
  b_.jump(test);
  b_.label(body);
  end_step(carries, run(*loop.body_jaxpr, joined<Values>(body_consts, values_of(carries))));
  after_step();
  b_.effect({.op = Op::kCountDown});
  b_.label(test);
  const std::vector<uint32_t> after = places_.versions();
  auto holds = run(*loop.cond_jaxpr, joined<Values>(condition_consts, values_of(carries)));
  b_.branch_if(in_registers(std::move(holds[0])).parts[0], body);
  if (!places_.changed_since(after).empty()) throw Refusal{"a condition that changes an array"};
  end_loop(carries, before);
}

void Lowering::end_loop(const std::vector<Carried>& carries, const std::vector<uint32_t>& before) {
  b_.end_loop();
  std::unordered_set<size_t> carried_places;
  for (const Carried& carried : carries) {
    std::ranges::for_each(carried.regs, [&](Reg r) { b_.settle(r); });
    if (carried.value.place) carried_places.insert(carried.value.place->number);
  }
  for (const size_t place : places_.changed_since(before)) {
    if (!carried_places.contains(place)) {
      throw Refusal{"a loop that changes an array from outside"};
    }
  }
}

void Lowering::loop_count(std::vector<Carried>& carries, Arg count,
                          const std::function<Values()>& body) {
  const RegType type = general(8);
  const Reg left = b_.new_carry(type);
  b_.move(left, type, count);
  const uint32_t top = b_.new_label();
  const std::vector<uint32_t> before = places_.versions();
  b_.begin_loop();
  b_.label(top);
  end_step(carries, body());
  b_.effect({.op = Op::kCountDown});
  b_.move(left, type, b_.add(Op::kSub, type, {Arg::reg(left), Arg::constant(1)}));
  b_.branch(Cond::kNe, type, Arg::reg(left), Arg::constant(0), top);
  end_loop(carries, before);
}

Values Lowering::run_while(const WhileParams& loop, std::span<const Value> inputs) {
  const auto num_condition = static_cast<size_t>(loop.cond_nconsts);
  const auto num_body = static_cast<size_t>(loop.body_nconsts);
  std::vector<Carried> carries = begin_carries(inputs.subspan(num_condition + num_body));
  loop_while(carries, loop, inputs.first(num_condition), inputs.subspan(num_condition, num_body),
             [] {});
  return values_of(carries);
}

// Element i of the leading dimension.
Value slice_of(const Value& value, int64_t i, ShapeDtype type) {
  const auto first = value.parts.begin() + i * type.size();
  return {type, std::vector<Arg>(first, first + type.size())};
}

Values Lowering::run_scan(const ScanParams& scan, std::span<const Value> inputs) {
  const auto num_consts = static_cast<size_t>(scan.num_consts);
  const auto num_carry = static_cast<size_t>(scan.num_carry);
  const std::span<const Value> consts = inputs.first(num_consts);
  const std::span<const Value> initial = inputs.subspan(num_consts, num_carry);
  Values xs(inputs.begin() + scan.num_consts + scan.num_carry, inputs.end());
  const size_t num_ys = scan.jaxpr->outputs.size() - num_carry;
  if (xs.empty() && num_ys == 0 && scan.length > 0) {
    std::vector<Carried> carries = begin_carries(initial);
    loop_count(carries, Arg::number(scan.length),
               [&] { return run(*scan.jaxpr, joined<Values>(consts, values_of(carries))); });
    return values_of(carries);
  }
  if (packing_.lanes > 1 || scan.length > kMostUnrolled || scan.length == 0) {
    throw Refusal{fmt::format("a scan of {} slices inside", scan.length)};
  }
  for (Value& x : xs) {
    packing_.check(x.type);
    x = in_registers(std::move(x));
  }
  // Unrolls the steps.
  Values carry(initial.begin(), initial.end());
  Values ys(num_ys);
  const auto types = scan.jaxpr->input_types();
  for (int64_t i = 0; i < scan.length; ++i) {
    const int64_t step = scan.reverse ? scan.length - 1 - i : i;
    Values operands = joined<Values>(consts, carry);
    for (size_t x = 0; x < xs.size(); ++x) {
      operands.push_back(slice_of(xs[x], step, types[num_consts + num_carry + x]));
    }
    Values results = run(*scan.jaxpr, operands);
    for (size_t y = 0; y < num_ys; ++y) {
      const std::vector<Arg> slice = in_registers(std::move(results[num_carry + y])).parts;
      std::vector<Arg>& all = ys[y].parts;
      all.insert(scan.reverse ? all.begin() : all.end(), slice.begin(), slice.end());
    }
    results.resize(num_carry);
    carry = std::move(results);
  }
  return joined<Values>(carry, ys);
}

Values Lowering::run_cond(const CondParams& cond, std::span<const Value> inputs) {
  const Arg number = in_registers(inputs[0]).parts[0];
  const std::span<const Value> operands = inputs.subspan(1);
  const size_t last = cond.branches.size() - 1;
  Values results;
  const std::vector<uint32_t> before = places_.versions();
  std::unordered_set<size_t> changed;  // places
  const uint32_t end = b_.new_label();
  for (size_t i = 0; i <= last; ++i) {
    const uint32_t next = b_.new_label();
    // Indices out of range select the nearest branch.
    if (i < last) b_.branch(Cond::kGt, general(4), number, Arg::constant(i), next);
    places_.go_back(before);
    Values made = run(*cond.branches[i], operands);
    if (i == 0) {
      std::unordered_set<size_t> used;
      for (const Value& each : made) results.push_back(result_like(each, used));
    }
    assign(results, std::move(made));
    for (const size_t place : places_.changed_since(before)) changed.insert(place);
    if (i < last) b_.jump(end);
    b_.label(next);
  }
  b_.label(end);
  places_.go_back(before);
  std::ranges::for_each(changed, [&](size_t place) { places_.renew(place); });
  for (Value& result : results) {
    if (result.place) result = places_.current(result);
  }
  return results;
}

// The result of branches, of which the first one gives this value: its place, or new registers.
Value Lowering::result_like(const Value& value, std::unordered_set<size_t>& used) {
  if (value.place && used.insert(value.place->number).second) return value;
  if (is_in_memory(value) && !packing_.holds(value.type)) return calls_.new_array(value.type);
  packing_.check(value.type);
  Value result{value.type, {}};
  for (size_t part = 0; part < packing_.num_parts(value.type); ++part) {
    result.parts.push_back(Arg::reg(b_.new_reg(packing_.reg_type_of(value.type))));
  }
  return result;
}

// Gives the results of branches the values of one branch.
void Lowering::assign(std::span<const Value> results, Values values) {
  for (size_t i = 0; i < results.size(); ++i) {
    const bool stays = is_same_place(values[i], results[i]) ||
                       (results[i].place && !packing_.holds(results[i].type));
    if (!stays) values[i] = in_registers(std::move(values[i]));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (is_same_place(values[i], results[i])) {
      places_.address_of(values[i]);  // checks the version
    } else if (results[i].place) {
      copied(values[i], results[i]);
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    for (size_t part = 0; part < results[i].parts.size(); ++part) {
      b_.move(results[i].parts[part].as_reg(), packing_.reg_type_of(results[i].type),
              values[i].parts[part]);
    }
  }
}

// ---- the whole

Code Lowering::scan(const ScanParams& scan) {
  const auto num_consts = static_cast<size_t>(scan.num_consts);
  const auto num_carry = static_cast<size_t>(scan.num_carry);
  const auto inputs = scan.jaxpr->input_types(), outputs = scan.jaxpr->output_types();
  const size_t num_xs = inputs.size() - num_consts - num_carry;
  const size_t num_ys = outputs.size() - num_carry;
  Values consts;
  for (size_t i = 0; i < num_consts; ++i) consts.push_back(invariant(inputs[i], pointer(i)));
  std::vector<Carried> carries;
  for (size_t i = 0; i < num_carry; ++i) {
    const size_t input = num_consts + i;
    carries.push_back(begin_outer_carry(*scan.jaxpr, input, input, inputs.size() + i));
  }
  // The addresses of the slices.
  const RegType address = general(8);
  std::vector<Reg> places;
  std::vector<ShapeDtype> slices;
  for (size_t i = num_consts + num_carry; i < inputs.size() + num_carry + num_ys; ++i) {
    const bool is_x = i < inputs.size();
    if (!is_x && i < inputs.size() + num_carry) continue;
    slices.push_back(is_x ? inputs[i] : outputs[i - inputs.size()]);
    places.push_back(b_.new_carry(address));
    b_.move(places.back(), address, pointer(i));
  }
  loop_count(carries, b_.add(Op::kCount, address, {}), [&] {
    Values operands = joined<Values>(consts, values_of(carries));
    for (size_t i = 0; i < num_xs; ++i) {
      operands.push_back(invariant(slices[i], Arg::reg(places[i])));
    }
    Values results = run(*scan.jaxpr, operands);
    // The slices of the results may take the memory of those of the arrays.
    for (Value& result : results) {
      if (!is_in_memory(result) || result.place) continue;
      result = copied(result, calls_.new_array(result.type));
    }
    for (size_t i = 0; i < num_ys; ++i) {
      Value& y = results[num_carry + i];
      const Arg to = Arg::reg(places[num_xs + i]);
      if (is_in_memory(y) && !packing_.holds(y.type)) {
        calls_.copy(to, *places_.address_of(y), y.type.nbytes());
      } else {
        store_all(in_registers(std::move(y)), to);
      }
    }
    results.resize(num_carry);
    for (size_t i = 0; i < places.size(); ++i) {
      const auto bytes = static_cast<int64_t>(slices[i].nbytes());
      b_.move(places[i], address, offset(b_, Arg::reg(places[i]), scan.reverse ? -bytes : bytes));
    }
    return results;
  });
  for (size_t i = 0; i < num_carry; ++i) {
    const Value& value = carries[i].value;
    if (!value.place) store(b_, packing_, value, pointer(inputs.size() + i));
  }
  return finish();
}

Code Lowering::while_loop(const WhileParams& loop) {
  const auto num_condition = static_cast<size_t>(loop.cond_nconsts);
  const auto num_body = static_cast<size_t>(loop.body_nconsts);
  const auto condition_types = loop.cond_jaxpr->input_types();
  const auto body_types = loop.body_jaxpr->input_types();
  Values condition_consts, body_consts;
  for (size_t i = 0; i < num_condition; ++i) {
    condition_consts.push_back(invariant(condition_types[i], pointer(i)));
  }
  for (size_t i = 0; i < num_body; ++i) {
    body_consts.push_back(invariant(body_types[i], pointer(num_condition + i)));
  }
  std::vector<Carried> carries;
  const size_t first = num_condition + num_body, num_carry = loop.body_jaxpr->outputs.size();
  for (size_t i = 0; i < num_carry; ++i) {
    carries.push_back(
        begin_outer_carry(*loop.body_jaxpr, num_body + i, first + i, first + num_carry + i));
  }
  const RegType type = general(8);
  const Reg count = b_.new_carry(type);
  b_.move(count, type, Arg::constant(0));
  loop_while(carries, loop, condition_consts, body_consts, [&] {
    b_.move(count, type, b_.add(Op::kAdd, type, {Arg::reg(count), Arg::constant(1)}));
  });
  for (size_t i = 0; i < num_carry; ++i) {
    const Value& value = carries[i].value;
    if (!value.place) store(b_, packing_, value, pointer(first + num_carry + i));
  }
  b_.effect({.op = Op::kSetCount, .args = {Arg::reg(count)}});
  return finish();
}

}  // namespace farcall::native::jit
