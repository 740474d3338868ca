// linear_call and custom_linear_solve: linear functions with a given transpose or a given inverse.
#include <farcall/ops/linear_functions.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/type_text.h>
#include <farcall/ops/lax.h>
#include <farcall/primitives/call.h>
#include <farcall/program/verify.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/call.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/varying.h>

#include "ops/control/programs.h"
#include "ops/internal/register.h"

namespace farcall {
namespace {

using namespace control;

extern const Primitive kLinearCall;
extern const Primitive kLinearSolve;

std::vector<Array> bind_linear_call(LinearCallParams params, std::span<const Array> operands) {
  return bind_primitive(kLinearCall, make_params(std::move(params)), operands);
}
std::vector<Array> bind_linear_solve(LinearSolveParams params, std::span<const Array> operands) {
  return bind_primitive(kLinearSolve, make_params(std::move(params)), operands);
}

// ---- shared by both ----

// The number of constants; program text may contain a wrong one.
size_t checked_consts(int64_t num_consts, size_t num_operands) {
  if (num_consts < 0 || std::cmp_greater(num_consts, num_operands)) {
    invalid_argument(
        fmt::format("num_consts is {}, there are {} operands", num_consts, num_operands));
  }
  return static_cast<size_t>(num_consts);
}

// Raises unless `program` maps these types to results that begin with `results`.
void check_program(const ProgramPtr& program, std::string_view name,
                   std::span<const ShapeDtype> operands, std::span<const ShapeDtype> results,
                   bool may_return_more = false) {
  check_same_types(operands, program->input_types(), "the operands",
                   fmt::format("what {} takes", name));
  auto found = program->output_types();
  if (may_return_more && found.size() > results.size()) found.resize(results.size());
  check_same_types(found, results, fmt::format("what {} returns", name), "what it should");
}

std::vector<std::string> all_axis_names(const Params* params) {
  std::vector<std::string> names;
  for (const NamedProgram& nested : params->programs()) {
    append<std::string>(names, nested.program->axis_names);
  }
  return names;
}

// The tangents of a program's first `count` results that come from tangents of the constants; null
// where there are none.
std::vector<Array> tangents_by_consts(const ProgramPtr& program, std::span<const Array> consts,
                                      std::span<const Array> tangents,
                                      std::span<const Array> inputs, size_t count) {
  const std::vector<bool> varies = present(tangents) + std::vector<bool>(inputs.size(), false);
  if (count_of(varies) == 0) return std::vector<Array>(count);
  const ProgramJvp derived = jvp_program(program, varies);
  std::vector<Array> operands = concat(consts, inputs);
  for (const Array& tangent : tangents) {
    if (!tangent.is_null()) operands.push_back(tangent);
  }
  const std::vector<Array> found = call_program(derived.program, operands);
  auto moved = scatter_arrays(derived.varies, std::span(found).subspan(program->outputs.size()));
  moved.resize(count);
  return moved;
}

// Replaces null tangents by zeros.
std::vector<Array> instantiated(std::span<const Array> tangents,
                                std::span<const ShapeDtype> types) {
  std::vector<Array> all;
  for (size_t i = 0; i < types.size(); ++i) all.push_back(instantiate(tangents[i], types[i]));
  return all;
}

// Raises if the transpose is with respect to a constant. Returns the constants.
std::span<const Array> constants_of(const TransposeCall& call, size_t num_consts) {
  for (size_t i = 0; i < num_consts; ++i) {
    if (!call.is_linear(i)) continue;
    invalid_argument(
        fmt::format("{}: it is not linear in constant {}, a value that its functions close "
                    "over or a residual; differentiate it before it is transposed",
                    call.primitive.name, i));
  }
  return call.inputs.first(num_consts);
}

// The cotangents of linear operands, null for the others.
std::vector<Array> cotangents_of(const TransposeCall& call, size_t num_consts,
                                 std::span<const Array> found) {
  std::vector<Array> cotangents(call.inputs.size());
  for (size_t i = num_consts; i < call.inputs.size(); ++i) {
    if (call.is_linear(i)) cotangents[i] = found[i - num_consts];
  }
  return cotangents;
}

// An application to a batch. Every operand except the constants has batch dimension 0, and so has
// every result.
class Batched {
 public:
  Batched(const BatchCall& call, int64_t num_consts)
      : call_(call),
        operands_(call.inputs.begin(), call.inputs.end()),
        const_axes_(call.axes.begin(), call.axes.begin() + num_consts) {
    for (size_t i = const_axes_.size(); i < operands_.size(); ++i) {
      operands_[i] = move_axis(operands_[i], call.axes[i], 0, call.axis.size);
    }
  }

  const std::vector<Array>& operands() const { return operands_; }
  // Batches a program whose first inputs are the constants.
  ProgramPtr operator()(const ProgramPtr& program) const {
    std::vector<int64_t> axes = const_axes_;
    axes.resize(program->inputs.size(), 0);
    const std::vector<bool> all(program->outputs.size(), true);
    return batch_program(program, call_.axis, std::move(axes), all).program;
  }
  static BatchResults results(std::vector<Array> outputs) {
    std::vector<int64_t> axes(outputs.size(), 0);
    return {std::move(outputs), std::move(axes)};
  }

 private:
  const BatchCall& call_;
  std::vector<Array> operands_;
  std::vector<int64_t> const_axes_;
};

// ---- linear_call ----

std::vector<ShapeDtype> call_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  const auto& p = params_as<LinearCallParams>(params);
  const size_t num_consts = checked_consts(p.num_consts, inputs.size());
  check_operands(*p.callee, inputs);
  auto results = p.callee->output_types();
  check_program(p.transpose, "transpose", concat<ShapeDtype>(inputs.first(num_consts), results),
                inputs.subspan(num_consts));
  return results;
}

ProgramPtr call_body(const Params* params) { return params_as<LinearCallParams>(params).callee; }
Effects call_effects(const Params* params) { return call_body(params)->effects(); }

JvpResults call_jvp(const JvpCall& call) {
  const auto& p = params_as<LinearCallParams>(call.params.get());
  const auto num_consts = static_cast<size_t>(p.num_consts);
  const auto consts = call.primals.first(num_consts);
  const auto inputs = call.primals.subspan(num_consts);
  const auto directions = call.tangents.subspan(num_consts);
  JvpResults results{bind_linear_call(p, call.primals), {}};
  results.tangents = tangents_by_consts(p.callee, consts, call.tangents.first(num_consts), inputs,
                                        results.primals.size());
  if (count_of(present(directions)) > 0) {
    const auto moved =
        bind_linear_call(p, concat<Array>(consts, instantiated(directions, types_of(inputs))));
    for (size_t i = 0; i < moved.size(); ++i) {
      results.tangents[i] = add_tangents(results.tangents[i], moved[i]);
    }
  }
  return results;
}

std::vector<Array> call_transpose(const TransposeCall& call) {
  const auto& p = params_as<LinearCallParams>(call.params.get());
  const auto num_consts = static_cast<size_t>(p.num_consts);
  const auto consts = constants_of(call, num_consts);
  const auto found = bind_linear_call(
      {.callee = p.transpose, .transpose = p.callee, .num_consts = p.num_consts},
      concat<Array>(consts, instantiated(call.cotangents, p.callee->output_types())));
  return cotangents_of(call, num_consts, found);
}

BatchResults call_batch(const BatchCall& call) {
  LinearCallParams p = params_as<LinearCallParams>(call.params.get());
  const Batched batched(call, p.num_consts);
  p.callee = batched(p.callee);
  p.transpose = batched(p.transpose);
  return Batched::results(bind_linear_call(std::move(p), batched.operands()));
}

const TransformRules kLinearCallRules = {
    .jvp = call_jvp, .transpose = call_transpose, .batch = call_batch};
const Primitive kLinearCall = {.name = "linear_call",
                               .type_rule = call_rule,
                               .parse = parse_params<LinearCallParams>,
                               .effects = call_effects,
                               .rules = &kLinearCallRules,
                               .body = call_body,
                               .axis_names = all_axis_names};
FARCALL_REGISTER_PRIMITIVE(kLinearCall);

// ---- custom_linear_solve ----

std::vector<ShapeDtype> solve_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  const auto& p = params_as<LinearSolveParams>(params);
  const auto b = inputs.subspan(checked_consts(p.num_consts, inputs.size()));
  check_program(p.matvec, "matvec", inputs, b);
  check_program(p.solve, "solve", inputs, b, /*may_return_more=*/true);
  if (!p.transposed.empty() && p.transposed.size() != 2) {
    invalid_argument(
        fmt::format("transposed must be empty or two programs, got {}", p.transposed.size()));
  }
  for (size_t i = 0; i < p.transposed.size(); ++i) {
    check_program(p.transposed[i], fmt::format("transposed[{}]", i), inputs, b,
                  /*may_return_more=*/i == 1);
  }
  return p.solve->output_types();
}

ProgramPtr solve_body(const Params* params) { return params_as<LinearSolveParams>(params).solve; }
Effects solve_effects(const Params* params) { return solve_body(params)->effects(); }

// Differentiating A x = b: dx solves A dx = db - dA x. Further results of the solver have no
// derivative.
JvpResults solve_jvp(const JvpCall& call) {
  const auto& p = params_as<LinearSolveParams>(call.params.get());
  const auto num_consts = static_cast<size_t>(p.num_consts);
  const auto consts = call.primals.first(num_consts);
  const auto b = call.primals.subspan(num_consts);
  std::vector<Array> found = bind_linear_solve(p, call.primals);
  const std::span<const Array> x(found.data(), b.size());
  const std::vector<Array> moved =
      tangents_by_consts(p.matvec, consts, call.tangents.first(num_consts), x, b.size());
  std::vector<Array> directions;
  for (size_t i = 0; i < b.size(); ++i) {
    const Array& direction = call.tangents[num_consts + i];
    directions.push_back(moved[i].is_null() ? direction
                                            : add_tangents(direction, lax::neg(moved[i])));
  }
  std::vector<Array> tangents(found.size());
  if (count_of(present(directions)) > 0) {
    const std::vector<Array> moves =
        bind_linear_solve(p, concat<Array>(consts, instantiated(directions, types_of(b))));
    std::copy_n(moves.begin(), b.size(), tangents.begin());
  }
  return {std::move(found), std::move(tangents)};
}

std::vector<Array> solve_transpose(const TransposeCall& call) {
  const auto& p = params_as<LinearSolveParams>(call.params.get());
  if (p.transposed.empty()) {
    throw TypeError(
        "custom_linear_solve: reverse-mode differentiation needs transpose_solve, or symmetric "
        "where the matrix is its own transpose");
  }
  const auto num_consts = static_cast<size_t>(p.num_consts);
  const auto consts = constants_of(call, num_consts);
  const size_t count = call.inputs.size() - num_consts;
  const auto found = bind_linear_solve(
      {.matvec = p.transposed[0],
       .solve = p.transposed[1],
       .transposed = {p.matvec, p.solve},
       .num_consts = p.num_consts},
      concat<Array>(consts,
                    instantiated(call.cotangents.first(count), call.types.subspan(num_consts))));
  return cotangents_of(call, num_consts, found);
}

BatchResults solve_batch(const BatchCall& call) {
  LinearSolveParams p = params_as<LinearSolveParams>(call.params.get());
  const Batched batched(call, p.num_consts);
  p.matvec = batched(p.matvec);
  p.solve = batched(p.solve);
  for (ProgramPtr& program : p.transposed) program = batched(program);
  return Batched::results(bind_linear_solve(std::move(p), batched.operands()));
}

const TransformRules kLinearSolveRules = {
    .jvp = solve_jvp, .transpose = solve_transpose, .batch = solve_batch};
const Primitive kLinearSolve = {.name = "custom_linear_solve",
                                .type_rule = solve_rule,
                                .parse = parse_params<LinearSolveParams>,
                                .effects = solve_effects,
                                .rules = &kLinearSolveRules,
                                .body = solve_body,
                                .axis_names = all_axis_names};
FARCALL_REGISTER_PRIMITIVE(kLinearSolve);

// ---- recording ----

// Raises unless the first results of `function` have these types.
void check_returned(const std::string& function, const Recording& recording,
                    std::span<const ShapeDtype> wanted, std::string_view whose,
                    bool may_return_more = false) {
  auto found = recording.program->output_types();
  if (may_return_more && found.size() > wanted.size()) found.resize(wanted.size());
  with_error_prefix(function, [&] { check_same_types(found, wanted, "what it returns", whose); });
}

}  // namespace

void detail::check_structure(std::string_view what, std::string_view whose, const TreeDef& wanted,
                             const TreeDef& found) {
  if (found == wanted) return;
  throw TypeError(fmt::format("{} must have the structure of {},\n  {}\nit has\n  {}", what, whose,
                              wanted.to_string(), found.to_string()));
}

std::vector<Array> linear_call(const LinearFunction& fun, const LinearFunction& fun_transpose,
                               std::span<const Array> residuals, std::span<const Array> inputs) {
  const auto record_one = [&](const LinearFunction& function, std::span<const ShapeDtype> types,
                              const AxisSets& axes, std::string name) {
    AxisSets all_axes = varying_axes(residuals);
    if (all_axes) append<AxisSet>(*all_axes, *axes);
    return record_closure(
        [&](std::span<const Array> all) {
          return function(all.first(residuals.size()), all.subspan(residuals.size()));
        },
        concat<ShapeDtype>(types_of(residuals), types), all_axes, std::move(name));
  };
  const auto input_types = types_of(inputs);
  std::vector<Recording> recordings{record_one(fun, input_types, varying_axes(inputs), "fun")};
  const auto axes = axes_of(*recordings[0].program);
  recordings.push_back(record_one(fun_transpose, recordings[0].program->output_types(),
                                  axes ? AxisSets(axes->outputs) : std::nullopt, "fun_transpose"));
  check_returned("linear_call: fun_transpose", recordings[1], input_types, "the linear arguments");
  const SharedPrograms shared = share_captured(recordings);
  std::vector<Array> operands = concat<Array>(shared.captured, residuals);
  const auto num_consts = static_cast<int64_t>(operands.size());
  append(operands, inputs);
  return bind_linear_call(
      {.callee = shared.programs[0], .transpose = shared.programs[1], .num_consts = num_consts},
      operands);
}

namespace lax {

std::vector<Array> custom_linear_solve(const FlatFunction& matvec, std::span<const Array> b,
                                       const LinearSolver& solve,
                                       const LinearSolveOptions& options) {
  const std::string name = "custom_linear_solve";
  const std::vector<ShapeDtype> types = types_of(b);
  // The solution varies over the axes of b and over those of the matrix.
  AxisSets axes = varying_axes(b);
  const auto record_solver = [&](const LinearSolver& solver, const FlatFunction& function,
                                 const std::string& which) {
    Recording recording = record_closure(
        [&](std::span<const Array> inputs) { return vary_like(solver(function, inputs), axes); },
        types, axes, which);
    check_returned(name + ": " + which, recording, types, "b", /*may_return_more=*/true);
    return recording;
  };
  const FlatFunction varying_matvec = [&](std::span<const Array> x) {
    return vary_like(matvec(x), axes);
  };
  std::vector<Recording> recordings;
  do {
    recordings = {record_closure(varying_matvec, types, axes, "matvec")};
    check_returned(name + ": matvec", recordings[0], types, "b");
    recordings.push_back(record_solver(solve, matvec, "solve"));
  } while (widen(axes, *recordings[0].program) || widen(axes, *recordings[1].program));
  if (options.is_symmetric) {
    recordings.push_back(recordings[0]);
    recordings.push_back(options.transpose_solve
                             ? record_solver(options.transpose_solve, matvec, "transpose_solve")
                             : recordings[1]);
  } else if (options.transpose_solve) {
    for (const ShapeDtype& type : types) {
      if (has_tangent(type)) continue;
      throw TypeError(fmt::format(
          "{}: b must be of floating-point or complex dtypes, as matvec is transposed for "
          "transpose_solve; got ({})",
          name, types_to_string(types)));
    }
    const Recording& forward = recordings[0];
    const std::vector<bool> is_linear =
        std::vector<bool>(forward.captured.size(), false) + std::vector<bool>(types.size(), true);
    recordings.push_back({transpose_program(forward.program, is_linear,
                                            std::vector<bool>(types.size(), true), is_linear)
                              .program,
                          forward.captured});
    recordings.push_back(
        record_solver(options.transpose_solve, as_function(recordings[2]), "transpose_solve"));
  }
  SharedPrograms shared = share_captured(recordings);
  const std::span<const ProgramPtr> programs(shared.programs);
  const auto transposed = programs.subspan(2);
  return bind_linear_solve({.matvec = programs[0],
                            .solve = programs[1],
                            .transposed = {transposed.begin(), transposed.end()},
                            .num_consts = static_cast<int64_t>(shared.captured.size())},
                           concat<Array>(shared.captured, vary_like({b.begin(), b.end()}, axes)));
}

}  // namespace lax
}  // namespace farcall
