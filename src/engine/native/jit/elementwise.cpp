#include "engine/native/jit/elementwise.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/primitives/elementwise.h>

#include "engine/native/jit/encode.h"
#include "engine/native/jit/vector_functions.h"
#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/movement/rows.h"

namespace farcall::native::jit {
namespace {

bool has_sign(DType dtype) { return dtype_info(dtype).kind == DTypeKind::kSigned; }

// Translates one operation for one part of its operands.
class Elementwise {
 public:
  Elementwise(Builder& builder, const Operation& operation, std::span<const Arg> args, int lanes,
              int mask_width)
      : b_(builder),
        operation_(operation),
        args_(args),
        name_(operation.name),
        dtype_(operation.dtype),
        result_(operation.result),
        lanes_(lanes),
        mask_width_(mask_width),
        type_(reg_type(dtype_, lanes, mask_width)) {}

  Arg run() {
    if (const Cond* cond = comparison()) return compare(*cond);
    if (name_ == "select_n") return select();
    if (name_ == "convert_element_type") return convert(args_[0], dtype_, result_);
    if (name_ == "bitcast_convert_type") return bitcast();
    if (name_ == "copy" || name_ == "stop_gradient" || name_ == "name" || name_ == "reshape") {
      return args_[0];
    }
    if (dtype_ == DType::kBool) return bools();
    return is_floating(dtype_) ? floats() : type_.bank == Bank::kGeneral ? integers() : lanes();
  }

 private:
  Arg x() const { return args_[0]; }
  Arg y() const { return args_[1]; }
  Arg add(Op op, std::initializer_list<Arg> args, int64_t imm = 0) {
    return b_.add(op, type_, args, imm);
  }
  [[noreturn]] void refuse() const {
    throw Refusal{fmt::format("{} of {}{}", name_, dtype_info(dtype_).short_name,
                              lanes_ > 1 ? ", several at a time," : "")};
  }

  // ---- constants
  Arg all_bits() const { return Arg::constant(type_.width == 4 ? UINT32_MAX : ~uint64_t{0}); }
  Arg sign_bit() const { return Arg::constant(uint64_t{1} << (8 * type_.width - 1)); }
  Arg number(double value) const { return number(value, type_.width); }
  static Arg number(double value, int width) {
    return Arg::constant(width == 8 ? std::bit_cast<uint64_t>(value)
                                    : std::bit_cast<uint32_t>(static_cast<float>(value)));
  }
  double largest() const {
    return type_.width == 8 ? std::numeric_limits<double>::max()
                            : std::numeric_limits<float>::max();
  }
  double least_normal() const {
    return type_.width == 8 ? std::numeric_limits<double>::min()
                            : std::numeric_limits<float>::min();
  }

  // ---- comparisons and choices

  const Cond* comparison() const {
    static constexpr std::pair<std::string_view, Cond> kNames[] = {
        {"eq", Cond::kEq}, {"ne", Cond::kNe}, {"lt", Cond::kLt},
        {"le", Cond::kLe}, {"gt", Cond::kGt}, {"ge", Cond::kGe}};
    for (const auto& [name, cond] : kNames) {
      if (name == name_) return &cond;
    }
    return nullptr;
  }

  static Cond without_sign(Cond cond) {
    switch (cond) {
      case Cond::kLt:
        return Cond::kBelow;
      case Cond::kLe:
        return Cond::kBelowOrEqual;
      case Cond::kGt:
        return Cond::kAbove;
      case Cond::kGe:
        return Cond::kAboveOrEqual;
      default:
        return cond;
    }
  }

  // Converts a mask of one lane to a bool.
  Arg truth(Arg mask) { return lanes_ > 1 ? mask : b_.bool_of_mask(type_.width, mask); }

  Arg compare(Cond cond) {
    if (is_floating(dtype_)) return truth(b_.float_compare(cond, type_, x(), y()));
    if (type_.bank == Bank::kGeneral) {
      return b_.compare(has_sign(dtype_) ? cond : without_sign(cond), type_, x(), y());
    }
    const auto negated = [this](Arg made) { return b_.add(Op::kMaskNot, mask_of(type_), {made}); };
    if (type_.bank == Bank::kMask) {
      const Arg differs = add(Op::kMaskXor, {x(), y()});
      if (cond == Cond::kNe) return differs;
      if (cond == Cond::kEq) return negated(differs);
      refuse();
    }
    const auto compared = [this](Op op, Arg a, Arg b) { return b_.lane_compare(op, type_, a, b); };
    switch (cond) {
      case Cond::kEq:
        return compared(Op::kLaneEqual, x(), y());
      case Cond::kNe:
        return negated(compared(Op::kLaneEqual, x(), y()));
      default:
        break;
    }
    const bool is_in_order = cond == Cond::kGt || cond == Cond::kLe;
    const Arg greater = compared(greater_op(), is_in_order ? x() : y(), is_in_order ? y() : x());
    return cond == Cond::kGt || cond == Cond::kLt ? greater : negated(greater);
  }

  Arg select() {
    const RegType type = reg_type(result_, lanes_, mask_width_);
    if (dtype_ != DType::kBool || args_.size() != 3) refuse();
    return lanes_ > 1 ? b_.blend(type, args_[0], args_[1], args_[2])
                      : b_.select(type, args_[0], args_[1], args_[2]);
  }

  Arg bools() {
    if (name_ == "not") {
      return add(Op::kMaskNot, {x()}, Op::kXor, {x(), Arg::constant(1)});
    }
    if (name_ == "and" || name_ == "mul" || name_ == "min") {
      return add(Op::kMaskAnd, {x(), y()}, Op::kAnd, {x(), y()});
    }
    if (name_ == "or" || name_ == "add" || name_ == "max") {
      return add(Op::kMaskOr, {x(), y()}, Op::kOr, {x(), y()});
    }
    if (name_ == "xor") return add(Op::kMaskXor, {x(), y()}, Op::kXor, {x(), y()});
    refuse();
  }
  // Adds one operation on masks for several lanes, and another one on bools for one lane.
  Arg add(Op of_masks, std::initializer_list<Arg> masks, Op of_bools,
          std::initializer_list<Arg> bools) {
    return lanes_ > 1 ? b_.add(of_masks, type_, masks) : b_.add(of_bools, type_, bools);
  }

  // ---- floats

  Arg floats() {
    static constexpr std::pair<std::string_view, Op> kOperations[] = {{"add", Op::kFloatAdd},
                                                                      {"sub", Op::kFloatSub},
                                                                      {"mul", Op::kFloatMul},
                                                                      {"div", Op::kFloatDiv},
                                                                      {"sqrt", Op::kFloatSqrt}};
    for (const auto& [name, op] : kOperations) {
      if (name == name_) {
        return args_.size() == 1 ? add(op, {x()}) : add(op, {x(), y()});
      }
    }
    static constexpr std::pair<std::string_view, Arg (Elementwise::*)()> kOthers[] = {
        {"neg", &Elementwise::negative},  {"abs", &Elementwise::magnitude},
        {"square", &Elementwise::square}, {"sign", &Elementwise::sign},
        {"round", &Elementwise::rounded}, {"is_finite", &Elementwise::is_finite},
        {"clamp", &Elementwise::clamp},   {"integer_pow", &Elementwise::integer_pow},
        {"rsqrt", &Elementwise::rsqrt}};
    for (const auto& [name, function] : kOthers) {
      if (name == name_) return (this->*function)();
    }
    if (name_ == "floor") return add(Op::kFloatRound, {x()}, 1);
    if (name_ == "ceil") return add(Op::kFloatRound, {x()}, 2);
    if (name_ == "max" || name_ == "min")
      return extreme(b_, dtype_, type_, name_ == "max", x(), y());
    const auto value = vector_function(b_, name_, type_, args_, [this] { return call_loop(); });
    return value ? *value : call();
  }

  Arg negative() { return add(Op::kBitXor, {x(), sign_bit()}); }
  Arg magnitude() { return abs(x()); }
  Arg abs(Arg value) { return add(Op::kBitAnd, {value, Arg::constant(sign_bit().bits - 1)}); }
  Arg square() { return add(Op::kFloatMul, {x(), x()}); }
  Arg rsqrt() { return add(Op::kFloatDiv, {number(1), add(Op::kFloatSqrt, {x()})}); }
  Arg sign() {
    const Arg above = b_.float_compare(Cond::kGt, type_, x(), number(0));
    const Arg below = b_.float_compare(Cond::kLt, type_, x(), number(0));
    return b_.blend(type_, above, b_.blend(type_, below, x(), number(-1)), number(1));
  }
  Arg is_finite() { return truth(b_.float_compare(Cond::kLe, type_, abs(x()), number(largest()))); }
  Arg clamp() {
    return extreme(b_, dtype_, type_, false, extreme(b_, dtype_, type_, true, x(), y()), args_[2]);
  }
  // Rounds half away from zero: the integer part, plus one if the rest is at least a half.
  Arg rounded() {
    if (params_as<RoundParams>(operation_.params).rounding_method == 1) {
      return add(Op::kFloatRound, {x()}, 0);
    }
    const Arg whole = add(Op::kFloatRound, {x()}, 3);
    const Arg rest = abs(add(Op::kFloatSub, {x(), whole}));
    const Arg is_more = b_.float_compare(Cond::kGe, type_, rest, number(0.5));
    const Arg one = add(Op::kSelectOrZero, {is_more, number(1)});
    const Arg sign = add(Op::kBitAnd, {x(), sign_bit()});
    const Arg size = add(Op::kFloatAdd, {abs(whole), one});
    return add(Op::kBitOr, {size, sign});
  }

  Arg power(RegType type, Arg base, uint64_t exponent) {
    Arg result{};
    for (;; base = b_.add(Op::kFloatMul, type, {base, base})) {
      if (exponent & 1) {
        // A product with one is omitted.
        result =
            result.kind == Arg::Kind::kNone ? base : b_.add(Op::kFloatMul, type, {result, base});
      }
      exponent >>= 1;
      if (exponent == 0) break;
    }
    return result.kind == Arg::Kind::kNone ? number(1, type.width) : result;
  }

  Arg integer_pow() {
    const int64_t y = params_as<IntegerPowParams>(operation_.params).y;
    if (y < 0) return call();
    if (type_.width == 8 || y <= 4) return power(type_, x(), static_cast<uint64_t>(y));
    if (lanes_ > 1) return call();
    const Arg wide = convert(x(), DType::kFloat32, DType::kFloat64);
    return convert(power(vector(8, 1), wide, static_cast<uint64_t>(y)), DType::kFloat64,
                   DType::kFloat32);
  }

  Arg call() {
    if (operation_.is_for_rare) refuse();
    return call_loop();
  }

  // Calls the kernel's own loop with one element for each lane.
  Arg call_loop() {
    if (!operation_.loop || args_.size() > kMaxElementwiseInputs) refuse();
    Inst inst{.op = Op::kCall,
              .type = type_,
              .source = type_,
              .imm = std::bit_cast<int64_t>(operation_.loop),
              .extra = operation_.extra};
    std::ranges::copy(args_, inst.args.begin());
    return b_.add(inst);
  }

  // ---- integers

  Arg integers() {
    const bool is_signed = has_sign(dtype_);
    const std::pair<std::string_view, Op> operations[] = {
        {"add", Op::kAdd},
        {"sub", Op::kSub},
        {"mul", Op::kMul},
        {"and", Op::kAnd},
        {"or", Op::kOr},
        {"xor", Op::kXor},
        {"not", Op::kNot},
        {"neg", Op::kNeg},
        {"div", is_signed ? Op::kDiv : Op::kUnsignedDiv},
        {"rem", is_signed ? Op::kRem : Op::kUnsignedRem},
        {"shift_left", Op::kShiftLeft},
        {"shift_right_logical", Op::kShiftRight},
        {"shift_right_arithmetic", Op::kShiftRightSigned},
        {"population_count", Op::kPopulationCount},
        {"clz", Op::kCountLeadingZeros}};
    for (const auto& [name, op] : operations) {
      if (name == name_) return args_.size() == 1 ? add(op, {x()}) : add(op, {x(), y()});
    }
    if (name_ == "abs") return is_signed ? add(Op::kAbs, {x()}) : x();
    if (name_ == "sign") {
      return is_signed ? add(Op::kSign, {x()})
                       : extreme(b_, dtype_, type_, false, x(), Arg::constant(1));
    }
    if (name_ == "square") return add(Op::kMul, {x(), x()});
    if (name_ == "max" || name_ == "min")
      return extreme(b_, dtype_, type_, name_ == "max", x(), y());
    if (name_ == "clamp") return clamp();
    if (name_ == "integer_pow") {
      const int64_t exponent = params_as<IntegerPowParams>(operation_.params).y;
      if (exponent >= 0) return integer_power(static_cast<uint64_t>(exponent));
    }
    refuse();
  }

  Arg integer_power(uint64_t exponent) {
    Arg result = Arg::constant(1), base = x();
    for (; exponent != 0; exponent >>= 1, base = add(Op::kMul, {base, base})) {
      if (exponent & 1) result = add(Op::kMul, {result, base});
    }
    return result;
  }

  // The comparison of lanes of integers.
  Op greater_op() const {
    if (!has_sign(dtype_) && !processor().has_masks) refuse();
    return has_sign(dtype_) ? Op::kLaneGreater : Op::kLaneAbove;
  }

  // Operations on several integers in one register.
  Arg lanes() {
    static constexpr std::pair<std::string_view, Op> kOperations[] = {{"add", Op::kLaneAdd},
                                                                      {"sub", Op::kLaneSub},
                                                                      {"and", Op::kBitAnd},
                                                                      {"or", Op::kBitOr},
                                                                      {"xor", Op::kBitXor}};
    for (const auto& [name, op] : kOperations) {
      if (name == name_) return add(op, {x(), y()});
    }
    if (name_ == "not") return add(Op::kBitXor, {x(), all_bits()});
    if (name_ == "neg") return add(Op::kLaneSub, {Arg::constant(0), x()});
    const bool can_multiply = type_.width == 4 || processor().has_masks;
    if (name_ == "mul" && can_multiply) return add(Op::kLaneMul, {x(), y()});
    if (name_ == "square" && can_multiply) return add(Op::kLaneMul, {x(), x()});
    if (name_ == "max" || name_ == "min") {
      const Arg greater = b_.lane_compare(greater_op(), type_, x(), y());
      return name_ == "max" ? b_.blend(type_, greater, y(), x())
                            : b_.blend(type_, greater, x(), y());
    }
    const bool is_left = name_ == "shift_left";
    if ((is_left || name_ == "shift_right_logical") && y().is_const()) {
      if (y().bits >= static_cast<uint64_t>(8 * type_.width)) return Arg::constant(0);
      return add(is_left ? Op::kLaneShiftLeft : Op::kLaneShiftRight, {x()},
                 static_cast<int64_t>(y().bits));
    }
    refuse();
  }

  // ---- conversions

  Arg bitcast() {
    const RegType to = reg_type(result_, lanes_, mask_width_);
    if (to.width != type_.width || dtype_ == DType::kBool || result_ == DType::kBool) refuse();
    if (to.bank == type_.bank) return x();
    return b_.add(to.bank == Bank::kVector ? Op::kBitsToVector : Op::kBitsToGeneral, to, {x()});
  }

  Arg convert(Arg value, DType from, DType to) {
    if (from == to) return value;
    const RegType source = reg_type(from, lanes_, mask_width_);
    const RegType type = reg_type(to, lanes_, mask_width_);
    const auto made = [&](Op op) {
      return b_.add({.op = op, .type = type, .source = source, .args = {value}});
    };
    if (lanes_ > 1) {
      // A mask of AVX-512 belongs to vectors of any width.
      const bool is_mask = from == DType::kBool && processor().has_masks;
      if (source.width == type.width || is_mask) {
        // Converts the lanes of a mask to numbers.
        if (from == DType::kBool) {
          const Arg one = is_floating(to) ? number(1, type.width) : Arg::constant(1);
          return b_.add(Op::kSelectOrZero, type, {value, one});
        }
        if (to == DType::kBool && is_floating(from)) {
          return b_.float_compare(Cond::kNe, type, value, number(0, type.width));
        }
        if (is_integer(from) && is_integer(to)) return value;
      }
      if (processor().has_masks && is_floating(to)) {
        if (is_floating(from)) return made(Op::kFloatOfFloat);
        return made(has_sign(from) ? Op::kFloatOfInt : Op::kFloatOfUnsigned);
      }
      refuse();
    }
    if (to == DType::kBool) {
      if (!is_floating(from)) return b_.compare(Cond::kNe, source, value, Arg::constant(0));
      const Arg zero = number(0, source.width);
      return b_.bool_of_mask(source.width, b_.float_compare(Cond::kNe, source, value, zero));
    }
    if (is_floating(from)) {
      if (is_floating(to)) return made(Op::kFloatOfFloat);
      return made(has_sign(to) ? Op::kIntOfFloat : Op::kUnsignedOfFloat);
    }
    if (is_floating(to)) {
      return made(has_sign(from) || from == DType::kBool ? Op::kFloatOfInt : Op::kFloatOfUnsigned);
    }
    if (source.width == 4 && type.width == 8 && has_sign(from)) return made(Op::kSignExtend);
    if (source.width == type.width) return value;
    // A register of four bytes is already zero-extended; of a register of eight bytes, the lower
    // half is kept.
    return b_.add(Op::kOr, type, {value, Arg::constant(0)});
  }

  Builder& b_;
  const Operation& operation_;
  const std::span<const Arg> args_;
  const std::string_view name_;
  const DType dtype_, result_;
  const int lanes_, mask_width_;
  const RegType type_;
};

}  // namespace

void check_dtype(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUInt32:
    case DType::kUInt64:
    case DType::kFloat32:
    case DType::kFloat64:
      return;
    default:
      throw Refusal{fmt::format("elements of {}", dtype_info(dtype).short_name)};
  }
}

RegType reg_type(DType dtype, int lanes, int mask_width) {
  check_dtype(dtype);
  const int width =
      dtype == DType::kBool ? (lanes > 1 ? mask_width : 4) : static_cast<int>(byte_width(dtype));
  if (dtype == DType::kBool && lanes > 1) return mask(width, lanes);
  return lanes > 1 || is_floating(dtype) ? vector(width, lanes) : general(width);
}

uint64_t element_bits(DType dtype, const std::byte* element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, byte_width(dtype));
  return dtype == DType::kBool ? bits != 0 : bits;
}

Arg extreme(Builder& b, DType dtype, RegType type, bool is_max, Arg x, Arg y) {
  if (!is_floating(dtype)) {
    const Cond cond =
        has_sign(dtype) ? (is_max ? Cond::kGt : Cond::kLt) : (is_max ? Cond::kAbove : Cond::kBelow);
    return b.select(type, b.compare(cond, type, x, y), y, x);
  }
  const Op op = is_max ? Op::kFloatMax : Op::kFloatMin;
  // A constant that is a number needs fewer instructions: the operation gives its second operand if
  // one is NaN, or if both are zeros. Zeros of both signs must be told apart only if the constant
  // is the result.
  if (x.is_const() != y.is_const()) {
    const Arg constant = x.is_const() ? x : y, other = x.is_const() ? y : x;
    const uint64_t sign = uint64_t{1} << (8 * type.width - 1);
    const uint64_t infinity = type.width == 8 ? 0x7ff0000000000000 : 0x7f800000;
    const bool is_nan = (constant.bits & (sign - 1)) > infinity;
    const bool wins_ties = constant.bits == (is_max ? 0 : sign);
    if (!is_nan && !wins_ties) return b.add(op, type, {constant, other});
    if (!is_nan) {
      const Arg number = b.add(op, type, {other, constant});
      return b.blend(type, b.float_compare(Cond::kUnordered, type, other, other), number, other);
    }
  }
  // Same formula as maximum() and minimum() in kernels/arithmetic.h.
  const Arg apart = b.add(op, type, {x, y});
  const Arg zero = b.add(is_max ? Op::kBitAnd : Op::kBitOr, type, {x, y});
  const Arg number = b.blend(type, b.float_compare(Cond::kEq, type, x, y), apart, zero);
  return b.blend(type, b.float_compare(Cond::kUnordered, type, x, x), number, x);
}

Operation operation_of(const Program& program, const Equation& equation) {
  const DType result = program.variable_types[equation.outputs[0]].dtype();
  Operation made{.name = equation.primitive->name,
                 .params = equation.params.get(),
                 .dtype = equation.inputs.empty() ? DType::kInvalid
                                                  : program.type_of(equation.inputs[0]).dtype(),
                 .result = result};
  const ElementwiseFactory describe = find_elementwise(made.name);
  if (!describe || result != made.dtype || equation.inputs.size() > kMaxElementwiseInputs) {
    return made;
  }
  std::vector<ShapeDtype> inputs;
  for (const Atom atom : equation.inputs) inputs.push_back(program.type_of(atom));
  const std::vector outputs = {program.variable_types[equation.outputs[0]]};
  const ElementwiseSpec spec = describe(inputs, outputs, made.params);
  const auto loads = std::span(spec.loads).first(inputs.size());
  const bool is_of_dtype = std::ranges::all_of(loads, [&](DType load) { return load == result; });
  if (spec.loop.result == result && is_of_dtype) {
    made.loop = spec.loop.loop;
    made.extra = spec.extra;
  }
  return made;
}

Arg elementwise(Builder& builder, const Operation& operation, std::span<const Arg> args, int lanes,
                int mask_width) {
  return Elementwise(builder, operation, args, lanes, mask_width).run();
}

}  // namespace farcall::native::jit
