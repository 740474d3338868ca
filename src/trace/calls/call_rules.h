// The rules of primitives that run a program on their operands. `P` is the struct of parameters;
// its member `jaxpr` is the program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/program/verify.h>
#include <farcall/trace/call.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/interpreter.h>

namespace farcall {

template <class P>
const ProgramPtr& program_of(const Params* params) {
  return params_as<P>(params).jaxpr;
}
template <class P>
ParamsPtr with_program(const Params* params, const ProgramPtr& program) {
  P p = params_as<P>(params);
  p.jaxpr = program;
  return make_params(std::move(p));
}

template <class P>
std::vector<ShapeDtype> types(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operands(*program_of<P>(params), inputs);
  return program_of<P>(params)->output_types();
}
template <class P>
Effects effects(const Params* params) {
  return program_of<P>(params)->effects();
}
template <class P>
ProgramPtr body(const Params* params) {
  return program_of<P>(params);
}

// Applies the same primitive with another program.
template <class P, class Call>
ProgramRunner runner(const Call& call) {
  return [&call](const ProgramPtr& program, std::span<const Array> operands) {
    return bind_primitive(call.primitive, with_program<P>(call.params.get(), program), operands);
  };
}
template <class P>
JvpResults call_jvp(const JvpCall& call) {
  return jvp_of_call(call, program_of<P>(call.params.get()), runner<P>(call));
}
template <class P>
BatchResults call_batch(const BatchCall& call) {
  return batch_of_call(call, program_of<P>(call.params.get()), runner<P>(call));
}

template <class P>
std::vector<Array> call_transpose(const TransposeCall& call) {
  std::vector<bool> is_linear, has_cotangent = present(call.cotangents);
  for (const Array& input : call.inputs) is_linear.push_back(input.is_null());
  const ProgramTranspose derived =
      transpose_program(program_of<P>(call.params.get()), is_linear, has_cotangent);
  std::vector<Array> operands = select<Array>(call.inputs, is_linear, /*wanted=*/false);
  const auto cotangents = select<Array>(call.cotangents, has_cotangent);
  operands.insert(operands.end(), cotangents.begin(), cotangents.end());
  return scatter_arrays(derived.has_cotangent, runner<P>(call)(derived.program, operands));
}

template <class P>
std::vector<std::string> axis_names(const Params* params) {
  return program_of<P>(params)->axis_names;
}

template <class P>
constexpr Primitive call_primitive(std::string_view name, const TransformRules* rules) {
  return {.name = name,
          .type_rule = types<P>,
          .parse = parse_params<P>,
          .effects = effects<P>,
          .rules = rules,
          .body = body<P>,
          .axis_names = axis_names<P>};
}

}  // namespace farcall
