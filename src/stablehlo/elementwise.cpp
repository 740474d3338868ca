// Elementwise operations: most map to one operation of StableHLO or of its companion CHLO.
#include <numbers>

#include <fmt/format.h>

#include <farcall/primitives/elementwise.h>

#include "stablehlo/rules.h"

namespace farcall::stablehlo {
namespace {

struct Name {
  std::string_view primitive, operation;
  bool is_inexact = false;
};
constexpr Name kNames[] = {
    {"neg", "stablehlo.negate"},
    {"floor", "stablehlo.floor"},
    {"ceil", "stablehlo.ceil"},
    {"is_finite", "stablehlo.is_finite"},
    {"not", "stablehlo.not"},
    {"exp", "stablehlo.exponential"},
    {"expm1", "stablehlo.exponential_minus_one"},
    {"log", "stablehlo.log"},
    {"log1p", "stablehlo.log_plus_one"},
    {"sqrt", "stablehlo.sqrt"},
    {"rsqrt", "stablehlo.rsqrt"},
    {"cbrt", "stablehlo.cbrt"},
    {"sin", "stablehlo.sine"},
    {"cos", "stablehlo.cosine"},
    {"tan", "stablehlo.tan"},
    {"tanh", "stablehlo.tanh"},
    {"logistic", "stablehlo.logistic"},
    {"real", "stablehlo.real"},
    {"imag", "stablehlo.imag"},
    {"population_count", "stablehlo.popcnt"},
    {"clz", "stablehlo.count_leading_zeros"},
    {"asin", "chlo.asin"},
    {"acos", "chlo.acos"},
    {"sinh", "chlo.sinh"},
    {"cosh", "chlo.cosh"},
    {"asinh", "chlo.asinh"},
    {"acosh", "chlo.acosh"},
    {"atanh", "chlo.atanh"},
    {"erf", "chlo.erf"},
    {"erfc", "chlo.erfc"},
    {"erf_inv", "chlo.erf_inv"},
    {"lgamma", "chlo.lgamma"},
    {"digamma", "chlo.digamma", true},
    {"bessel_i1e", "chlo.bessel_i1e"},
    {"add", "stablehlo.add"},
    {"sub", "stablehlo.subtract"},
    {"mul", "stablehlo.multiply"},
    {"rem", "stablehlo.remainder"},
    {"and", "stablehlo.and"},
    {"or", "stablehlo.or"},
    {"xor", "stablehlo.xor"},
    {"shift_left", "stablehlo.shift_left"},
    {"shift_right_logical", "stablehlo.shift_right_logical"},
    {"shift_right_arithmetic", "stablehlo.shift_right_arithmetic"},
    {"complex", "stablehlo.complex"},
    {"zeta", "chlo.zeta", true},
    {"polygamma", "chlo.polygamma", true},
    {"nextafter", "chlo.next_after"},
};
constexpr Name kComparisons[] = {{"eq", "EQ"}, {"ne", "NE"}, {"lt", "LT"},
                                 {"le", "LE"}, {"gt", "GT"}, {"ge", "GE"}};

// Broadcasts scalar operands to the shape of the result.
Values broadcast_all(Emitter& e, const Call& call) {
  Values operands;
  for (const Value& input : call.inputs)
    operands.push_back(e.broadcast(input, call.result().shape()));
  return operands;
}

// XLA's expansions of CHLO refuse floats of 8 bits and fewer, or round after each step, and it
// computes wrong roundings of constants of that kind.
bool is_narrow_float(DType dtype) { return is_floating(dtype) && byte_width(dtype) < 2; }

// The operation on operands of that kind in float32.
Values widened(Emitter& e, const Call& call, std::string_view operation) {
  Values operands = broadcast_all(e, call);
  for (Value& operand : operands) operand = e.convert(operand, DType::kFloat32);
  const ShapeDtype type = call.result().with_dtype(DType::kFloat32);
  return {e.convert(e.op(operation, operands, type), call.dtype())};
}

// Of atan2(y, 1), XLA 0.11.2 makes a function for CPUs that reads wrong registers. Twice both
// numbers have the same angle; if 2 y is infinite, it is that of y up to rounding.
Value angle(Emitter& e, const Value& y, const Value& x) {
  const DType dtype = is_narrow_float(y.type.dtype()) ? DType::kFloat32 : y.type.dtype();
  const ShapeDtype type = y.type.with_dtype(dtype);
  Values operands = {e.convert(y, dtype), e.convert(x, dtype)};
  const Value one = e.number(type, 1);
  const Value factor = e.select(e.compare("EQ", operands[1], one), e.number(type, 2), one);
  for (Value& operand : operands) operand = e.op("stablehlo.multiply", {operand, factor}, type);
  return e.convert(e.op("stablehlo.atan2", operands, type), y.type.dtype());
}

Values atan2(Emitter& e, const Call& call) {
  const Values operands = broadcast_all(e, call);
  const bool is_safe = !e.is_for_cpu_plugin() || !is_floating(call.dtype());
  if (is_safe) return {e.op("stablehlo.atan2", operands, call.result())};
  return {angle(e, operands[0], operands[1])};
}

Values atan(Emitter& e, const Call& call) {
  const ShapeDtype type = call.result();
  const bool is_safe = !e.is_for_cpu_plugin() || !is_floating(type.dtype());
  if (!is_safe) return {angle(e, call.inputs[0], e.number(type, 1))};
  if (is_narrow_float(type.dtype())) return widened(e, call, "chlo.atan");
  return {e.op("chlo.atan", call.inputs, type)};
}

// XLA replaces the quotient of a value and itself by one; of integers, 0 / 0 is -1.
Values div(Emitter& e, const Call& call) {
  const Values operands = broadcast_all(e, call);
  const ShapeDtype type = call.result();
  if (is_integer(type.dtype()) && operands[0].name == operands[1].name) {
    const Value zero = e.number(type, 0), all_bits = e.op("stablehlo.not", {zero}, type);
    return {e.select(e.compare("EQ", operands[0], zero), all_bits, e.number(type, 1))};
  }
  return {e.op("stablehlo.divide", operands, type)};
}

// An expression of one operand; its values have the operand's type.
class Expression {
 public:
  Expression(Emitter& emitter, Value value) : emitter_(&emitter), value_(std::move(value)) {}
  Expression number(double x) const { return {*emitter_, emitter_->number(value_.type, x)}; }
  Expression apply(std::string_view operation) const {
    return {*emitter_, emitter_->op(operation, {value_}, value_.type)};
  }
  friend Expression operator+(const Expression& a, const Expression& b) {
    return a.with("stablehlo.add", b);
  }
  friend Expression operator-(const Expression& a, const Expression& b) {
    return a.with("stablehlo.subtract", b);
  }
  friend Expression operator*(const Expression& a, const Expression& b) {
    return a.with("stablehlo.multiply", b);
  }
  friend Expression operator/(const Expression& a, const Expression& b) {
    return a.with("stablehlo.divide", b);
  }
  Expression with(std::string_view operation, const Expression& other) const {
    return {*emitter_, emitter_->op(of_dtype(operation, value_.type.dtype()),
                                    {value_, other.value_}, value_.type)};
  }
  const Value& value() const { return value_; }

 private:
  Emitter* emitter_;
  Value value_;
};

template <class F>
Rule composition(F&& f) {
  return [f](Emitter& e, const Call& call) {
    return Values{f(Expression(e, call.inputs[0])).value()};
  };
}

// For an exponent above 0; some dtypes have no number 1.
Expression power(const Expression& x, uint64_t exponent) {
  Expression square = x;
  for (; exponent % 2 == 0; exponent /= 2) square = square * square;
  Expression result = square;
  while (exponent /= 2) {
    square = square * square;
    if (exponent % 2 == 1) result = result * square;
  }
  return result;
}

Values integer_pow(Emitter& e, const Call& call) {
  const int64_t y = call.params<IntegerPowParams>().y;
  const Expression x(e, call.inputs[0]);
  if (y == 0) return {x.number(1).value()};
  const uint64_t size = y < 0 ? -static_cast<uint64_t>(y) : static_cast<uint64_t>(y);
  const Expression result = power(x, size);
  return {(y < 0 ? x.number(1) / result : result).value()};
}

// Multiplies the powers by groups of bits of the exponent: XLA reads only its last bits.
Value power_of_integers(Emitter& e, const Value& x, const Value& exponent) {
  constexpr int kBits = 5;
  const ShapeDtype type = x.type;
  const auto both = [&](std::string_view name, const Value& a, const Value& b) {
    return e.op(name, {a, b}, type);
  };
  const int num_bits = dtype_info(type.dtype()).bits;
  if (num_bits <= kBits) return both("stablehlo.power", x, exponent);
  Value base = x, rest = exponent, result;
  for (int bit = 0; bit < num_bits; bit += kBits) {
    const Value digit = both("stablehlo.and", rest, e.number(type, (1 << kBits) - 1));
    const Value factor = both("stablehlo.power", base, digit);
    result = bit == 0 ? factor : both("stablehlo.multiply", result, factor);
    for (int i = 0; i < kBits; ++i) base = both("stablehlo.multiply", base, base);
    rest = both("stablehlo.shift_right_logical", rest, e.number(type, kBits));
  }
  if (dtype_info(type.dtype()).kind == DTypeKind::kUnsigned) return result;
  const Value is_negative = e.compare("LT", exponent, e.number(type, 0));
  return e.select(is_negative, both("stablehlo.power", x, exponent), result);
}

Values pow(Emitter& e, const Call& call) {
  Values operands = broadcast_all(e, call);
  operands[1] = e.convert(operands[1], operands[0].type.dtype());
  const DTypeKind kind = dtype_info(call.dtype()).kind;
  if (kind == DTypeKind::kSigned || kind == DTypeKind::kUnsigned) {
    return {power_of_integers(e, operands[0], operands[1])};
  }
  return {e.op("stablehlo.power", operands, call.result())};
}

// No lowering for complex numbers: the order by real part first has no operation.
Rule extreme_of_two(std::string_view operation) {
  return [operation](Emitter& e, const Call& call) -> Values {
    if (is_complex(call.dtype())) return {};
    return {e.op(operation, broadcast_all(e, call), call.result())};
  };
}

Values abs(Emitter& e, const Call& call) {
  const bool is_unsigned = dtype_info(call.inputs[0].type.dtype()).kind == DTypeKind::kUnsigned;
  if (is_unsigned) return {call.inputs[0]};
  return {e.op("stablehlo.abs", call.inputs, call.result())};
}

Values sign(Emitter& e, const Call& call) {
  const Value& x = call.inputs[0];
  if (dtype_info(call.dtype()).kind == DTypeKind::kUnsigned) {
    return {e.op("stablehlo.minimum", {x, e.number(x.type, 1)}, x.type)};
  }
  return {e.op("stablehlo.sign", {x}, x.type)};
}

Values conj(Emitter& e, const Call& call) {
  const Value& x = call.inputs[0];
  if (!is_complex(x.type.dtype())) return {x};
  const ShapeDtype part = part_of(x.type);
  const Value imag = e.op("stablehlo.imag", {x}, part);
  return {e.op("stablehlo.complex",
               {e.op("stablehlo.real", {x}, part), e.op("stablehlo.negate", {imag}, part)},
               x.type)};
}

// Complex numbers become what their real parts become, also bools.
Values convert(Emitter& e, const Call& call) {
  Value x = call.inputs[0];
  const DType from = x.type.dtype(), to = call.dtype();
  if (from == to) return {x};
  if (is_key(from)) return {};
  if (is_complex(from) && !is_complex(to)) x = e.op("stablehlo.real", {x}, part_of(x.type));
  if (x.type.dtype() == to) return {x};
  if (to == DType::kBool) return {e.compare("NE", x, e.number(x.type, 0))};
  const Value converted = e.convert(x, to);
  if (has_zero(to)) return {converted};
  // XLA makes the lowest number of a zero, not NaN.
  return {e.select(e.compare("EQ", x, e.number(x.type, 0)), e.number(call.result(), 0), converted)};
}

Values bitcast(Emitter& e, const Call& call) {
  const DType from = call.inputs[0].type.dtype(), to = call.dtype();
  if (from == to) return {call.inputs[0]};
  if (from == DType::kBool || to == DType::kBool || is_complex(from) || is_complex(to)) return {};
  return {e.op("stablehlo.bitcast_convert", call.inputs, call.result())};
}

Values round(Emitter& e, const Call& call) {
  const bool is_to_even = call.params<RoundParams>().rounding_method == 1;
  const std::string_view operation =
      is_to_even ? "stablehlo.round_nearest_even" : "stablehlo.round_nearest_afz";
  if (is_narrow_float(call.dtype())) return widened(e, call, operation);
  return {e.op(operation, call.inputs, call.result())};
}

Values reduce_precision(Emitter& e, const Call& call) {
  const auto& p = call.params<ReducePrecisionParams>();
  return {e.op("stablehlo.reduce_precision", call.inputs, call.result(),
               fmt::format("exponent_bits = {} : i32, mantissa_bits = {} : i32", p.exponent_bits,
                           p.mantissa_bits))};
}

// XLA computes wrong clamps of constant bools.
Values clamp(Emitter& e, const Call& call) {
  const Values all = broadcast_all(e, call);
  const ShapeDtype type = call.result();
  if (type.dtype() != DType::kBool) return {e.op("stablehlo.clamp", all, type)};
  return {e.op("stablehlo.and", {e.op("stablehlo.or", {all[0], all[1]}, type), all[2]}, type)};
}

// Selectors outside of the cases choose the nearest one.
Values select_n(Emitter& e, const Call& call) {
  const Values all = broadcast_all(e, call);
  const Value& which = all[0];
  Value chosen = all.back();
  for (size_t i = all.size() - 2; i > 0; --i) {
    const Value is_this =
        which.type.dtype() == DType::kBool
            ? e.op("stablehlo.not", {which}, which.type)
            : e.compare("LE", which, e.number(which.type, static_cast<double>(i - 1)));
    chosen = e.select(is_this, all[i], chosen);
  }
  return {chosen};
}

}  // namespace

void add_elementwise(Rules& rules) {
  for (const Name& row : kNames) {
    Rule& rule = rules[row.primitive];
    rule = [row](Emitter& e, const Call& call) {
      if (row.operation.starts_with("chlo.") && is_narrow_float(call.dtype())) {
        return widened(e, call, row.operation);
      }
      return Values{
          e.op(of_dtype(row.operation, call.dtype()), broadcast_all(e, call), call.result())};
    };
    rule.is_inexact = row.is_inexact;
  }
  for (const Name& row : kComparisons) {
    rules[row.primitive] = [row](Emitter& e, const Call& call) {
      const Values operands = broadcast_all(e, call);
      return Values{e.compare(row.operation, operands[0], operands[1])};
    };
  }
  rules["max"] = extreme_of_two("stablehlo.maximum");
  rules["min"] = extreme_of_two("stablehlo.minimum");
  rules["abs"] = abs;
  rules["sign"] = sign;
  rules["conj"] = conj;
  rules["div"] = div;
  rules["atan"] = atan;
  rules["atan2"] = atan2;
  rules["pow"] = pow;
  rules["integer_pow"] = integer_pow;
  rules["convert_element_type"] = convert;
  rules["bitcast_convert_type"] = bitcast;
  rules["round"] = round;
  rules["reduce_precision"] = reduce_precision;
  rules["select_n"] = select_n;
  rules["clamp"] = clamp;
  using E = Expression;
  rules["square"] = composition([](const E& x) { return x * x; });
  rules["exp2"] = composition([](const E& x) { return x.number(2).with("stablehlo.power", x); });
  rules["log2"] = composition(
      [](const E& x) { return x.apply("stablehlo.log") / x.number(std::numbers::ln2); });
  rules["log10"] = composition(
      [](const E& x) { return x.apply("stablehlo.log") / x.number(std::numbers::ln10); });
}

}  // namespace farcall::stablehlo
