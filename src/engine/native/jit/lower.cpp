#include "engine/native/jit/lower.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/primitives/cluster.h>
#include <farcall/primitives/structural.h>

#include "core/internal/joined.h"
#include "engine/native/jit/builder.h"
#include "engine/native/jit/elements.h"
#include "engine/native/jit/packing.h"
#include "engine/native/jit/products.h"
#include "engine/native/kernels/movement/rows.h"

namespace farcall::native::jit {
namespace {

// The steps of an inner loop that is unrolled.
constexpr int64_t kMostUnrolled = 16;
// Unrolled steps may contain other loops, so a short program can become long.
constexpr size_t kMostEquations = 20000, kMostRegs = 20000;

using Values = std::vector<Value>;

class Lowering {
 public:
  explicit Lowering(Packing packing) : packing_(packing), products_(packing_) {}

  Code scan(const ScanParams& scan);
  Code while_loop(const WhileParams& loop);

 private:
  // The registers of a carry.
  struct Carried {
    Value value;
    std::vector<Reg> regs;
  };

  // ---- memory
  Arg pointer(size_t number) {
    return b_.add(Op::kPointer, general(8), {}, static_cast<int64_t>(number));
  }
  Value load(ShapeDtype type, Arg address) {
    check_room();
    return jit::load(b_, packing_, type, address);
  }
  // An array that no step changes; it stays in memory if it is large.
  Value invariant(ShapeDtype type, Arg address);
  Value constant(ShapeDtype type, const Storage& storage);
  void check_room();

  // ---- programs
  Values run(const Program& program, std::span<const Value> inputs);
  Values run(const Program& program, const Equation& equation, std::span<const Value> inputs);
  Value run_elementwise(const Program& program, const Equation& equation,
                        std::span<const Value> inputs);
  Values run_scan(const ScanParams& scan, std::span<const Value> inputs);
  Values run_while(const WhileParams& loop, std::span<const Value> inputs);
  Values run_cond(const CondParams& cond, std::span<const Value> inputs);
  // A while loop over `carries`. `after_step` adds instructions after each step.
  void loop_while(std::vector<Carried>& carries, const WhileParams& loop,
                  std::span<const Value> condition_consts, std::span<const Value> body_consts,
                  const std::function<void()>& after_step);
  void loop_count(std::vector<Carried>& carries, Arg count, const std::function<Values()>& body);
  Carried begin_carry(const Value& initial);
  void end_step(std::vector<Carried>& carries, std::span<const Value> results);
  Arg part_of(const Value& value, size_t part, int lanes);

  Code finish();

  const Packing packing_;
  Builder b_;
  Products products_;
  size_t num_equations_ = 0;
};

Values values_of(const auto& carries) {
  Values values;
  for (const auto& carried : carries) values.push_back(carried.value);
  return values;
}

// ---- memory

void Lowering::check_room() {
  if (++num_equations_ > kMostEquations || b_.num_regs() > kMostRegs) {
    throw Refusal{"too many operations"};
  }
}

Value Lowering::invariant(ShapeDtype type, Arg address) {
  if (!packing_.fits(type)) return {type, {}, address};
  packing_.check(type);
  Value value = load(type, address);
  value.address = address;
  return value;
}

Value Lowering::constant(ShapeDtype type, const Storage& storage) {
  if (type.is_token() || type.size() == 0) return {type, {}};
  // The constant lives as long as the program.
  const Arg address = Arg::constant(std::bit_cast<uint64_t>(storage.data()));
  if (!packing_.fits(type) || (packing_.lanes > 1 && type.size() > 1)) {
    return invariant(type, address);
  }
  packing_.check(type);
  Value value{type, {}, address};
  const auto* element = static_cast<const std::byte*>(storage.data());
  for (int64_t i = 0; i < type.size(); ++i, element += byte_width(type.dtype())) {
    value.parts.push_back(Arg::constant(element_bits(type.dtype(), element)));
  }
  return value;
}

// ---- programs

Values Lowering::run(const Program& program, std::span<const Value> inputs) {
  Values values(program.variable_types.size());
  for (size_t i = 0; i < inputs.size(); ++i) values[program.inputs[i]] = inputs[i];
  for (const Constant& each : program.constants) {
    const ShapeDtype type = program.variable_types[each.variable];
    values[each.variable] = constant(type, each.storage);
  }
  const auto value_of = [&](Atom atom) -> Value {
    if (!atom.is_variable()) {
      const Literal& literal = program.literals[atom.index];
      check_dtype(literal.type.dtype());
      return {literal.type,
              {Arg::constant(element_bits(literal.type.dtype(), literal.bytes.data()))}};
    }
    return values[atom.index];
  };
  for (const Equation& equation : program.equations) {
    check_room();
    Values operands;
    for (const Atom atom : equation.inputs) operands.push_back(value_of(atom));
    for (const uint32_t output : equation.outputs) packing_.check(program.variable_types[output]);
    Values results = run(program, equation, operands);
    for (size_t i = 0; i < results.size(); ++i) {
      // The result has the same elements but may have another shape.
      results[i].type = program.variable_types[equation.outputs[i]];
      values[equation.outputs[i]] = std::move(results[i]);
    }
  }
  Values results;
  for (const Atom output : program.outputs) results.push_back(value_of(output));
  return results;
}

Values Lowering::run(const Program& program, const Equation& equation,
                     std::span<const Value> inputs) {
  const Params* params = equation.params.get();
  if (equation.effects != Effects::kNone) {
    throw Refusal{fmt::format("{}, which has an effect", equation.primitive->name)};
  }
  if (const auto* cluster = try_params<ClusterParams>(params)) return run(*cluster->jaxpr, inputs);
  switch (equation.primitive->kind) {
    case PrimitiveKind::kScan:
      return run_scan(params_as<ScanParams>(params), inputs);
    case PrimitiveKind::kWhile:
      return run_while(params_as<WhileParams>(params), inputs);
    case PrimitiveKind::kCond:
      return run_cond(params_as<CondParams>(params), inputs);
    case PrimitiveKind::kBarrier:
      return {inputs.begin(), inputs.end()};
    case PrimitiveKind::kProduct:
      return {products_.add(b_, program, equation, inputs)};
    case PrimitiveKind::kOperation:
    case PrimitiveKind::kView:
    case PrimitiveKind::kTranspose:
      break;
    default:
      throw Refusal{std::string(equation.primitive->name)};
  }
  for (const Value& input : inputs) packing_.check(input.type);
  if (packing_.lanes == 1) {
    if (auto made = combined_elements(b_, program, equation, inputs)) return {std::move(*made)};
  } else if (keeps_order(program, equation)) {
    return {inputs[0]};
  } else if (auto made = combined_registers(program, equation, inputs, packing_.lanes)) {
    return {std::move(*made)};
  } else if (try_params<BroadcastInDimParams>(params) && inputs[0].type.size() == 1) {
    const ShapeDtype type = program.variable_types[equation.outputs[0]];
    const Arg all = part_of(inputs[0], 0, packing_.lanes_of(type));
    return {{type, std::vector<Arg>(packing_.num_parts(type), all)}};
  }
  return {run_elementwise(program, equation, inputs)};
}

// One part of an operand; a single element is repeated in all lanes.
Arg Lowering::part_of(const Value& value, size_t part, int lanes) {
  if (value.type.size() > 1) return value.parts[part];
  const Arg one = value.parts[0];
  if (lanes == 1) return one;
  const RegType scalar = reg_type(value.type.dtype(), 1, packing_.mask_width);
  const RegType whole = reg_type(value.type.dtype(), lanes, packing_.mask_width);
  if (value.type.dtype() == DType::kBool) {
    return b_.mask_of_bool(whole, one);
  }
  if (one.is_const()) return one;
  if (scalar.bank == Bank::kVector) return b_.add(Op::kBroadcast, whole, {one});
  const RegType lane = vector(scalar.width, 1);
  return b_.add(Op::kBroadcast, whole, {b_.add(Op::kBitsToVector, lane, {one})});
}

Value Lowering::run_elementwise(const Program& program, const Equation& equation,
                                std::span<const Value> inputs) {
  if (inputs.empty() || equation.outputs.size() != 1 ||
      !find_elementwise(equation.primitive->name)) {
    throw Refusal{std::string(equation.primitive->name)};
  }
  const ShapeDtype type = program.variable_types[equation.outputs[0]];
  const int lanes = packing_.lanes_of(type);
  const Operation operation = operation_of(program, equation);
  Value result{type, {}};
  for (size_t part = 0; part < packing_.num_parts(type); ++part) {
    std::vector<Arg> args;
    for (const Value& input : inputs) args.push_back(part_of(input, part, lanes));
    result.parts.push_back(elementwise(b_, operation, args, lanes, packing_.mask_width));
  }
  return result;
}

// ---- loops

Lowering::Carried Lowering::begin_carry(const Value& initial) {
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
void Lowering::end_step(std::vector<Carried>& carries, std::span<const Value> results) {
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
  b_.begin_loop();
  b_.jump(test);
  b_.label(body);
  end_step(carries, run(*loop.body_jaxpr, joined<Values>(body_consts, values_of(carries))));
  after_step();
  b_.effect({.op = Op::kCountDown});
  b_.label(test);
  const auto holds = run(*loop.cond_jaxpr, joined<Values>(condition_consts, values_of(carries)));
  b_.branch_if(holds[0].parts[0], body);
  b_.end_loop();
  for (const Carried& carried : carries)
    std::ranges::for_each(carried.regs, [&](Reg r) { b_.settle(r); });
}

void Lowering::loop_count(std::vector<Carried>& carries, Arg count,
                          const std::function<Values()>& body) {
  const RegType type = general(8);
  const Reg left = b_.new_carry(type);
  b_.move(left, type, count);
  const uint32_t top = b_.new_label();
  b_.begin_loop();
  b_.label(top);
  end_step(carries, body());
  b_.effect({.op = Op::kCountDown});
  b_.move(left, type, b_.add(Op::kSub, type, {Arg::reg(left), Arg::constant(1)}));
  b_.branch(Cond::kNe, type, Arg::reg(left), Arg::constant(0), top);
  b_.end_loop();
  for (const Carried& carried : carries)
    std::ranges::for_each(carried.regs, [&](Reg r) { b_.settle(r); });
}

Values Lowering::run_while(const WhileParams& loop, std::span<const Value> inputs) {
  const auto num_condition = static_cast<size_t>(loop.cond_nconsts);
  const auto num_body = static_cast<size_t>(loop.body_nconsts);
  std::vector<Carried> carries;
  for (const Value& initial : inputs.subspan(num_condition + num_body)) {
    carries.push_back(begin_carry(initial));
  }
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
  const std::span<const Value> xs = inputs.subspan(num_consts + num_carry);
  const size_t num_ys = scan.jaxpr->outputs.size() - num_carry;
  if (xs.empty() && num_ys == 0 && scan.length > 0) {
    std::vector<Carried> carries;
    for (const Value& each : initial) carries.push_back(begin_carry(each));
    loop_count(carries, Arg::constant(static_cast<uint64_t>(scan.length)),
               [&] { return run(*scan.jaxpr, joined<Values>(consts, values_of(carries))); });
    return values_of(carries);
  }
  if (packing_.lanes > 1 || scan.length > kMostUnrolled || scan.length == 0) {
    throw Refusal{fmt::format("a scan of {} slices inside", scan.length)};
  }
  for (const Value& x : xs) packing_.check(x.type);
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
      const std::vector<Arg>& slice = results[num_carry + y].parts;
      std::vector<Arg>& all = ys[y].parts;
      all.insert(scan.reverse ? all.begin() : all.end(), slice.begin(), slice.end());
    }
    results.resize(num_carry);
    carry = std::move(results);
  }
  return joined<Values>(carry, ys);
}

Values Lowering::run_cond(const CondParams& cond, std::span<const Value> inputs) {
  const Arg number = inputs[0].parts[0];
  const std::span<const Value> operands = inputs.subspan(1);
  const size_t last = cond.branches.size() - 1;
  Values results;
  std::vector<RegType> types;
  for (const ShapeDtype& type : cond.branches[0]->output_types()) {
    packing_.check(type);
    results.push_back({type, {}});
    types.push_back(packing_.reg_type_of(type));
    for (size_t part = 0; part < packing_.num_parts(type); ++part) {
      results.back().parts.push_back(Arg::reg(b_.new_reg(types.back())));
    }
  }
  const uint32_t end = b_.new_label();
  for (size_t i = 0; i <= last; ++i) {
    const uint32_t next = b_.new_label();
    // Indices out of range select the nearest branch.
    if (i < last) b_.branch(Cond::kGt, general(4), number, Arg::constant(i), next);
    const Values made = run(*cond.branches[i], operands);
    for (size_t r = 0; r < results.size(); ++r) {
      for (size_t part = 0; part < made[r].parts.size(); ++part) {
        b_.move(results[r].parts[part].as_reg(), types[r], made[r].parts[part]);
      }
    }
    if (i < last) b_.jump(end);
    b_.label(next);
  }
  b_.label(end);
  return results;
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
  for (size_t i = num_consts; i < num_consts + num_carry; ++i) {
    packing_.check(inputs[i]);
    carries.push_back(begin_carry(load(inputs[i], pointer(i))));
  }
  // The addresses of the slices.
  const RegType address = general(8);
  std::vector<Reg> places;
  std::vector<ShapeDtype> slices;
  for (size_t i = num_consts + num_carry; i < inputs.size() + num_carry + num_ys; ++i) {
    const bool is_x = i < inputs.size();
    if (!is_x && i < inputs.size() + num_carry) continue;
    slices.push_back(is_x ? inputs[i] : outputs[i - inputs.size()]);
    packing_.check(slices.back());
    places.push_back(b_.new_carry(address));
    b_.move(places.back(), address, pointer(i));
  }
  loop_count(carries, b_.add(Op::kCount, address, {}), [&] {
    Values operands = joined<Values>(consts, values_of(carries));
    for (size_t i = 0; i < num_xs; ++i) operands.push_back(load(slices[i], Arg::reg(places[i])));
    Values results = run(*scan.jaxpr, operands);
    for (size_t i = 0; i < num_ys; ++i) {
      store(b_, packing_, results[num_carry + i], Arg::reg(places[num_xs + i]));
    }
    for (size_t i = 0; i < places.size(); ++i) {
      const auto bytes = static_cast<int64_t>(slices[i].nbytes());
      b_.move(places[i], address, offset(b_, Arg::reg(places[i]), scan.reverse ? -bytes : bytes));
    }
    return results;
  });
  for (size_t i = 0; i < num_carry; ++i)
    store(b_, packing_, carries[i].value, pointer(inputs.size() + i));
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
    const ShapeDtype type = body_types[num_body + i];
    packing_.check(type);
    carries.push_back(begin_carry(load(type, pointer(first + i))));
  }
  const RegType type = general(8);
  const Reg count = b_.new_carry(type);
  b_.move(count, type, Arg::constant(0));
  loop_while(carries, loop, condition_consts, body_consts, [&] {
    b_.move(count, type, b_.add(Op::kAdd, type, {Arg::reg(count), Arg::constant(1)}));
  });
  for (size_t i = 0; i < num_carry; ++i) {
    store(b_, packing_, carries[i].value, pointer(first + num_carry + i));
  }
  b_.effect({.op = Op::kSetCount, .args = {Arg::reg(count)}});
  return finish();
}

Code Lowering::finish() {
  Code code = b_.finish();
  code.workspace_bytes = products_.workspace_bytes();
  code.kernels = products_.take_kernels();
  return code;
}

// Uses several elements in a register if possible, otherwise one.
template <class Lower>
Code lower(std::initializer_list<const Program*> programs, Lower lower_with) {
  for (const Packing& packing : packings_of(programs)) {
    try {
      return lower_with(packing);
    } catch (const Refusal&) {
    }
  }
  return lower_with(Packing());
}

}  // namespace

Code lower_scan(const ScanParams& scan) {
  return lower({scan.jaxpr.get()}, [&](Packing packing) { return Lowering(packing).scan(scan); });
}

Code lower_while(const WhileParams& loop) {
  return lower({loop.cond_jaxpr.get(), loop.body_jaxpr.get()},
               [&](Packing packing) { return Lowering(packing).while_loop(loop); });
}

}  // namespace farcall::native::jit
