#include "engine/native/jit/elementwise.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/primitives/elementwise.h>
#include <farcall/program/primitive.h>

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
        translation_(find_translation(operation.name)),
        dtype_(operation.dtype),
        result_(operation.result),
        lanes_(lanes),
        mask_width_(mask_width),
        type_(reg_type(dtype_, lanes, mask_width)) {}

  Arg run() {
    if (translation_.any) return (this->*translation_.any)();
    if (const Translate translate = of_registers()) return (this->*translate)();
    if (!is_floating(dtype_)) refuse();
    if (!translation_.vector) return call();
    return write_vector(b_, translation_.vector, type_, args_, [this] { return call_loop(); });
  }

 private:
  using Translate = Arg (Elementwise::*)();
  // How a primitive is translated on registers of each form; null if it is not. `any`: on all.
  // `vector`: a function of floats, written with the operations of vectors.
  struct Translation {
    Translate any = nullptr, bools = nullptr, floats = nullptr, integers = nullptr, lanes = nullptr;
    VectorFunction vector = nullptr;
  };
  using Translations = std::unordered_map<std::string_view, Translation>;
  static Translations all_translations();
  static const Translation& find_translation(std::string_view primitive);

  Translate of_registers() const {
    if (dtype_ == DType::kBool) return translation_.bools;
    if (is_floating(dtype_)) return translation_.floats;
    return type_.bank == Bank::kGeneral ? translation_.integers : translation_.lanes;
  }

  Arg x() const { return args_[0]; }
  Arg y() const { return args_[1]; }
  Arg add(Op op, std::initializer_list<Arg> args, int64_t imm = 0) {
    return b_.add(op, type_, args, imm);
  }
  [[noreturn]] void refuse() const {
    throw Refusal{fmt::format("{} of {}{}", operation_.name, dtype_info(dtype_).short_name,
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

  template <Cond cond>
  Arg compared() {
    return compare(cond);
  }
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
    const auto lanes = [this](Op op, Arg a, Arg b) { return b_.lane_compare(op, type_, a, b); };
    switch (cond) {
      case Cond::kEq:
        return lanes(Op::kLaneEqual, x(), y());
      case Cond::kNe:
        return negated(lanes(Op::kLaneEqual, x(), y()));
      default:
        break;
    }
    const bool is_in_order = cond == Cond::kGt || cond == Cond::kLe;
    const Arg greater = lanes(greater_op(), is_in_order ? x() : y(), is_in_order ? y() : x());
    return cond == Cond::kGt || cond == Cond::kLt ? greater : negated(greater);
  }

  Arg select() {
    const RegType type = reg_type(result_, lanes_, mask_width_);
    if (dtype_ != DType::kBool || args_.size() != 3) refuse();
    return lanes_ > 1 ? b_.blend(type, args_[0], args_[1], args_[2])
                      : b_.select(type, args_[0], args_[1], args_[2]);
  }

  template <Op of_masks, Op of_bools>
  Arg bools() {
    return add(of_masks, {x(), y()}, of_bools, {x(), y()});
  }
  Arg not_bool() { return add(Op::kMaskNot, {x()}, Op::kXor, {x(), Arg::constant(1)}); }
  // Adds one operation on masks for several lanes, and another one on bools for one lane.
  Arg add(Op of_masks, std::initializer_list<Arg> masks, Op of_bools,
          std::initializer_list<Arg> bools) {
    return lanes_ > 1 ? b_.add(of_masks, type_, masks) : b_.add(of_bools, type_, bools);
  }

  // ---- numbers

  template <Op op>
  Arg apply() {
    return args_.size() == 1 ? add(op, {x()}) : add(op, {x(), y()});
  }
  template <bool is_max>
  Arg extreme_of() {
    return extreme(b_, dtype_, type_, is_max, x(), y());
  }
  Arg clamp() {
    return extreme(b_, dtype_, type_, false, extreme(b_, dtype_, type_, true, x(), y()), args_[2]);
  }
  Arg unchanged() { return x(); }

  // ---- floats

  template <int64_t mode>
  Arg round_toward() {
    return add(Op::kFloatRound, {x()}, mode);
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

  template <Op of_signed, Op of_unsigned>
  Arg apply_by_sign() {
    return add(has_sign(dtype_) ? of_signed : of_unsigned, {x(), y()});
  }
  Arg integer_abs() { return has_sign(dtype_) ? add(Op::kAbs, {x()}) : x(); }
  Arg integer_sign() {
    return has_sign(dtype_) ? add(Op::kSign, {x()})
                            : extreme(b_, dtype_, type_, false, x(), Arg::constant(1));
  }
  Arg integer_square() { return add(Op::kMul, {x(), x()}); }
  Arg power_of_integer() {
    const int64_t exponent = params_as<IntegerPowParams>(operation_.params).y;
    if (exponent < 0) refuse();
    return integer_power(static_cast<uint64_t>(exponent));
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

  // ---- several integers in one register

  Arg not_lanes() { return add(Op::kBitXor, {x(), all_bits()}); }
  Arg negative_lanes() { return add(Op::kLaneSub, {Arg::constant(0), x()}); }
  Arg product_of_lanes() {
    if (type_.width != 4 && !processor().has_masks) refuse();
    return add(Op::kLaneMul, {x(), args_.back()});
  }
  template <bool is_max>
  Arg extreme_of_lanes() {
    const Arg greater = b_.lane_compare(greater_op(), type_, x(), y());
    return is_max ? b_.blend(type_, greater, y(), x()) : b_.blend(type_, greater, x(), y());
  }
  template <Op op>
  Arg shifted_lanes() {
    if (!y().is_const()) refuse();
    constexpr bool kKeepsSign = op == Op::kLaneShiftRightSigned;
    if (kKeepsSign && type_.width == 8 && !processor().has_masks) refuse();
    const int64_t most = 8 * type_.width - 1;
    const bool is_all = y().bits > static_cast<uint64_t>(most);
    if (is_all && !kKeepsSign) return Arg::constant(0);
    return add(op, {x()}, is_all ? most : static_cast<int64_t>(y().bits));
  }

  // ---- conversions

  Arg bitcast() {
    const RegType to = reg_type(result_, lanes_, mask_width_);
    if (to.width != type_.width || dtype_ == DType::kBool || result_ == DType::kBool) refuse();
    if (to.bank == type_.bank) return x();
    return b_.add(to.bank == Bank::kVector ? Op::kBitsToVector : Op::kBitsToGeneral, to, {x()});
  }

  Arg converted() { return convert(x(), dtype_, result_); }
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
  const Translation& translation_;
  const DType dtype_, result_;
  const int lanes_, mask_width_;
  const RegType type_;
};

Elementwise::Translations Elementwise::all_translations() {
  using E = Elementwise;
  Translations all{
      {"eq", {.any = &E::compared<Cond::kEq>}},
      {"ne", {.any = &E::compared<Cond::kNe>}},
      {"lt", {.any = &E::compared<Cond::kLt>}},
      {"le", {.any = &E::compared<Cond::kLe>}},
      {"gt", {.any = &E::compared<Cond::kGt>}},
      {"ge", {.any = &E::compared<Cond::kGe>}},
      {"select_n", {.any = &E::select}},
      {"convert_element_type", {.any = &E::converted}},
      {"bitcast_convert_type", {.any = &E::bitcast}},
      {"copy", {.any = &E::unchanged}},
      {"stop_gradient", {.any = &E::unchanged}},
      {"name", {.any = &E::unchanged}},
      {"reshape", {.any = &E::unchanged}},
      {"add",
       {.bools = &E::bools<Op::kMaskOr, Op::kOr>,
        .floats = &E::apply<Op::kFloatAdd>,
        .integers = &E::apply<Op::kAdd>,
        .lanes = &E::apply<Op::kLaneAdd>}},
      {"sub",
       {.floats = &E::apply<Op::kFloatSub>,
        .integers = &E::apply<Op::kSub>,
        .lanes = &E::apply<Op::kLaneSub>}},
      {"mul",
       {.bools = &E::bools<Op::kMaskAnd, Op::kAnd>,
        .floats = &E::apply<Op::kFloatMul>,
        .integers = &E::apply<Op::kMul>,
        .lanes = &E::product_of_lanes}},
      {"div",
       {.floats = &E::apply<Op::kFloatDiv>,
        .integers = &E::apply_by_sign<Op::kDiv, Op::kUnsignedDiv>}},
      {"rem", {.integers = &E::apply_by_sign<Op::kRem, Op::kUnsignedRem>}},
      {"neg",
       {.floats = &E::negative, .integers = &E::apply<Op::kNeg>, .lanes = &E::negative_lanes}},
      {"abs", {.floats = &E::magnitude, .integers = &E::integer_abs}},
      {"sign", {.floats = &E::sign, .integers = &E::integer_sign}},
      {"square",
       {.floats = &E::square, .integers = &E::integer_square, .lanes = &E::product_of_lanes}},
      {"integer_pow", {.floats = &E::integer_pow, .integers = &E::power_of_integer}},
      {"max",
       {.bools = &E::bools<Op::kMaskOr, Op::kOr>,
        .floats = &E::extreme_of<true>,
        .integers = &E::extreme_of<true>,
        .lanes = &E::extreme_of_lanes<true>}},
      {"min",
       {.bools = &E::bools<Op::kMaskAnd, Op::kAnd>,
        .floats = &E::extreme_of<false>,
        .integers = &E::extreme_of<false>,
        .lanes = &E::extreme_of_lanes<false>}},
      {"clamp", {.floats = &E::clamp, .integers = &E::clamp}},
      {"sqrt", {.floats = &E::apply<Op::kFloatSqrt>}},
      {"rsqrt", {.floats = &E::rsqrt}},
      {"round", {.floats = &E::rounded}},
      {"floor", {.floats = &E::round_toward<1>}},
      {"ceil", {.floats = &E::round_toward<2>}},
      {"is_finite", {.floats = &E::is_finite}},
      {"not", {.bools = &E::not_bool, .integers = &E::apply<Op::kNot>, .lanes = &E::not_lanes}},
      {"and",
       {.bools = &E::bools<Op::kMaskAnd, Op::kAnd>,
        .integers = &E::apply<Op::kAnd>,
        .lanes = &E::apply<Op::kBitAnd>}},
      {"or",
       {.bools = &E::bools<Op::kMaskOr, Op::kOr>,
        .integers = &E::apply<Op::kOr>,
        .lanes = &E::apply<Op::kBitOr>}},
      {"xor",
       {.bools = &E::bools<Op::kMaskXor, Op::kXor>,
        .integers = &E::apply<Op::kXor>,
        .lanes = &E::apply<Op::kBitXor>}},
      {"shift_left",
       {.integers = &E::apply<Op::kShiftLeft>, .lanes = &E::shifted_lanes<Op::kLaneShiftLeft>}},
      {"shift_right_logical",
       {.integers = &E::apply<Op::kShiftRight>, .lanes = &E::shifted_lanes<Op::kLaneShiftRight>}},
      {"shift_right_arithmetic",
       {.integers = &E::apply<Op::kShiftRightSigned>,
        .lanes = &E::shifted_lanes<Op::kLaneShiftRightSigned>}},
      {"population_count", {.integers = &E::apply<Op::kPopulationCount>}},
      {"clz", {.integers = &E::apply<Op::kCountLeadingZeros>}}};
  for (const auto& [primitive, function] : vector_functions()) all[primitive].vector = function;
  for (const auto& [primitive, translation] : all) primitive_named(primitive);
  return all;
}

const Elementwise::Translation& Elementwise::find_translation(std::string_view primitive) {
  static constexpr Translation kNone;
  // Never destroyed: threads may compile until the process ends.
  static const auto* all = new Translations(all_translations());
  const auto found = all->find(primitive);
  return found != all->end() ? found->second : kNone;
}

}  // namespace

bool is_held(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUInt32:
    case DType::kUInt64:
    case DType::kFloat32:
    case DType::kFloat64:
      return true;
    default:
      return false;
  }
}

void check_dtype(DType dtype) {
  if (!is_held(dtype)) throw Refusal{fmt::format("elements of {}", dtype_info(dtype).short_name)};
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

Arg converted(Builder& builder, Arg value, DType from, DType to, int lanes, int mask_width) {
  const Operation conversion{.name = "convert_element_type", .dtype = from, .result = to};
  return elementwise(builder, conversion, {&value, 1}, lanes, mask_width);
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
