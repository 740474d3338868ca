// Loops and branches of functions: recording bodies, and checking their results.
#include <farcall/ops/control_flow.h>

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/type_text.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/promotion.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/varying.h>

#include "ops/control/programs.h"
#include "ops/internal/rules.h"
#include "trace/internal/axis_tracking.h"

namespace farcall::lax {
namespace {

using namespace control;

// One line for each array whose types differ; empty if all agree.
std::string differences(std::span<const ShapeDtype> in, std::span<const ShapeDtype> out,
                        const LeafName& name) {
  std::string text;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i].strengthened() == out[i].strengthened()) continue;
    text += fmt::format("\n  {} is {} as input, {} as output", name(i), in[i].to_string(),
                        out[i].to_string());
  }
  return text;
}

void check_carry(std::string_view function, std::span<const ShapeDtype> in,
                 std::span<const ShapeDtype> out, const LeafName& name) {
  if (in.size() != out.size()) {
    throw TypeError(fmt::format(
        "{}: the body must return a carry of as many arrays as it gets: input {}, output {}",
        function, in.size(), out.size()));
  }
  const std::string text = differences(in, out, name);
  if (text.empty()) return;
  throw TypeError(fmt::format(
      "{}: the body must return a carry of the types that it gets:{}\nConvert the initial value, "
      "or what the body returns, so that they agree",
      function, text));
}

// Promotes weakly typed carries whose dtype the body changes. Returns false if there are none.
bool promote_weak(std::vector<ShapeDtype>& carry, std::span<const ShapeDtype> out) {
  bool has_changed = false;
  for (size_t i = 0; i < std::min(carry.size(), out.size()); ++i) {
    if (!carry[i].weak_type() || carry[i].dtype() == out[i].dtype()) continue;
    const ShapeDtype types[] = {carry[i], out[i]};
    const PromotedDType to = promote_types(types);
    if (to.dtype == carry[i].dtype()) continue;
    carry[i] = carry[i].with_dtype(to.dtype, to.weak_type);
    has_changed = true;
  }
  return has_changed;
}

// What is known of a carry when the body is recorded.
struct Carry {
  std::vector<ShapeDtype> types;
  AxisSets axes;  // over which it varies
};
Carry carry_of(std::span<const Array> init) { return {types_of(init), varying_axes(init)}; }

// Records repeatedly until weakly typed carries have the dtype that the body returns, and carries
// vary over the axes over which the results of the body do. `record_once(carry, num_carry)` returns
// a recording whose first num_carry results are the carry.
template <class Record>
Recording record_with_carry(std::string_view function, Carry carry, const LeafName& name,
                            const Record& record_once) {
  for (;;) {
    size_t num_carry = 0;
    Recording recording = record_once(carry, num_carry);
    auto out = recording.program->output_types();
    out.resize(num_carry);
    if (promote_weak(carry.types, out)) continue;
    check_carry(function, carry.types, out, name);
    if (!widen(carry.axes, *recording.program)) return recording;
  }
}

// The sets of the carry that the body was recorded with.
AxisSets carry_axes(const Recording& body) {
  auto axes = axes_of(*body.program);
  if (!axes) return std::nullopt;
  const auto first = axes->inputs.begin() + static_cast<int64_t>(body.captured.size());
  return std::vector<AxisSet>(first, axes->inputs.end());
}

// The initial carry, converted to the types that the body was recorded with.
std::vector<Array> as_recorded(std::span<const Array> init, const Recording& body) {
  std::vector<Array> carry;
  for (size_t i = 0; i < init.size(); ++i) {
    const ShapeDtype type =
        body.program->variable_types[body.program->inputs[body.captured.size() + i]];
    carry.push_back(init[i].dtype() == type.dtype()
                        ? init[i]
                        : convert(init[i], {type.dtype(), type.weak_type()}));
  }
  AxisSets axes = carry_axes(body);
  if (axes) axes->resize(init.size());  // without the slices of a scan
  return vary_like(std::move(carry), axes);
}

Recording record_loop_body(std::string_view function, const FlatFunction& body, const Carry& init,
                           const LeafName& name) {
  return record_with_carry(function, init, name, [&](const Carry& carry, size_t& num_carry) {
    Recording recording = record_closure(
        [&](std::span<const Array> inputs) { return vary_like(body(inputs), carry.axes); },
        carry.types, carry.axes, "body");
    num_carry = recording.program->outputs.size();
    return recording;
  });
}

std::vector<ShapeDtype> carry_types(const Recording& body) {
  auto types = body.program->input_types();
  types.erase(types.begin(), types.begin() + static_cast<int64_t>(body.captured.size()));
  return types;
}

}  // namespace

LeafName numbered(std::string list) {
  return [list = std::move(list)](size_t i) { return fmt::format("{}[{}]", list, i); };
}

// ---- scan ----

int64_t scan_length(std::string_view function, std::span<const Array> xs,
                    const ScanOptions& options, const LeafName& name) {
  if (options.length && *options.length < 0) {
    invalid_argument(
        fmt::format("{}: length must not be negative, got {}", function, *options.length));
  }
  std::optional<int64_t> length;
  std::string text;
  bool do_agree = true;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (xs[i].rank() == 0) {
      invalid_argument(fmt::format("{}: {} must have a dimension to scan over, got {}", function,
                                   name(i), xs[i].type().to_string()));
    }
    const int64_t size = xs[i].shape()[0];
    do_agree = do_agree && size == length.value_or(size);
    length = length.value_or(size);
    text += fmt::format("\n  {} is {}", name(i), xs[i].type().to_string());
  }
  if (!do_agree) {
    invalid_argument(fmt::format("{}: xs must have one leading dimension:{}", function, text));
  }
  if (length && options.length && *length != *options.length) {
    invalid_argument(fmt::format("{}: length is {}, but the leading dimension of xs is {}:{}",
                                 function, *options.length, *length, text));
  }
  if (!length && !options.length) {
    invalid_argument(fmt::format(
        "{}: the number of iterations is unknown; pass xs with a leading dimension, or length",
        function));
  }
  return length ? *length : *options.length;
}

std::vector<ShapeDtype> slice_types(std::span<const Array> xs) {
  std::vector<ShapeDtype> types;
  for (const Array& x : xs) types.push_back(slice_of(x.type()));
  return types;
}

Recording record_scan(const ScanBody& body, std::span<const Array> init, std::span<const Array> xs,
                      const LeafName& name) {
  const std::vector<ShapeDtype> slices = slice_types(xs);
  const AxisSets slice_axes = varying_axes(xs);
  return record_with_carry(
      "scan", carry_of(init), name, [&](const Carry& carry, size_t& num_carry) {
        AxisSets axes = carry.axes;
        if (axes) append<AxisSet>(*axes, *slice_axes);
        return record_closure(
            [&](std::span<const Array> inputs) {
              LoopResults results =
                  body(inputs.first(carry.types.size()), inputs.subspan(carry.types.size()));
              num_carry = results.carry.size();
              std::vector<Array> all = vary_like(std::move(results.carry), carry.axes);
              append<Array>(all, results.ys);
              return all;
            },
            concat<ShapeDtype>(carry.types, slices), axes, "body");
      });
}

LoopResults run_scan(const Recording& body, std::span<const Array> init, std::span<const Array> xs,
                     int64_t length, const ScanOptions& options) {
  if (options.unroll < 1) {
    invalid_argument(fmt::format("scan: unroll must be at least 1, got {}", options.unroll));
  }
  std::vector<Array> operands = body.captured;
  append<Array>(operands, as_recorded(init, body));
  append(operands, xs);
  ScanParams params{.jaxpr = body.program,
                    .length = length,
                    .num_carry = static_cast<int64_t>(init.size()),
                    .num_consts = static_cast<int64_t>(body.captured.size()),
                    .reverse = options.reverse,
                    .unroll = options.unroll};
  const std::vector<Array> found = bind_scan(std::move(params), operands);
  const auto middle = found.begin() + static_cast<int64_t>(init.size());
  return {{found.begin(), middle}, {middle, found.end()}};
}

LoopResults scan(const ScanBody& body, std::span<const Array> init, std::span<const Array> xs,
                 const ScanOptions& options) {
  const int64_t length = scan_length("scan", xs, options, numbered("xs"));
  return run_scan(record_scan(body, init, xs, numbered("carry")), init, xs, length, options);
}

// ---- while_loop ----

namespace {

// Records the body and the condition. If the condition varies over axes, the devices run different
// numbers of steps, and everything in the loop varies over them too.
RecordedLoop record_with_condition(std::string_view function, const FlatFunction& cond,
                                   const FlatFunction& body, Carry carry, const LeafName& name) {
  const AxisTracking* tracking = AxisTracking::current();
  AxisSet decision = tracking ? tracking->diverging() : 0;
  for (;;) {
    const Diverging diverging(decision);
    RecordedLoop loop;
    loop.body = record_loop_body(function, body, carry, name);
    loop.cond = record_closure(cond, carry_types(loop.body), carry_axes(loop.body), "cond");
    const auto types = loop.cond.program->output_types();
    if (types.size() != 1 || types[0].strengthened() != ShapeDtype(DType::kBool, {})) {
      throw TypeError(
          fmt::format("{}: cond_fun must return one scalar of dtype bool, it returned ({})",
                      function, types_to_string(types)));
    }
    const auto axes = axes_of(*loop.cond.program);
    if (!axes || !(axes->outputs[0] & ~decision)) return loop;
    decision |= axes->outputs[0];
    for (AxisSet& set : *carry.axes) set |= decision;
  }
}

}  // namespace

RecordedLoop record_while(const FlatFunction& cond, const FlatFunction& body,
                          std::span<const Array> init, const LeafName& name) {
  return record_with_condition("while_loop", cond, body, carry_of(init), name);
}

std::vector<Array> run_while(const RecordedLoop& loop, std::span<const Array> init) {
  std::vector<Array> operands = loop.cond.captured;
  append<Array>(operands, loop.body.captured);
  append<Array>(operands, as_recorded(init, loop.body));
  return bind_while({.body_jaxpr = loop.body.program,
                     .body_nconsts = static_cast<int64_t>(loop.body.captured.size()),
                     .cond_jaxpr = loop.cond.program,
                     .cond_nconsts = static_cast<int64_t>(loop.cond.captured.size())},
                    operands);
}

std::vector<Array> while_loop(const FlatFunction& cond, const FlatFunction& body,
                              std::span<const Array> init) {
  return run_while(record_while(cond, body, init, numbered("carry")), init);
}

// ---- fori_loop ----

ForBounds for_bounds(const Array& lower, const Array& upper, std::optional<int64_t> unroll) {
  const auto check = [](const Array& bound, std::string_view which) {
    if (is_integer(bound.dtype()) && bound.rank() == 0) return;
    throw TypeError(fmt::format("fori_loop: {} must be a scalar of an integer dtype, got {}", which,
                                bound.type().to_string()));
  };
  check(lower, "lower");
  check(upper, "upper");
  ForBounds bounds{lower, upper, {}};
  if (lower.dtype() != upper.dtype()) {
    // A number of the host language takes the dtype of the other bound.
    if (!lower.type().weak_type() && !upper.type().weak_type()) {
      throw TypeError(
          fmt::format("fori_loop: lower and upper must have the same type, got {} and {}",
                      lower.type().to_string(), upper.type().to_string()));
    }
    const ShapeDtype types[] = {lower.type(), upper.type()};
    const PromotedDType to = promote_types(types);
    bounds.lower = convert(lower, to);
    bounds.upper = convert(upper, to);
  }
  if (lower.has_known_values() && upper.has_known_values()) {
    const int64_t first = integer_values(lower)[0], last = integer_values(upper)[0];
    int64_t count;
    if (__builtin_sub_overflow(last, first, &count)) count = last < first ? 0 : INT64_MAX;
    bounds.trip_count = std::max<int64_t>(count, 0);
  } else if (unroll) {
    invalid_argument("fori_loop: unroll needs bounds that are known when the function is recorded");
  }
  return bounds;
}

RecordedLoop record_for(const ForBody& body, const ForBounds& bounds, std::span<const Array> init,
                        const LeafName& name) {
  // The carry begins with the counter, followed by the upper bound if the trip count is not known.
  std::vector<Array> all{bounds.lower};
  if (!bounds.trip_count) all.push_back(bounds.upper);
  const size_t num_own = all.size();
  append(all, init);
  const LeafName own_name = [&](size_t i) {
    return i < num_own ? std::string(i == 0 ? "i" : "upper") : name(i - num_own);
  };
  const FlatFunction step = [&](std::span<const Array> inputs) {
    std::vector<Array> results{numpy::add(inputs[0], 1)};
    append(results, inputs.subspan(1, num_own - 1));
    append<Array>(results, body(inputs[0], inputs.subspan(num_own)));
    return results;
  };
  if (bounds.trip_count) return {{}, record_loop_body("fori_loop", step, carry_of(all), own_name)};
  const FlatFunction is_below = [](std::span<const Array> inputs) {
    return std::vector{lax::lt(inputs[0], inputs[1])};
  };
  return record_with_condition("fori_loop", is_below, step, carry_of(all), own_name);
}

std::vector<Array> run_for(const RecordedLoop& loop, const ForBounds& bounds,
                           std::span<const Array> init, std::optional<int64_t> unroll) {
  std::vector<Array> carry{bounds.lower};
  if (!bounds.trip_count) carry.push_back(bounds.upper);
  const auto num_own = static_cast<int64_t>(carry.size());
  append(carry, init);
  std::vector<Array> results =
      bounds.trip_count
          ? run_scan(loop.body, carry, {}, *bounds.trip_count, {.unroll = unroll.value_or(1)}).carry
          : run_while(loop, carry);
  results.erase(results.begin(), results.begin() + num_own);
  return results;
}

std::vector<Array> fori_loop(const Array& lower, const Array& upper, const ForBody& body,
                             std::span<const Array> init, std::optional<int64_t> unroll) {
  const ForBounds bounds = for_bounds(lower, upper, unroll);
  return run_for(record_for(body, bounds, init, numbered("carry")), bounds, init, unroll);
}

// ---- cond and switch ----

std::string_view name_of(BranchFunction function) {
  constexpr std::string_view kNames[] = {"cond", "switch", "platform_dependent"};
  return kNames[static_cast<size_t>(function)];
}

std::string branch_name(BranchFunction function, size_t i) {
  if (function == BranchFunction::kCond) return i == 0 ? "false_fun" : "true_fun";
  return fmt::format("branch {}", i);
}

namespace {

Array branch_of_predicate(const Array& pred) {
  if (pred.rank() != 0) {
    throw TypeError(
        fmt::format("cond: the predicate must be a scalar, got {}", pred.type().to_string()));
  }
  if (pred.dtype() == DType::kBool) return convert_element_type(pred, DType::kInt32);
  if (!is_integer(pred.dtype()) && !is_floating(pred.dtype())) {
    throw TypeError(fmt::format("cond: the predicate must be a bool or a number, got {}",
                                pred.type().to_string()));
  }
  return convert_element_type(numpy::not_equal(pred, 0), DType::kInt32);
}

Array branch_of_index(const Array& index, size_t num_branches) {
  if (index.rank() != 0 || !is_integer(index.dtype())) {
    throw TypeError(fmt::format("switch: the index must be a scalar of an integer dtype, got {}",
                                index.type().to_string()));
  }
  // A narrow dtype may be unable to represent the last number, and int32 the index of a wide one.
  const bool is_narrow = byte_width(index.dtype()) < 4;
  const Array wide = is_narrow ? convert_element_type(index, DType::kInt32) : index;
  const Array last(static_cast<int64_t>(num_branches) - 1);
  return convert_element_type(numpy::clip(wide, Array(0), last), DType::kInt32);
}

}  // namespace

Array branch_number(BranchFunction function, const Array& choice, size_t num_branches) {
  switch (function) {
    case BranchFunction::kCond:
      return branch_of_predicate(choice);
    case BranchFunction::kSwitch:
      return branch_of_index(choice, num_branches);
    default:
      return choice;
  }
}

Recording record_branch(const FlatFunction& function, const Array& choice,
                        std::span<const Array> operands) {
  // Devices may take different branches, so everything in a branch varies like the choice.
  const Diverging diverging(varying_axes(choice));
  return record_closure(function, types_of(operands), varying_axes(operands), "branch");
}

void check_branches(BranchFunction function, std::span<const Recording> branches,
                    const LeafName& name) {
  const auto types = branches[0].program->output_types();
  const std::string first = branch_name(function, 0);
  for (size_t i = 1; i < branches.size(); ++i) {
    const auto others = branches[i].program->output_types();
    const std::string other = branch_name(function, i);
    if (others.size() != types.size()) {
      throw TypeError(fmt::format(
          "{}: all branches must return the same number of arrays: {} returns {}, {} returns {}",
          name_of(function), first, types.size(), other, others.size()));
    }
    std::string text;
    for (size_t j = 0; j < types.size(); ++j) {
      if (types[j].strengthened() == others[j].strengthened()) continue;
      text += fmt::format("\n  {} is {} from {}, {} from {}", name(j), types[j].to_string(), first,
                          others[j].to_string(), other);
    }
    if (!text.empty()) {
      throw TypeError(
          fmt::format("{}: all branches must return the same types:{}", name_of(function), text));
    }
  }
}

namespace {

// The branches, with results that vary over the axes over which those of any branch do.
std::vector<Recording> varying_alike(std::span<const Recording> branches) {
  std::vector<Recording> alike(branches.begin(), branches.end());
  if (!is_tracking_axes()) return alike;
  std::vector<AxisSet> wanted(branches[0].program->outputs.size(), 0);
  for (const Recording& branch : branches) {
    const std::vector<AxisSet> outputs = axes_of(*branch.program)->outputs;
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] |= outputs[i];
  }
  for (Recording& branch : alike) {
    const ProgramAxes axes = *axes_of(*branch.program);
    if (axes.outputs == wanted) continue;
    branch.program = record(
        [&](std::span<const Array> inputs) {
          return vary_like(evaluate(*branch.program, inputs), wanted);
        },
        branch.program->input_types(), axes.inputs, branch.program->name);
  }
  return alike;
}

}  // namespace

std::vector<Array> run_branches(const Array& branch, std::span<const Recording> branches,
                                std::span<const Array> operands) {
  const SharedPrograms shared = share_captured(varying_alike(branches));
  std::vector<Array> all{branch};
  append<Array>(all, shared.captured);
  append(all, operands);
  return bind_cond({.branches = shared.programs}, all);
}

namespace {

std::vector<Array> choose_branch(BranchFunction function, const Array& choice,
                                 std::span<const FlatFunction> branches,
                                 std::span<const Array> operands) {
  std::vector<Recording> recordings;
  for (const FlatFunction& f : branches) {
    recordings.push_back(record_branch(f, choice, operands));
  }
  check_branches(function, recordings, numbered("result"));
  return run_branches(branch_number(function, choice, branches.size()), recordings, operands);
}

}  // namespace

std::vector<Array> cond(const Array& pred, const FlatFunction& true_fun,
                        const FlatFunction& false_fun, std::span<const Array> operands) {
  const FlatFunction branches[] = {false_fun, true_fun};
  return choose_branch(BranchFunction::kCond, pred, branches, operands);
}

std::vector<Array> switch_(const Array& index, std::span<const FlatFunction> branches,
                           std::span<const Array> operands) {
  if (branches.empty()) invalid_argument("switch: expected at least one branch");
  return choose_branch(BranchFunction::kSwitch, index, branches, operands);
}

}  // namespace farcall::lax
