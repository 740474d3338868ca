#include "engine/native/jit/lower.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/layout.h>
#include <farcall/primitives/cluster.h>
#include <farcall/program/walk.h>

#include "engine/native/jit/builder.h"
#include "engine/native/jit/elements.h"
#include "engine/native/jit/encode.h"
#include "engine/native/kernels/movement/rows.h"

namespace farcall::native::jit {
namespace {

// Limits: the elements of an array with one element per register, those of an array with several,
// and the steps of an inner loop that is unrolled.
constexpr int64_t kMostElements = 32, kMostLanes = 64, kMostUnrolled = 16;
// Unrolled steps may contain other loops, so a short program can become long.
constexpr size_t kMostEquations = 20000, kMostRegs = 20000;

// How registers hold arrays of more than one element.
struct Packing {
  int lanes = 1;       // elements in a register
  int mask_width = 4;  // bytes of a lane, also in masks
};

// Determines whether arrays can have several elements in a register: all must have one size and
// width.
class ArraySizes {
 public:
  void add(const Program& program) {
    for_each_program(program, [this](const Program& each) {
      for (const ShapeDtype& type : each.variable_types) {
        if (type.is_token() || type.size() <= 1) continue;
        sizes_.insert(type.size());
        if (type.dtype() != DType::kBool) widths_.insert(byte_width(type.dtype()));
      }
    });
  }

  std::optional<Packing> packing() const {
    if (sizes_.size() != 1 || widths_.size() != 1 || *sizes_.begin() > kMostLanes) return {};
    const auto width = static_cast<int>(*widths_.begin());
    if (width != 4 && width != 8) return {};
    const auto size = static_cast<unsigned>(*sizes_.begin());
    const int most = processor().vector_bytes / width, least = 16 / width;
    return Packing{std::clamp(static_cast<int>(std::bit_ceil(size)), least, most), width};
  }

 private:
  std::set<int64_t> sizes_;
  std::set<size_t> widths_;
};

class Lowering {
 public:
  explicit Lowering(Packing packing) : packing_(packing) {}

  Code scan(const ScanParams& scan);
  Code while_loop(const WhileParams& loop);

 private:
  // The registers of a carry.
  struct Carried {
    Value value;
    std::vector<Reg> regs;
  };

  int lanes_of(ShapeDtype type) const { return type.size() > 1 ? packing_.lanes : 1; }
  RegType reg_type_of(ShapeDtype type) const {
    return reg_type(type.dtype(), lanes_of(type), packing_.mask_width);
  }
  size_t num_parts(ShapeDtype type) const {
    const int64_t lanes = lanes_of(type);
    return static_cast<size_t>((type.size() + lanes - 1) / lanes);
  }

  // ---- memory
  Arg pointer(size_t number) {
    return b_.add(Op::kPointer, general(8), {}, static_cast<int64_t>(number));
  }
  Arg offset(Arg address, int64_t bytes) {
    return bytes == 0 ? address
                      : b_.add(Op::kAdd, general(8),
                               {address, Arg::constant(static_cast<uint64_t>(bytes))});
  }
  Value load(ShapeDtype type, Arg address);
  void store(const Value& value, Arg address);
  Value constant(ShapeDtype type, const Storage& storage);
  void check_size(ShapeDtype type) const;
  void check_room();
  // The bytes in memory of one part of an array.
  int part_bytes(ShapeDtype type, size_t part) const;

  // ---- programs
  std::vector<Value> run(const Program& program, std::span<const Value> inputs);
  std::vector<Value> run(const Program& program, const Equation& equation,
                         std::span<const Value> inputs);
  Value run_elementwise(const Program& program, const Equation& equation,
                        std::span<const Value> inputs);
  std::vector<Value> run_scan(const ScanParams& scan, std::span<const Value> inputs);
  std::vector<Value> run_while(const WhileParams& loop, std::span<const Value> inputs);
  std::vector<Value> run_cond(const CondParams& cond, std::span<const Value> inputs);
  // A while loop over `carries`. `after_step` adds instructions after each step.
  void loop_while(std::vector<Carried>& carries, const WhileParams& loop,
                  std::span<const Value> condition_consts, std::span<const Value> body_consts,
                  const std::function<void()>& after_step);
  void loop_count(std::vector<Carried>& carries, Arg count,
                  const std::function<std::vector<Value>()>& body);
  Carried begin_carry(const Value& initial);
  void end_step(std::vector<Carried>& carries, std::span<const Value> results);
  Arg part_of(const Value& value, size_t part, int lanes);

  const Packing packing_;
  Builder b_;
  size_t num_equations_ = 0;
};

std::vector<Value> values_of(const auto& carries) {
  std::vector<Value> values;
  for (const auto& carried : carries) values.push_back(carried.value);
  return values;
}

std::vector<Value> joined(std::span<const Value> first, std::span<const Value> second) {
  std::vector<Value> all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

// ---- memory

void Lowering::check_size(ShapeDtype type) const {
  if (type.is_token()) throw Refusal{"a token"};
  check_dtype(type.dtype());
  const int64_t most = packing_.lanes > 1 ? kMostLanes : kMostElements;
  if (type.size() > most || type.size() == 0) {
    throw Refusal{fmt::format("an array of {} elements", type.size())};
  }
}

void Lowering::check_room() {
  if (++num_equations_ > kMostEquations || b_.num_regs() > kMostRegs) {
    throw Refusal{"too many operations"};
  }
}

int Lowering::part_bytes(ShapeDtype type, size_t part) const {
  const int64_t lanes = lanes_of(type);
  const int64_t left = type.size() - static_cast<int64_t>(part) * lanes;
  return static_cast<int>(std::min(left, lanes) * static_cast<int64_t>(byte_width(type.dtype())));
}

Value Lowering::load(ShapeDtype type, Arg address) {
  check_room();
  Value value{type, {}};
  const RegType reg = reg_type_of(type);
  if (type.dtype() == DType::kBool && lanes_of(type) > 1) throw Refusal{"several bools at a time"};
  int64_t at = 0;
  for (size_t part = 0; part < num_parts(type); ++part) {
    const int bytes = part_bytes(type, part);
    value.parts.push_back(b_.add({.op = Op::kLoad,
                                  .bytes = static_cast<uint8_t>(bytes),
                                  .type = reg,
                                  .args = {offset(address, at)}}));
    at += bytes;
  }
  return value;
}

void Lowering::store(const Value& value, Arg address) {
  const ShapeDtype type = value.type;
  if (type.dtype() == DType::kBool && lanes_of(type) > 1) throw Refusal{"several bools at a time"};
  int64_t at = 0;
  for (size_t part = 0; part < value.parts.size(); ++part) {
    const int bytes = part_bytes(type, part);
    b_.store(offset(address, at), reg_type_of(type), bytes, value.parts[part]);
    at += bytes;
  }
}

Value Lowering::constant(ShapeDtype type, const Storage& storage) {
  if (packing_.lanes > 1 && type.size() > 1) {
    // The constant lives as long as the program.
    return load(type, Arg::constant(std::bit_cast<uint64_t>(storage.data())));
  }
  Value value{type, {}};
  const auto* element = static_cast<const std::byte*>(storage.data());
  for (int64_t i = 0; i < type.size(); ++i, element += byte_width(type.dtype())) {
    value.parts.push_back(Arg::constant(element_bits(type.dtype(), element)));
  }
  return value;
}

// ---- programs

std::vector<Value> Lowering::run(const Program& program, std::span<const Value> inputs) {
  std::vector<Value> values(program.variable_types.size());
  for (size_t i = 0; i < inputs.size(); ++i) values[program.inputs[i]] = inputs[i];
  for (const Constant& each : program.constants) {
    const ShapeDtype type = program.variable_types[each.variable];
    values[each.variable] = {type, {}};
    if (type.size() > kMostLanes) continue;  // refused when it is read
    check_size(type);
    values[each.variable] = constant(type, each.storage);
  }
  const auto value_of = [&](Atom atom) -> Value {
    if (!atom.is_variable()) {
      const Literal& literal = program.literals[atom.index];
      check_dtype(literal.type.dtype());
      return {literal.type,
              {Arg::constant(element_bits(literal.type.dtype(), literal.bytes.data()))}};
    }
    if (values[atom.index].parts.empty()) check_size(program.variable_types[atom.index]);
    return values[atom.index];
  };
  for (const Equation& equation : program.equations) {
    check_room();
    std::vector<Value> operands;
    for (const Atom atom : equation.inputs) operands.push_back(value_of(atom));
    for (const uint32_t output : equation.outputs) check_size(program.variable_types[output]);
    std::vector<Value> results = run(program, equation, operands);
    for (size_t i = 0; i < results.size(); ++i) {
      // The result has the same elements but may have another shape.
      results[i].type = program.variable_types[equation.outputs[i]];
      values[equation.outputs[i]] = std::move(results[i]);
    }
  }
  std::vector<Value> results;
  for (const Atom output : program.outputs) results.push_back(value_of(output));
  return results;
}

std::vector<Value> Lowering::run(const Program& program, const Equation& equation,
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
    case PrimitiveKind::kOperation:
    case PrimitiveKind::kView:
    case PrimitiveKind::kTranspose:
      break;
    default:
      throw Refusal{std::string(equation.primitive->name)};
  }
  if (packing_.lanes == 1) {
    if (auto made = combined_elements(b_, program, equation, inputs)) return {std::move(*made)};
  } else if (keeps_order(program, equation)) {
    return {inputs[0]};
  } else if (equation.primitive->name == "broadcast_in_dim" && inputs[0].type.size() == 1) {
    const ShapeDtype type = program.variable_types[equation.outputs[0]];
    const Arg all = part_of(inputs[0], 0, lanes_of(type));
    return {{type, std::vector<Arg>(num_parts(type), all)}};
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
  const int lanes = lanes_of(type);
  const Operation operation = operation_of(program, equation);
  Value result{type, {}};
  for (size_t part = 0; part < num_parts(type); ++part) {
    std::vector<Arg> args;
    for (const Value& input : inputs) args.push_back(part_of(input, part, lanes));
    result.parts.push_back(elementwise(b_, operation, args, lanes, packing_.mask_width));
  }
  return result;
}

// ---- loops

Lowering::Carried Lowering::begin_carry(const Value& initial) {
  Carried carried{{initial.type, {}}, {}};
  const RegType type = reg_type_of(initial.type);
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
    const RegType type = reg_type_of(carries[i].value.type);
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
  end_step(carries, run(*loop.body_jaxpr, joined(body_consts, values_of(carries))));
  after_step();
  b_.effect({.op = Op::kCountDown});
  b_.label(test);
  const auto holds = run(*loop.cond_jaxpr, joined(condition_consts, values_of(carries)));
  b_.branch_if(holds[0].parts[0], body);
  b_.end_loop();
  for (const Carried& carried : carries)
    std::ranges::for_each(carried.regs, [&](Reg r) { b_.settle(r); });
}

void Lowering::loop_count(std::vector<Carried>& carries, Arg count,
                          const std::function<std::vector<Value>()>& body) {
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

std::vector<Value> Lowering::run_while(const WhileParams& loop, std::span<const Value> inputs) {
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

std::vector<Value> Lowering::run_scan(const ScanParams& scan, std::span<const Value> inputs) {
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
               [&] { return run(*scan.jaxpr, joined(consts, values_of(carries))); });
    return values_of(carries);
  }
  if (packing_.lanes > 1 || scan.length > kMostUnrolled || scan.length == 0) {
    throw Refusal{fmt::format("a scan of {} slices inside", scan.length)};
  }
  // Unrolls the steps.
  std::vector<Value> carry(initial.begin(), initial.end());
  std::vector<Value> ys(num_ys);
  const auto types = scan.jaxpr->input_types();
  for (int64_t i = 0; i < scan.length; ++i) {
    const int64_t step = scan.reverse ? scan.length - 1 - i : i;
    std::vector<Value> operands = joined(consts, carry);
    for (size_t x = 0; x < xs.size(); ++x) {
      operands.push_back(slice_of(xs[x], step, types[num_consts + num_carry + x]));
    }
    std::vector<Value> results = run(*scan.jaxpr, operands);
    for (size_t y = 0; y < num_ys; ++y) {
      const std::vector<Arg>& slice = results[num_carry + y].parts;
      std::vector<Arg>& all = ys[y].parts;
      all.insert(scan.reverse ? all.begin() : all.end(), slice.begin(), slice.end());
    }
    results.resize(num_carry);
    carry = std::move(results);
  }
  return joined(carry, ys);
}

std::vector<Value> Lowering::run_cond(const CondParams& cond, std::span<const Value> inputs) {
  const Arg number = inputs[0].parts[0];
  const std::span<const Value> operands = inputs.subspan(1);
  const size_t last = cond.branches.size() - 1;
  std::vector<Value> results;
  std::vector<RegType> types;
  for (const ShapeDtype& type : cond.branches[0]->output_types()) {
    check_size(type);
    results.push_back({type, {}});
    types.push_back(reg_type_of(type));
    for (size_t part = 0; part < num_parts(type); ++part) {
      results.back().parts.push_back(Arg::reg(b_.new_reg(types.back())));
    }
  }
  const uint32_t end = b_.new_label();
  for (size_t i = 0; i <= last; ++i) {
    const uint32_t next = b_.new_label();
    // Indices out of range select the nearest branch.
    if (i < last) b_.branch(Cond::kGt, general(4), number, Arg::constant(i), next);
    const std::vector<Value> made = run(*cond.branches[i], operands);
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
  std::vector<Value> consts;
  for (size_t i = 0; i < num_consts; ++i) {
    consts.push_back({inputs[i], {}});
    if (inputs[i].size() <= kMostLanes && inputs[i].size() > 0) {
      check_size(inputs[i]);
      consts.back() = load(inputs[i], pointer(i));
    }
  }
  std::vector<Carried> carries;
  for (size_t i = num_consts; i < num_consts + num_carry; ++i) {
    check_size(inputs[i]);
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
    check_size(slices.back());
    places.push_back(b_.new_carry(address));
    b_.move(places.back(), address, pointer(i));
  }
  loop_count(carries, b_.add(Op::kCount, address, {}), [&] {
    std::vector<Value> operands = joined(consts, values_of(carries));
    for (size_t i = 0; i < num_xs; ++i) operands.push_back(load(slices[i], Arg::reg(places[i])));
    std::vector<Value> results = run(*scan.jaxpr, operands);
    for (size_t i = 0; i < num_ys; ++i) {
      store(results[num_carry + i], Arg::reg(places[num_xs + i]));
    }
    for (size_t i = 0; i < places.size(); ++i) {
      const auto bytes = static_cast<int64_t>(slices[i].nbytes());
      b_.move(places[i], address, offset(Arg::reg(places[i]), scan.reverse ? -bytes : bytes));
    }
    return results;
  });
  for (size_t i = 0; i < num_carry; ++i) store(carries[i].value, pointer(inputs.size() + i));
  return b_.finish();
}

Code Lowering::while_loop(const WhileParams& loop) {
  const auto num_condition = static_cast<size_t>(loop.cond_nconsts);
  const auto num_body = static_cast<size_t>(loop.body_nconsts);
  const auto condition_types = loop.cond_jaxpr->input_types();
  const auto body_types = loop.body_jaxpr->input_types();
  const auto load_const = [&](ShapeDtype type, size_t number) -> Value {
    if (type.size() > kMostLanes || type.size() == 0) return {type, {}};
    check_size(type);
    return load(type, pointer(number));
  };
  std::vector<Value> condition_consts, body_consts;
  for (size_t i = 0; i < num_condition; ++i) {
    condition_consts.push_back(load_const(condition_types[i], i));
  }
  for (size_t i = 0; i < num_body; ++i) {
    body_consts.push_back(load_const(body_types[i], num_condition + i));
  }
  std::vector<Carried> carries;
  const size_t first = num_condition + num_body, num_carry = loop.body_jaxpr->outputs.size();
  for (size_t i = 0; i < num_carry; ++i) {
    const ShapeDtype type = body_types[num_body + i];
    check_size(type);
    carries.push_back(begin_carry(load(type, pointer(first + i))));
  }
  const RegType type = general(8);
  const Reg count = b_.new_carry(type);
  b_.move(count, type, Arg::constant(0));
  loop_while(carries, loop, condition_consts, body_consts, [&] {
    b_.move(count, type, b_.add(Op::kAdd, type, {Arg::reg(count), Arg::constant(1)}));
  });
  for (size_t i = 0; i < num_carry; ++i) {
    store(carries[i].value, pointer(first + num_carry + i));
  }
  b_.effect({.op = Op::kSetCount, .args = {Arg::reg(count)}});
  return b_.finish();
}

// Uses several elements in a register if possible, otherwise one.
template <class Lower>
Code lower(const ArraySizes& sizes, Lower lower_with) {
  if (const auto packing = sizes.packing()) {
    try {
      return lower_with(*packing);
    } catch (const Refusal&) {
    }
  }
  return lower_with(Packing());
}

}  // namespace

Code lower_scan(const ScanParams& scan) {
  ArraySizes sizes;
  sizes.add(*scan.jaxpr);
  return lower(sizes, [&](Packing packing) { return Lowering(packing).scan(scan); });
}

Code lower_while(const WhileParams& loop) {
  ArraySizes sizes;
  sizes.add(*loop.cond_jaxpr);
  sizes.add(*loop.body_jaxpr);
  return lower(sizes, [&](Packing packing) { return Lowering(packing).while_loop(loop); });
}

}  // namespace farcall::native::jit
