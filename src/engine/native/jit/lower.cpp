#include "engine/native/jit/lower.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/primitives/cluster.h>
#include <farcall/primitives/structural.h>
#include <farcall/program/walk.h>

#include "engine/native/jit/indexing.h"
#include "engine/native/jit/lowering.h"
#include "engine/native/kernels/movement/rows.h"

namespace farcall::native::jit {
namespace {

// Unrolled steps may contain other loops, so a short program can become long.
constexpr size_t kMostEquations = 20000, kMostRegs = 20000;

}  // namespace

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

Value Lowering::in_registers(Value value) {
  if (!value.place) return value;
  const Arg address = *places_.address_of(value);
  packing_.check(value.type);
  check_room();
  return jit::load(b_, packing_, value.type, address, LoadTime::kHere);
}

void Lowering::store_all(const Value& value, Arg address) {
  packing_.check(value.type);
  check_room();
  store(b_, packing_, value, address);
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
  for (const Equation* equation : reads_before_changes(program)) {
    check_room();
    Values operands;
    for (const Atom atom : equation->inputs) operands.push_back(value_of(atom));
    Values results = run(program, *equation, operands);
    for (size_t i = 0; i < results.size(); ++i) {
      // The result has the same elements but may have another shape.
      results[i].type = program.variable_types[equation->outputs[i]];
      values[equation->outputs[i]] = std::move(results[i]);
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
  const auto* cluster = try_params<ClusterParams>(params);
  // Collectives wait for other devices.
  const auto axis_names = equation.primitive->axis_names;
  if (axis_names && !axis_names(params).empty()) {
    throw Refusal{std::string(equation.primitive->name)};
  }
  if (cluster && computes_in_registers(*cluster->jaxpr)) return run(*cluster->jaxpr, inputs);
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
    case PrimitiveKind::kOperation:
    case PrimitiveKind::kView:
    case PrimitiveKind::kTranspose:
      break;
    default:
      throw Refusal{std::string(equation.primitive->name)};
  }
  if (equation.primitive->kind == PrimitiveKind::kProduct) {
    if (auto made = products_.add(b_, program, equation, inputs)) return {std::move(*made)};
    Values made = calls_.add(program, equation, inputs);
    if (is_in_memory(made[0])) ++num_calls_;
    return made;
  }
  if (auto made = run_inline(program, equation, inputs)) {
    ++num_inline_;
    return {std::move(*made)};
  }
  if (!cluster && !nested_programs(equation).empty()) {
    throw Refusal{std::string(equation.primitive->name)};
  }
  ++num_calls_;
  return calls_.add(program, equation, inputs);
}

// Whether registers can hold all that a cluster computes.
bool Lowering::computes_in_registers(const Program& cluster) const {
  return std::ranges::all_of(cluster.equations, [&](const Equation& equation) {
    return std::ranges::all_of(equation.outputs, [&](uint32_t output) {
      return packing_.holds(cluster.variable_types[output]);
    });
  });
}

std::optional<Value> Lowering::run_inline(const Program& program, const Equation& equation,
                                          std::span<const Value> inputs) {
  if (inputs.size() == 1 && is_in_memory(inputs[0])) {
    if (keeps_order(program, equation)) return inputs[0];
    if (auto made = moved_from_memory(b_, packing_, places_, program, equation, inputs[0])) {
      return made;
    }
  }
  try {
    Values operands(inputs.begin(), inputs.end());
    const bool is_at_position = is_indexing(equation);
    for (size_t i = is_at_position ? 1 : 0; i < operands.size(); ++i) {
      operands[i] = in_registers(std::move(operands[i]));
    }
    if (is_at_position) {
      if (auto made = indexed_in_registers(b_, packing_, program, equation, operands)) return made;
      if (!places_.address_of(operands[0])) {
        operands[0] = copied(operands[0], calls_.new_array(operands[0].type));
      }
      return indexed(b_, packing_, places_, program, equation, operands);
    }
    for (const uint32_t output : equation.outputs) packing_.check(program.variable_types[output]);
    return run_in_registers(program, equation, operands);
  } catch (const Refusal& refusal) {
    if (why_call_.empty()) why_call_ = refusal.why;
    return std::nullopt;
  }
}

Value Lowering::run_in_registers(const Program& program, const Equation& equation,
                                 std::span<const Value> inputs) {
  for (const Value& input : inputs) packing_.check(input.type);
  if (packing_.lanes == 1) {
    if (auto made = combined_elements(b_, program, equation, inputs)) return std::move(*made);
  } else if (keeps_order(program, equation)) {
    return inputs[0];
  } else if (auto made = combined_registers(program, equation, inputs, packing_.lanes)) {
    return std::move(*made);
  } else if (try_params<BroadcastInDimParams>(equation.params.get()) &&
             inputs[0].type.size() == 1) {
    const ShapeDtype type = program.variable_types[equation.outputs[0]];
    const Arg all = part_of(inputs[0], 0, packing_.lanes_of(type));
    return {type, std::vector<Arg>(packing_.num_parts(type), all)};
  }
  return run_elementwise(program, equation, inputs);
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

// ---- the whole

Code Lowering::finish() {
  if (num_calls_ > num_inline_) throw Refusal{why_call_};
  Code code = b_.finish();
  code.workspace_bytes = calls_.workspace_bytes();
  code.kernels = calls_.take_kernels();
  code.calls_kernels = num_calls_ > 0;
  code.in_place = std::move(in_place_);
  return code;
}

namespace {

// About the time of an instruction, in simple instructions.
int64_t cost_of(const Inst& inst) {
  constexpr int64_t kLoop = 8, kKernel = 50;
  return inst.op == Op::kKernel ? kKernel : inst.op == Op::kCall ? kLoop : 1;
}

int64_t cost_of(const Code& code) {
  int64_t cost = 0;
  for (const Inst& inst : code.insts) cost += cost_of(inst);
  return cost;
}

// Uses several elements in a register if possible, otherwise one; the one that costs less if it
// has to call kernels.
template <class Lower>
Code lower(std::initializer_list<const Program*> programs, Lower lower_with) {
  for (const Program* program : programs) {
    if (nesting_of(*program).num_equations > static_cast<int64_t>(kMostEquations)) {
      throw Refusal{"too many operations"};
    }
  }
  std::vector<Packing> packings = packings_of(programs);
  packings.emplace_back();
  std::optional<Code> best;
  for (const Packing& packing : packings) {
    try {
      Code code = lower_with(packing);
      const bool is_alone = !best && !code.calls_kernels;
      if (!best || cost_of(code) < cost_of(*best)) best = std::move(code);
      if (is_alone) break;
    } catch (const Refusal&) {
      if (&packing == &packings.back() && !best) throw;
    }
  }
  return std::move(*best);
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
