// while: a loop that runs as long as a condition holds.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/program/cost.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/call.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/interpreter.h>

#include "ops/control/programs.h"
#include "ops/internal/register.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

using namespace control;

extern const Primitive kWhile;

struct WhileLayout {
  explicit WhileLayout(const WhileParams& p)
      : cond_consts(static_cast<size_t>(p.cond_nconsts)),
        body_consts(static_cast<size_t>(p.body_nconsts)),
        first_carry(cond_consts + body_consts),
        carry(p.body_jaxpr->outputs.size()) {}
  size_t cond_consts, body_consts, first_carry, carry;
};

std::vector<ShapeDtype> while_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  const auto& p = params_as<WhileParams>(params);
  const auto cond_takes = p.cond_jaxpr->input_types();
  const auto body_takes = p.body_jaxpr->input_types();
  auto results = p.body_jaxpr->output_types();
  const auto num_carry = static_cast<int64_t>(results.size());
  if (!parts_fit({p.cond_nconsts, num_carry}, cond_takes.size()) ||
      !parts_fit({p.body_nconsts, num_carry}, body_takes.size()) ||
      p.cond_nconsts + num_carry != std::ssize(cond_takes) ||
      p.body_nconsts + num_carry != std::ssize(body_takes)) {
    invalid_argument(fmt::format(
        "cond_nconsts {} and body_nconsts {} do not fit programs of {} and {} "
        "inputs with a carry of {}",
        p.cond_nconsts, p.body_nconsts, cond_takes.size(), body_takes.size(), num_carry));
  }
  const WhileLayout sizes(p);
  check_operand_count(inputs, sizes.first_carry + sizes.carry);
  const auto decision = p.cond_jaxpr->output_types();
  if (decision.size() != 1 || decision[0].strengthened() != ShapeDtype(DType::kBool, {})) {
    invalid_argument(fmt::format("the condition must return one bool[], it returns ({})",
                                 types_to_string(decision)));
  }
  std::vector<ShapeDtype> given(inputs.begin(), inputs.end());
  const auto carry = given.begin() + static_cast<int64_t>(sizes.first_carry);
  std::vector<ShapeDtype> cond_given(given.begin(), given.begin() + p.cond_nconsts);
  cond_given.insert(cond_given.end(), carry, given.end());
  check_same_types(cond_given, cond_takes, "the operands", "what the condition takes");
  check_same_types(std::span(given).subspan(sizes.cond_consts), body_takes, "the operands",
                   "what the body takes");
  check_same_types(results, std::span(body_takes).subspan(sizes.body_consts),
                   "the carry that the body returns", "the carry that it takes");
  return results;
}

Effects while_effects(const Params* params) {
  const auto& p = params_as<WhileParams>(params);
  return p.cond_jaxpr->effects() | p.body_jaxpr->effects();
}

// The cost of one iteration; their number is not known.
Cost while_cost(const Params* params) {
  const auto& p = params_as<WhileParams>(params);
  return p.cond_jaxpr->cost() + p.body_jaxpr->cost();
}

std::vector<std::string> while_axis_names(const Params* params) {
  const auto& p = params_as<WhileParams>(params);
  std::vector<std::string> names = p.cond_jaxpr->axis_names;
  append<std::string>(names, p.body_jaxpr->axis_names);
  return names;
}

// ---- forward mode ----

JvpResults while_jvp(const JvpCall& call) {
  WhileParams p = params_as<WhileParams>(call.params.get());
  const WhileLayout sizes(p);
  const std::vector<bool> varies = present(call.tangents);
  // A bool has no tangent, so the condition's constants need none.
  const auto consts = flags_of(varies, sizes.cond_consts, sizes.body_consts);
  auto carry = flags_of(varies, sizes.first_carry, sizes.carry);
  const ProgramJvp derived = until_stable(
      carry,
      [&](const std::vector<bool>& now) { return jvp_program(p.body_jaxpr, consts + now, now); },
      &ProgramJvp::varies);

  std::vector<Array> operands(call.primals.begin(),
                              call.primals.begin() + static_cast<int64_t>(sizes.first_carry));
  append<Array>(operands,
                select(call.tangents.subspan(sizes.cond_consts, sizes.body_consts), consts));
  append<Array>(operands, call.primals.subspan(sizes.first_carry));
  std::vector<ShapeDtype> tangent_types;
  for (size_t i = 0; i < sizes.carry; ++i) {
    const ShapeDtype type = call.primals[sizes.first_carry + i].type();
    if (!carry[i]) continue;
    operands.push_back(instantiate(call.tangents[sizes.first_carry + i], type));
    tangent_types.push_back(type.strengthened());
  }
  const size_t num_consts = count_of(consts), num_carry = count_of(carry);
  const size_t num_inputs = sizes.body_consts + sizes.carry;
  Order inputs, outputs, cond_inputs;
  append_range(inputs, 0, sizes.body_consts);
  append_range(inputs, num_inputs, num_consts);
  append_range(inputs, sizes.body_consts, sizes.carry);
  append_range(inputs, num_inputs + num_consts, num_carry);
  append_range(outputs, 0, sizes.carry + num_carry);
  append_range(cond_inputs, 0, sizes.cond_consts + sizes.carry);
  cond_inputs.resize(cond_inputs.size() + num_carry, kUnused);
  p.body_jaxpr = rearrange(derived.program, inputs, outputs);
  p.body_nconsts = static_cast<int64_t>(sizes.body_consts + num_consts);
  p.cond_jaxpr = rearrange(p.cond_jaxpr, cond_inputs, {0}, tangent_types);
  const auto found = bind_while(std::move(p), operands);
  return {{found.begin(), found.begin() + static_cast<int64_t>(sizes.carry)},
          scatter_arrays(carry, std::span(found).subspan(sizes.carry))};
}

// ---- batching ----

Array select_where(const Array& is_running, const Array& on_true, const Array& on_false) {
  std::vector<int64_t> leading{0};
  const Array which = on_true.rank() == 1
                          ? is_running
                          : lax::broadcast_in_dim(is_running, on_true.shape(), leading);
  const Array cases[] = {on_false, on_true};
  return lax::select_n(which, cases);
}

// A loop whose elements end at different times: it runs until all have ended, and keeps the carry
// of ended elements. All carries have batch dimension 0.
WhileParams batch_decision(const WhileParams& p, const ProgramPtr& cond, const ProgramPtr& body) {
  const WhileLayout sizes(p);
  WhileParams result = p;
  result.cond_jaxpr = cond->derived.find_or_make<ProgramPtr>("any", {}, [&] {
    return record(
        [&](std::span<const Array> inputs) {
          const int64_t leading[] = {0};
          return std::vector{lax::reduce_or(evaluate(*cond, inputs)[0], leading)};
        },
        cond->input_types(), p.cond_jaxpr->name);
  });
  result.body_nconsts = p.cond_nconsts + p.body_nconsts;
  const std::vector<int64_t> key = {static_cast<int64_t>(cond->derived.id()), p.cond_nconsts};
  result.body_jaxpr = body->derived.find_or_make<ProgramPtr>("while running", key, [&] {
    std::vector<ShapeDtype> types = cond->input_types();
    types.resize(sizes.cond_consts);
    append<ShapeDtype>(types, body->input_types());
    return record(
        [&](std::span<const Array> inputs) {
          const auto carry = inputs.subspan(sizes.first_carry);
          std::vector<Array> asked(inputs.begin(), inputs.begin() + p.cond_nconsts);
          append<Array>(asked, carry);
          const Array is_running = evaluate(*cond, asked)[0];
          std::vector<Array> next = evaluate(*body, inputs.subspan(sizes.cond_consts));
          for (size_t i = 0; i < next.size(); ++i) {
            next[i] = select_where(is_running, next[i], carry[i]);
          }
          return next;
        },
        types, p.body_jaxpr->name);
  });
  return result;
}

BatchResults while_batch(const BatchCall& call) {
  WhileParams p = params_as<WhileParams>(call.params.get());
  const WhileLayout sizes(p);
  const std::vector<int64_t> cond_consts(call.axes.begin(), call.axes.begin() + p.cond_nconsts);
  const std::vector<int64_t> body_consts(
      call.axes.begin() + p.cond_nconsts,
      call.axes.begin() + static_cast<int64_t>(sizes.first_carry));
  const auto with_carry = [](std::vector<int64_t> axes, const std::vector<bool>& carry) {
    for (const bool is_batched : carry) axes.push_back(is_batched ? 0 : kNotBatched);
    return axes;
  };
  std::vector<bool> carry;
  for (size_t i = 0; i < sizes.carry; ++i) {
    carry.push_back(call.is_batched(sizes.first_carry + i));
  }
  const auto derive = [&](const std::vector<bool>& now) {
    return batch_program(p.body_jaxpr, call.axis, with_carry(body_consts, now), now);
  };
  ProgramBatch body = until_stable(carry, derive, &ProgramBatch::is_batched);
  ProgramBatch cond = batch_program(p.cond_jaxpr, call.axis, with_carry(cond_consts, carry));
  if (cond.is_batched[0]) {
    if (has_effect(while_effects(call.params.get()))) return batch_with_effects(call, "the loop");
    carry.assign(sizes.carry, true);
    body = derive(carry);
    cond = batch_program(p.cond_jaxpr, call.axis, with_carry(cond_consts, carry), {true});
    p = batch_decision(p, cond.program, body.program);
  } else {
    p.body_jaxpr = body.program;
    p.cond_jaxpr = cond.program;
  }

  std::vector<Array> operands(call.inputs.begin(), call.inputs.end());
  std::vector<int64_t> axes;
  for (size_t i = 0; i < sizes.carry; ++i) {
    const size_t k = sizes.first_carry + i;
    if (carry[i]) operands[k] = move_axis(operands[k], call.axes[k], 0, call.axis.size);
    axes.push_back(carry[i] ? 0 : kNotBatched);
  }
  if (cond.is_batched[0]) {
    // The body evaluates the condition, so it takes the condition's constants too.
    operands.insert(operands.begin(), call.inputs.begin(), call.inputs.begin() + p.cond_nconsts);
  }
  return {bind_while(std::move(p), operands), std::move(axes)};
}

// ---- partial evaluation ----

// If the condition is known, so is a part of the carry. A loop over the known part runs now. For
// the rest, the whole loop is recorded and recomputes the known part.
std::vector<Array> while_partial(const PartialCall& call) {
  const auto& p = params_as<WhileParams>(call.params.get());
  const WhileLayout sizes(p);
  const auto record_whole = [&] { return call.recorder.process(kWhile, call.params, call.inputs); };
  const auto cond_consts = flags_of(call.is_unknown, 0, sizes.cond_consts);
  const auto body_consts = flags_of(call.is_unknown, sizes.cond_consts, sizes.body_consts);
  auto carry = flags_of(call.is_unknown, sizes.first_carry, sizes.carry);
  if (has_effect(while_effects(call.params.get()))) return record_whole();
  const ProgramPartialEval body = until_stable(
      carry,
      [&](const std::vector<bool>& now) {
        return partial_eval_program(p.body_jaxpr, body_consts + now, now);
      },
      &ProgramPartialEval::is_unknown);
  const ProgramPartialEval cond = partial_eval_program(p.cond_jaxpr, cond_consts + carry);
  if (cond.is_unknown[0] || count_of(carry) == sizes.carry) return record_whole();

  Order inputs, outputs;
  append_range(inputs, 0, body.known->inputs.size());
  append_range(outputs, 0, body.known->outputs.size() - body.num_residuals);
  WhileParams known = p;
  known.body_jaxpr = rearrange(body.known, inputs, outputs);
  known.body_nconsts = static_cast<int64_t>(sizes.body_consts - count_of(body_consts));
  known.cond_jaxpr = cond.known;
  known.cond_nconsts = static_cast<int64_t>(sizes.cond_consts - count_of(cond_consts));
  const auto results = bind_while(
      std::move(known), select(call.inputs, cond_consts + body_consts + carry, /*wanted=*/false));
  const std::vector<Array> all = record_whole();
  return merge<Array>(carry, select(std::span(all), carry), results);
}

std::vector<Array> while_transpose(const TransposeCall&) {
  invalid_argument(
      "while: reverse-mode differentiation does not work for while_loop, nor for fori_loop "
      "with bounds that are not known when the function is recorded, because how many "
      "iterations to keep is not known. Use scan, or fori_loop with bounds that are Python "
      "integers, or differentiate in forward mode (jvp, jacfwd)");
}

const TransformRules kWhileRules = {.jvp = while_jvp,
                                    .transpose = while_transpose,
                                    .batch = while_batch,
                                    .partial_eval = while_partial};
const Primitive kWhile = {.name = "while",
                          .type_rule = while_rule,
                          .parse = parse_params<WhileParams>,
                          .effects = while_effects,
                          .rules = &kWhileRules,
                          .cost = while_cost,
                          .axis_names = while_axis_names,
                          .kind = PrimitiveKind::kWhile};
FARCALL_REGISTER_PRIMITIVE(kWhile);

}  // namespace

std::vector<Array> control::bind_while(WhileParams params, std::span<const Array> operands) {
  return bind_primitive(kWhile, make_params(std::move(params)), operands);
}

}  // namespace farcall
