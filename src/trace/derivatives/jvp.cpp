// Forward mode: an interpreter whose arrays carry tangents.
#include <farcall/trace/differentiate.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/text.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/placement.h>

#include "trace/custom/custom.h"
#include "trace/interpreters/before_rules.h"
#include "trace/interpreters/tracing.h"

namespace farcall {
namespace {

class JvpNode final : public TracingNode {
 public:
  JvpNode(const TracingInterpreter& interpreter, Array primal, Array tangent)
      : TracingNode(primal.type(), interpreter),
        primal_(std::move(primal)),
        tangent_(std::move(tangent)) {}
  const Array& primal() const { return primal_; }
  const Array& tangent() const { return tangent_; }
  const Array* same_values() const override { return &primal_; }
  AxisSet varying_axes() const override { return farcall::varying_axes(primal_); }
  const Storage* known_values() const override { return primal_.node().known_values(); }

 private:
  Array primal_, tangent_;
};

class JvpInterpreter final : public TracingInterpreter {
 public:
  JvpInterpreter() : TracingInterpreter(&current_interpreter()) {}

  Array wrap(const Array& primal, const Array& tangent) const {
    if (tangent.is_null() || !has_tangent(primal.type())) return primal;
    return Array(new JvpNode(*this, primal, tangent));
  }

  std::vector<Array> process(const Primitive& primitive, const ParamsPtr& params,
                             std::span<const Array> inputs) override {
    const JvpResults operands = unwrap(inputs);
    InterpreterScope scope(*parent());
    if (is_constant(operands)) return bind_primitive(primitive, params, inputs);
    if (!primitive.rules || !primitive.rules->jvp) {
      missing_rule(primitive, "derivative", "wrap it in custom_jvp or custom_vjp");
    }
    check_operands(primitive, params.get(), inputs);
    return wrap_all(primitive.rules->jvp({primitive, params, operands.primals, operands.tangents}));
  }

  std::vector<Array> process_custom(const CustomCallPtr& call,
                                    std::span<const Array> inputs) override {
    const JvpResults operands = unwrap(inputs);
    InterpreterScope scope(*parent());
    if (is_constant(operands)) return call_custom(call, inputs);
    return wrap_all(jvp_of_custom_call(call, operands.primals, operands.tangents));
  }

  JvpResults unwrap(std::span<const Array> arrays) const {
    JvpResults result;
    for (const Array& array : arrays) {
      if (owns(array)) {
        const auto& node = static_cast<const JvpNode&>(array.node());
        result.primals.push_back(node.primal());
        result.tangents.push_back(node.tangent());
      } else {
        result.primals.push_back(array);
        result.tangents.emplace_back();
      }
    }
    return result;
  }

 private:
  static bool is_constant(const JvpResults& operands) {
    return std::ranges::all_of(operands.tangents, &Array::is_null);
  }

  std::vector<Array> wrap_all(const JvpResults& results) const {
    FARCALL_ASSERT(results.primals.size() == results.tangents.size());
    std::vector<Array> wrapped;
    wrapped.reserve(results.primals.size());
    for (size_t i = 0; i < results.primals.size(); ++i) {
      wrapped.push_back(wrap(results.primals[i], results.tangents[i]));
    }
    return wrapped;
  }
};

}  // namespace

JvpResults jvp(const FlatFunction& function, std::span<const Array> primals,
               std::span<const Array> tangents) {
  JvpInterpreter interpreter;
  std::vector<Array> inputs;
  inputs.reserve(primals.size());
  for (size_t i = 0; i < primals.size(); ++i) {
    inputs.push_back(interpreter.wrap(primals[i], tangents[i]));
  }
  InterpreterScope scope(interpreter);
  return interpreter.unwrap(function(inputs));
}

Array without_tangent(const Array& array) {
  const auto* interpreter = dynamic_cast<const JvpInterpreter*>(&current_interpreter());
  return interpreter ? interpreter->unwrap(std::span(&array, 1)).primals[0] : array;
}

Array instantiate(const Array& tangent, ShapeDtype type) {
  return tangent.is_null() ? basic_operations().zeros(type.strengthened()) : tangent;
}

Array checked_tangent(const Array& tangent, ShapeDtype type, const std::string& what,
                      TangentErrors errors) {
  const auto refuse = [](bool is_type_error, std::string text) {
    if (is_type_error) throw TypeError(std::move(text));
    invalid_argument(std::move(text));
  };
  Array result = tangent;
  if (tangent.dtype() != type.dtype()) {
    // A number of the host language is accepted for any float dtype.
    const bool fits = is_floating(tangent.dtype()) || is_complex(type.dtype());
    if (!tangent.type().weak_type() || !has_tangent(tangent.type()) || !fits) {
      refuse(errors != TangentErrors::kValue,
             fmt::format("{} must have dtype {}, the dtype of its value; got {}", what,
                         dtype_name(type.dtype()), tangent.type().to_string()));
    }
    result = basic_operations().convert(tangent, type.dtype(), /*weak_type=*/false);
  }
  if (!std::ranges::equal(result.shape(), type.shape())) {
    refuse(errors == TangentErrors::kType,
           fmt::format("{} must have the shape {} of its value; got {}", what,
                       shape_to_string(type.shape()), tangent.type().to_string()));
  }
  return result;
}

Array weak_like(const Array& tangent, ShapeDtype type) {
  if (!has_tangent(type) || (tangent.is_null() && !type.weak_type())) return tangent;
  Array array = instantiate(tangent, type);
  if (array.type().weak_type() == type.weak_type()) return array;
  if (array.is_concrete()) return with_type(array, type);
  return basic_operations().convert(array, type.dtype(), type.weak_type());
}

Array add_tangents(const Array& x, const Array& y) {
  if (x.is_null()) return y;
  if (y.is_null()) return x;
  return basic_operations().add(x, y);
}

JvpResults linear_jvp(const JvpCall& call) {
  return {bind_primitive(call.primitive, call.params, call.primals),
          bind_primitive(call.primitive, call.params, call.tangents)};
}

void check_operands(const Primitive& primitive, const Params* params,
                    std::span<const Array> inputs) {
  std::vector<ShapeDtype> types;
  types.reserve(inputs.size());
  for (const Array& input : inputs) types.push_back(input.type());
  infer_types(primitive, types, params);
}

void missing_rule(const Primitive& primitive, std::string_view rule, std::string_view remedy) {
  std::string text = fmt::format("{}: has no {} rule; {}", primitive.name, rule, remedy);
  if (const SourceLocationPtr where = current_location()) {
    text += "\n  at " + to_text(*where);
  }
  throw Error(ErrorCode::kUnimplemented, std::move(text));
}

}  // namespace farcall
