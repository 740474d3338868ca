// scan: a loop of known length, with a carry and stacked results.
#include <algorithm>

#include <fmt/format.h>

#include <farcall/primitives/control_flow.h>
#include <farcall/primitives/primitives.h>
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

// The numbers of constants, carries, scanned operands and stacked results.
struct ScanLayout {
  explicit ScanLayout(const ScanParams& p)
      : consts(static_cast<size_t>(p.num_consts)),
        carry(static_cast<size_t>(p.num_carry)),
        xs(p.jaxpr->inputs.size() - consts - carry),
        ys(p.jaxpr->outputs.size() - carry) {}
  size_t consts, carry, xs, ys;
};

std::vector<ShapeDtype> scan_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  const auto& p = params_as<ScanParams>(params);
  if (p.length < 0) invalid_argument(fmt::format("length must not be negative, got {}", p.length));
  if (p.unroll < 1) invalid_argument(fmt::format("unroll must be at least 1, got {}", p.unroll));
  const std::vector<ShapeDtype> wanted = p.jaxpr->input_types();
  std::vector<ShapeDtype> results = p.jaxpr->output_types();
  if (!parts_fit({p.num_consts, p.num_carry}, wanted.size()) ||
      !parts_fit({p.num_carry}, results.size())) {
    invalid_argument(
        fmt::format("num_consts {} and num_carry {} do not fit a program of {} inputs and "
                    "{} outputs",
                    p.num_consts, p.num_carry, wanted.size(), results.size()));
  }
  check_operand_count(inputs, wanted.size());
  const ScanLayout sizes(p);
  const size_t first_x = sizes.consts + sizes.carry;
  std::vector<ShapeDtype> slices(inputs.begin(), inputs.end());
  for (size_t i = first_x; i < inputs.size(); ++i) {
    if (inputs[i].rank() == 0 || inputs[i].shape()[0] != p.length) {
      invalid_argument(
          fmt::format("operand {} is scanned over and needs the leading dimension {}, got {}", i,
                      p.length, inputs[i].to_string()));
    }
    slices[i] = slice_of(inputs[i]);
  }
  check_same_types(slices, wanted, "the operands, of scanned ones one slice,",
                   "what the program takes");
  check_same_types(std::span(results).first(sizes.carry),
                   std::span(wanted).subspan(sizes.consts, sizes.carry),
                   "the carry that the program returns", "the carry that it takes");
  for (size_t i = sizes.carry; i < results.size(); ++i) {
    results[i] = stack_of(results[i], p.length);
  }
  return results;
}

Effects scan_effects(const Params* params) {
  return params_as<ScanParams>(params).jaxpr->effects();
}

Cost scan_cost(const Params* params) {
  const auto& p = params_as<ScanParams>(params);
  return p.length * p.jaxpr->cost();
}

std::vector<std::string> scan_axis_names(const Params* params) {
  return params_as<ScanParams>(params).jaxpr->axis_names;
}

// ---- forward mode ----

JvpResults scan_jvp(const JvpCall& call) {
  ScanParams p = params_as<ScanParams>(call.params.get());
  const ScanLayout sizes(p);
  const std::vector<bool> varies = present(call.tangents);
  const auto consts = flags_of(varies, 0, sizes.consts);
  auto carry = flags_of(varies, sizes.consts, sizes.carry);
  const auto xs = flags_of(varies, sizes.consts + sizes.carry, sizes.xs);
  const ProgramJvp derived = until_stable(
      carry,
      [&](const std::vector<bool>& now) { return jvp_program(p.jaxpr, consts + now + xs, now); },
      &ProgramJvp::varies);

  std::vector<Array> tangents(call.tangents.begin(), call.tangents.end());
  for (size_t i = 0; i < sizes.carry; ++i) {
    Array& tangent = tangents[sizes.consts + i];
    if (carry[i]) tangent = instantiate(tangent, call.primals[sizes.consts + i].type());
  }
  // The derived program has all values, then all tangents; scan needs constants, carry and slices
  // grouped.
  const size_t num_consts = count_of(consts), num_carry = count_of(carry), num_xs = count_of(xs);
  const size_t num_inputs = call.primals.size(), num_outputs = sizes.carry + sizes.ys;
  Order inputs, outputs;
  append_range(inputs, 0, sizes.consts);
  append_range(inputs, num_inputs, num_consts);
  append_range(inputs, sizes.consts, sizes.carry);
  append_range(inputs, num_inputs + num_consts, num_carry);
  append_range(inputs, sizes.consts + sizes.carry, sizes.xs);
  append_range(inputs, num_inputs + num_consts + num_carry, num_xs);
  const size_t num_ys = count_of(derived.varies) - num_carry;
  append_range(outputs, 0, sizes.carry);
  append_range(outputs, num_outputs, num_carry);
  append_range(outputs, sizes.carry, sizes.ys);
  append_range(outputs, num_outputs + num_carry, num_ys);

  p.jaxpr = rearrange(derived.program, inputs, outputs);
  p.num_consts = static_cast<int64_t>(sizes.consts + num_consts);
  p.num_carry = static_cast<int64_t>(sizes.carry + num_carry);
  const auto flat = with_tangents({call.primitive, call.params, call.primals, tangents});
  const auto found = bind_scan(std::move(p), in_order<Array>(flat, inputs));
  std::vector<Array> results(found.size());
  for (size_t i = 0; i < found.size(); ++i) results[static_cast<size_t>(outputs[i])] = found[i];
  return {{results.begin(), results.begin() + static_cast<int64_t>(num_outputs)},
          scatter_arrays(derived.varies, std::span(results).subspan(num_outputs))};
}

// ---- batching ----

BatchResults scan_batch(const BatchCall& call) {
  ScanParams p = params_as<ScanParams>(call.params.get());
  const ScanLayout sizes(p);
  std::vector<Array> operands(call.inputs.begin(), call.inputs.end());
  std::vector<int64_t> axes(call.axes.begin(), call.axes.end());  // batch axes inside the body
  for (size_t i = sizes.consts + sizes.carry; i < operands.size(); ++i) {
    if (axes[i] == kNotBatched) continue;
    // The leading dimension is scanned over, so it cannot be the batch dimension.
    if (axes[i] == 0) operands[i] = move_axis(operands[i], 0, 1, call.axis.size);
    axes[i] = std::max<int64_t>(axes[i] - 1, 0);
  }
  std::vector<bool> carry;
  for (size_t i = 0; i < sizes.carry; ++i) carry.push_back(call.is_batched(sizes.consts + i));
  const ProgramBatch derived = until_stable(
      carry,
      [&](const std::vector<bool>& now) {
        for (size_t i = 0; i < now.size(); ++i) axes[sizes.consts + i] = now[i] ? 0 : kNotBatched;
        return batch_program(p.jaxpr, call.axis, axes, now);
      },
      &ProgramBatch::is_batched);
  for (size_t i = 0; i < sizes.carry; ++i) {
    const size_t k = sizes.consts + i;
    if (carry[i]) operands[k] = move_axis(operands[k], call.axes[k], 0, call.axis.size);
  }
  p.jaxpr = derived.program;
  BatchResults results;
  results.outputs = bind_scan(std::move(p), operands);
  for (size_t i = 0; i < results.outputs.size(); ++i) {
    const int64_t axis = i < sizes.carry ? 0 : 1;
    results.axes.push_back(derived.is_batched[i] ? axis : kNotBatched);
  }
  return results;
}

// ---- partial evaluation ----

// A scan split into a loop over the known part, which has already run, and a loop over the rest.
struct Halves {
  std::vector<Array> known;      // results that do not depend on unknown operands
  std::vector<bool> is_unknown;  // by result
  ScanParams rest;
  std::vector<Array> operands;  // operands of `rest`
  Order origins;                // for each of them the operand of the original scan, or kUnused
};

// The known part of a body, split again. `before` does not depend on the iteration: it computes the
// loop-invariant residuals and the constants of `loop`.
struct Hoisted {
  ProgramPtr before;  // null: nothing was hoisted
  ProgramPtr loop;
  std::vector<bool> is_invariant;  // by residual
  size_t num_consts = 0;           // of `loop`
};

Hoisted hoist(const ProgramPartialEval& split, size_t num_consts) {
  const size_t num_outputs = split.known->outputs.size() - split.num_residuals;
  // An effect must happen in every iteration, so a body with effects is not hoisted.
  if (split.num_residuals == 0 || has_effect(split.known->effects())) {
    return {nullptr, split.known, std::vector<bool>(split.num_residuals, false), num_consts};
  }
  std::vector<bool> changes(split.known->inputs.size(), true);
  std::fill_n(changes.begin(), num_consts, false);
  const ProgramPartialEval again =
      partial_eval_program(split.known, changes, std::vector<bool>(num_outputs, true));
  return {again.known, again.unknown, !flags_of(again.is_unknown, num_outputs, split.num_residuals),
          again.num_residuals};
}

// Runs the hoisted part: returns the loop-invariant residuals, and replaces the known constants by
// those of the loop.
std::vector<Array> run_before(const Hoisted& hoisted, std::vector<Array>& consts) {
  if (!hoisted.before) return {};
  consts = hoisted.before->equations.empty() ? evaluate(*hoisted.before, consts)
                                             : call_program(hoisted.before, consts);
  const auto num_invariant = static_cast<int64_t>(count_of(hoisted.is_invariant));
  std::vector<Array> invariant(consts.begin(), consts.begin() + num_invariant);
  consts.erase(consts.begin(), consts.begin() + num_invariant);
  return invariant;
}

// For each residual of the loop, the operand that it is a slice of. Null for others, which the loop
// has to stack.
std::vector<Array> residuals_among_operands(const Program& loop, size_t num_outputs,
                                            std::span<const Array> xs) {
  const size_t first_x = loop.inputs.size() - xs.size();
  std::vector<Array> residuals;
  for (size_t i = num_outputs; i < loop.outputs.size(); ++i) {
    const Atom atom = loop.outputs[i];
    const auto x = std::ranges::find(loop.inputs.begin() + static_cast<int64_t>(first_x),
                                     loop.inputs.end(), atom.index);
    const bool is_slice = atom.is_variable() && x != loop.inputs.end();
    residuals.push_back(is_slice ? xs[static_cast<size_t>(x - loop.inputs.begin()) - first_x]
                                 : Array());
  }
  return residuals;
}

// Runs the loop over the known part, if it has something to do: returns the known results, and sets
// the residuals that are null.
std::vector<Array> run_loop(ScanParams p, const ProgramPtr& loop, size_t num_outputs,
                            std::span<const Array> operands, std::vector<Array>& residuals) {
  Order inputs_in_order, kept;
  append_range(inputs_in_order, 0, loop->inputs.size());
  append_range(kept, 0, num_outputs);
  for (size_t i = 0; i < residuals.size(); ++i) {
    if (residuals[i].is_null()) kept.push_back(static_cast<int64_t>(num_outputs + i));
  }
  std::vector<Array> results;
  if (!kept.empty() || has_effect(loop->effects())) {
    p.jaxpr = rearrange(loop, inputs_in_order, kept);
    results = bind_scan(std::move(p), operands);
  }
  size_t next = num_outputs;
  for (Array& residual : residuals) {
    if (residual.is_null()) residual = results[next++];
  }
  results.resize(num_outputs);
  return results;
}

// The body of the loop over the rest, which takes loop-invariant residuals as constants, and the
// others as scanned operands.
ProgramPtr body_of_rest(const ProgramPartialEval& split, const std::vector<bool>& is_invariant) {
  Order inputs, changing, outputs;
  for (size_t i = 0; i < split.num_residuals; ++i) {
    (is_invariant[i] ? inputs : changing).push_back(static_cast<int64_t>(i));
  }
  append_range(inputs, split.num_residuals, split.unknown->inputs.size() - split.num_residuals);
  append<int64_t>(inputs, changing);
  append_range(outputs, 0, split.unknown->outputs.size());
  return rearrange(split.unknown, inputs, outputs);
}

Halves run_known_half(const ScanParams& p, std::span<const Array> inputs,
                      const std::vector<bool>& is_unknown) {
  const ScanLayout sizes(p);
  const size_t first_x = sizes.consts + sizes.carry;
  const auto consts = flags_of(is_unknown, 0, sizes.consts);
  auto carry = flags_of(is_unknown, sizes.consts, sizes.carry);
  const auto xs = flags_of(is_unknown, first_x, sizes.xs);
  const ProgramPartialEval split = until_stable(
      carry,
      [&](const std::vector<bool>& now) {
        return partial_eval_program(p.jaxpr, consts + now + xs, now);
      },
      &ProgramPartialEval::is_unknown);

  std::vector<Array> known = select(inputs.first(sizes.consts), consts, /*wanted=*/false);
  const auto known_carry =
      select(inputs.subspan(sizes.consts, sizes.carry), carry, /*wanted=*/false);
  const auto known_xs = select(inputs.subspan(first_x), xs, /*wanted=*/false);
  const Hoisted hoisted = hoist(split, known.size());
  std::vector<Array> invariant = run_before(hoisted, known);

  ScanParams known_params = p;
  known_params.num_consts = static_cast<int64_t>(known.size());
  known_params.num_carry = static_cast<int64_t>(known_carry.size());
  append<Array>(known, known_carry);
  append<Array>(known, known_xs);
  const size_t num_outputs = split.known->outputs.size() - split.num_residuals;
  std::vector<Array> residuals = residuals_among_operands(*hoisted.loop, num_outputs, known_xs);
  Halves halves;
  halves.known = run_loop(std::move(known_params), hoisted.loop, num_outputs, known, residuals);
  halves.is_unknown = split.is_unknown;

  halves.operands = std::move(invariant);
  halves.origins.assign(halves.operands.size(), kUnused);
  const auto is_unknown_now = consts + carry + xs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_unknown_now[i]) continue;
    halves.operands.push_back(inputs[i]);
    halves.origins.push_back(static_cast<int64_t>(i));
  }
  append<Array>(halves.operands, residuals);
  halves.origins.resize(halves.operands.size(), kUnused);
  halves.rest = p;
  halves.rest.jaxpr = body_of_rest(split, hoisted.is_invariant);
  halves.rest.num_carry = static_cast<int64_t>(count_of(carry));
  halves.rest.num_consts = static_cast<int64_t>(count_of(hoisted.is_invariant) + count_of(consts));
  return halves;
}

std::vector<Array> scan_partial(const PartialCall& call) {
  Halves halves =
      run_known_half(params_as<ScanParams>(call.params.get()), call.inputs, call.is_unknown);
  const std::vector<Array> rest =
      call.recorder.process(kScan, make_params(std::move(halves.rest)), halves.operands);
  return merge<Array>(halves.is_unknown, rest, halves.known);
}

// ---- transposition ----

// One iteration of the transposed loop. Inputs: the known constants, the accumulated cotangents of
// the linear constants, the cotangents of the carry and of the stacked results, the known slices.
// Outputs: the cotangents of the linear constants and of the carry, then those of the linear
// slices.
struct TransposedBody {
  ProgramPtr program;
  std::vector<bool> consts, xs;  // by operand: whether it has a cotangent
};

TransposedBody transpose_body(const ScanParams& p, const std::vector<bool>& is_linear,
                              const std::vector<bool>& has_cotangent) {
  const ScanLayout sizes(p);
  const ProgramTranspose derived = transpose_program(p.jaxpr, is_linear, has_cotangent);
  TransposedBody body;
  body.consts = flags_of(derived.has_cotangent, 0, sizes.consts);
  body.xs = flags_of(derived.has_cotangent, sizes.consts + sizes.carry, sizes.xs);
  const auto key = static_cast<int64_t>(sizes.consts);
  body.program = derived.program->derived.find_or_make<ProgramPtr>(
      "transposed scan", {key, static_cast<int64_t>(sizes.carry)}, [&] {
        const auto inputs = p.jaxpr->input_types();
        const auto outputs = p.jaxpr->output_types();
        const auto known = !is_linear;
        std::vector<ShapeDtype> types =
            select(std::span(inputs).first(sizes.consts), flags_of(known, 0, sizes.consts));
        const size_t num_known = types.size();
        append<ShapeDtype>(types, select(std::span(inputs).first(sizes.consts), body.consts));
        append<ShapeDtype>(types, std::span(inputs).subspan(sizes.consts, sizes.carry));
        append<ShapeDtype>(types, select(std::span(outputs).subspan(sizes.carry),
                                         flags_of(has_cotangent, sizes.carry, sizes.ys)));
        const size_t num_cotangents = types.size() - num_known;
        for (size_t i = num_known; i < types.size(); ++i) types[i] = types[i].strengthened();
        append<ShapeDtype>(types, select(std::span(inputs).subspan(sizes.consts + sizes.carry),
                                         flags_of(known, sizes.consts + sizes.carry, sizes.xs)));
        return record(
            [&](std::span<const Array> all) {
              const size_t num_sums = count_of(body.consts);
              std::vector<Array> operands(all.begin(), all.begin() + num_known);
              append<Array>(operands, all.subspan(num_known + num_cotangents));
              append<Array>(operands, all.subspan(num_known + num_sums, num_cotangents - num_sums));
              const auto found =
                  scatter_arrays(derived.has_cotangent, evaluate(*derived.program, operands));
              std::vector<Array> results;
              for (size_t i = 0; i < sizes.consts; ++i) {
                if (body.consts[i]) {
                  results.push_back(add_tangents(all[num_known + results.size()], found[i]));
                }
              }
              for (size_t i = 0; i < sizes.carry; ++i) {
                results.push_back(instantiate(found[sizes.consts + i], inputs[sizes.consts + i]));
              }
              for (size_t i = sizes.consts + sizes.carry; i < found.size(); ++i) {
                if (!found[i].is_null()) results.push_back(found[i]);
              }
              return results;
            },
            types, p.jaxpr->name);
      });
  return body;
}

// Transposes a scan whose whole carry is linear. Returns the cotangents by operand; every carry has
// one.
std::vector<Array> transpose_linear(const ScanParams& p, std::span<const Array> inputs,
                                    std::span<const Array> cotangents) {
  const ScanLayout sizes(p);
  const size_t first_x = sizes.consts + sizes.carry;
  std::vector<bool> is_linear = !present(inputs), has_cotangent = present(cotangents);
  for (size_t i = 0; i < sizes.carry; ++i) is_linear[sizes.consts + i] = has_cotangent[i] = true;
  const TransposedBody body = transpose_body(p, is_linear, has_cotangent);
  const auto types = p.jaxpr->input_types();

  std::vector<Array> operands;
  for (size_t i = 0; i < sizes.consts; ++i) {
    if (!is_linear[i]) operands.push_back(inputs[i]);
  }
  ScanParams transposed = p;
  transposed.jaxpr = body.program;
  transposed.reverse = !p.reverse;
  transposed.num_consts = static_cast<int64_t>(operands.size());
  for (size_t i = 0; i < sizes.consts; ++i) {
    if (body.consts[i]) operands.push_back(instantiate(Array(), types[i]));
  }
  for (size_t i = 0; i < sizes.carry; ++i) {
    operands.push_back(instantiate(cotangents[i], types[sizes.consts + i]));
  }
  transposed.num_carry = static_cast<int64_t>(operands.size()) - transposed.num_consts;
  for (size_t i = sizes.carry; i < cotangents.size(); ++i) {
    if (has_cotangent[i]) operands.push_back(cotangents[i]);
  }
  for (size_t i = first_x; i < inputs.size(); ++i) {
    if (!is_linear[i]) operands.push_back(inputs[i]);
  }
  const auto found = bind_scan(std::move(transposed), operands);
  return scatter_arrays(body.consts + std::vector<bool>(sizes.carry, true) + body.xs, found);
}

std::vector<Array> scan_transpose(const TransposeCall& call) {
  const auto& p = params_as<ScanParams>(call.params.get());
  const ScanLayout sizes(p);
  const std::vector<bool> is_linear = !present(call.inputs);
  const auto carry = flags_of(is_linear, sizes.consts, sizes.carry);
  if (count_of(carry) == sizes.carry) {
    return transpose_linear(p, call.inputs, call.cotangents);
  }
  // A part of the carry is known initially: what depends only on known values runs forward first.
  const Halves halves = run_known_half(p, call.inputs, is_linear);
  const auto found =
      transpose_linear(halves.rest, halves.operands, select(call.cotangents, halves.is_unknown));
  std::vector<Array> results(call.inputs.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const int64_t origin = halves.origins[i];
    if (origin != kUnused && is_linear[static_cast<size_t>(origin)]) {
      results[static_cast<size_t>(origin)] = found[i];
    }
  }
  return results;
}

const TransformRules kScanRules = {.jvp = scan_jvp,
                                   .transpose = scan_transpose,
                                   .batch = scan_batch,
                                   .partial_eval = scan_partial,
                                   .partition = scan_partition};
}  // namespace

const Primitive kScan = {.name = "scan",
                         .type_rule = scan_rule,
                         .parse = parse_params<ScanParams>,
                         .effects = scan_effects,
                         .rules = &kScanRules,
                         .cost = scan_cost,
                         .axis_names = scan_axis_names,
                         .kind = PrimitiveKind::kScan};
FARCALL_REGISTER_PRIMITIVE(kScan);

std::vector<Array> control::bind_scan(ScanParams params, std::span<const Array> operands) {
  return bind_primitive(kScan, make_params(std::move(params)), operands);
}

}  // namespace farcall
