// The derivative of a whole shard_map has another convention than derivatives inside: each device
// has a share of the cotangent of a value that does not vary, and the sum of the shares is the
// cotangent. The transpose of a psum, which is a psum, adds the shares up. Inside, each device has
// the whole cotangent of such a value. Backward rules of users, and the transposes that they give
// to linear functions, follow the convention of inside, so shares are converted for them.
#include "ops/sharding/without_tracking.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <farcall/ops/collectives.h>
#include <farcall/ops/lax.h>
#include <farcall/primitives/call.h>
#include <farcall/primitives/collectives.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/program/walk.h>
#include <farcall/trace/custom.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/record.h>

#include "ops/internal/rules.h"
#include "trace/internal/axis_tracking.h"

namespace farcall {
namespace {

using Axes = std::vector<MeshAxis>;
using Sets = std::vector<AxisSet>;  // bit i stands for axis i of the shard_map

// The names of the axes that the set lacks.
std::vector<std::string> missing_axes(AxisSet set, const Axes& axes) {
  std::vector<std::string> names;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!(set >> i & 1)) names.push_back(axes[i].name);
  }
  return names;
}

// The cotangent of a value with this set from its shares, and back.
Array whole_of_shares(const Array& share, AxisSet set, const Axes& axes) {
  const auto missing = missing_axes(set, axes);
  return missing.empty() ? share : lax::psum(share, missing);
}
Array share_of_whole(const Array& whole, AxisSet set, const Axes& axes) {
  const auto missing = missing_axes(set, axes);
  if (missing.empty()) return whole;
  return lax::div(whole, scalar_of(whole.dtype(), static_cast<double>(lax::axis_size(missing))));
}

// Applies a rule as a part of the body, so that derivatives in it are those of the body.
struct Applied {
  std::vector<Array> results;
  Sets sets;
};
Applied apply_tracked(const FlatFunction& rule, std::span<const Array> inputs, const Sets& sets,
                      const Axes& axes) {
  const size_t first_bit = num_tracked_axes();
  Sets all = varying_axes(inputs).value_or(Sets(inputs.size(), 0));
  for (size_t i = 0; i < all.size(); ++i) all[i] |= sets[i] << first_bit;
  const Recording recording = [&] {
    std::vector<std::string> names;
    for (const MeshAxis& axis : axes) names.push_back(axis.name);
    const AxisTracking tracking(names);
    return record_closure(rule, types_of(inputs), all);
  }();
  std::vector<Array> operands = recording.captured;
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  Applied applied{evaluate(*without_tracking(recording.program, axes), operands),
                  kept_axes_of(*recording.program)->outputs};
  for (AxisSet& set : applied.sets) set >>= first_bit;
  return applied;
}

// What is known of the values of a call of a function with a backward rule.
struct CallSets {
  Sets inputs, outputs, residuals;
};

// The backward rule for shares. A result that varies over an axis over which its argument does not
// is a share already.
BackwardRule on_shares(const BackwardRule& backward, const CallSets& sets, const Axes& axes) {
  return [backward, sets, axes](std::span<const Array> residuals, std::span<const Array> shares) {
    const std::vector<bool> has_share = present(shares);
    std::vector<Array> operands(residuals.begin(), residuals.end());
    Sets operand_sets = sets.residuals;
    for (size_t i = 0; i < shares.size(); ++i) {
      if (!has_share[i]) continue;
      operands.push_back(whole_of_shares(shares[i], sets.outputs[i], axes));
      operand_sets.push_back(sets.outputs[i]);
    }
    std::vector<bool> has_result;
    const Applied applied = apply_tracked(
        [&](std::span<const Array> all) {
          const std::vector<Array> found =
              backward(all.first(residuals.size()),
                       scatter_arrays(has_share, all.subspan(residuals.size())));
          has_result = present(found);
          return select<Array>(found, has_result);
        },
        operands, operand_sets, axes);
    std::vector<Array> found = scatter_arrays(has_result, applied.results);
    size_t next = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      if (!has_result[i]) continue;
      found[i] = share_of_whole(found[i], sets.inputs[i] | applied.sets[next++], axes);
    }
    return found;
  };
}

class Removal {
 public:
  explicit Removal(std::span<const MeshAxis> axes)
      : axes_(axes.begin(), axes.end()), first_bit_(num_tracked_axes()) {}

  ProgramPtr operator()(const ProgramPtr& program) const {
    if (!is_concerned(*program)) return program;
    return record(
        [&](std::span<const Array> inputs) {
          return evaluate(*program, inputs,
                          [&](const Equation& equation, std::span<const Array> operands) {
                            return apply(equation, operands);
                          });
        },
        program->input_types(), program->name);
  }

 private:
  bool has(const std::string& name) const {
    return std::ranges::find(axes_, name, &MeshAxis::name) != axes_.end();
  }

  bool is_concerned(const Program& program) const {
    return std::ranges::any_of(program.equations, [&](const Equation& equation) {
      return is_between_sets(*equation.primitive) || has_backward_rule(equation) ||
             communicates_linearly(equation) ||
             std::ranges::any_of(nested_programs(equation), [&](const NamedProgram& nested) {
               return is_concerned(*nested.program);
             });
    });
  }

  static bool has_backward_rule(const Equation& equation) {
    const auto* p = try_params<CustomCallParams>(equation.params.get());
    return p && p->rules->forward;
  }

  // Whether it is a linear function with its own transpose, and devices communicate in one of them.
  bool communicates_linearly(const Equation& equation) const {
    const Params* params = equation.params.get();
    if (!try_params<LinearCallParams>(params) && !try_params<LinearSolveParams>(params)) {
      return false;
    }
    return std::ranges::any_of(nested_programs(equation), [&](const NamedProgram& nested) {
      return std::ranges::any_of(nested.program->axis_names,
                                 [&](const std::string& name) { return has(name); });
    });
  }

  std::vector<Array> apply(const Equation& equation, std::span<const Array> operands) const {
    Interpreter& recorder = current_interpreter();
    if (!is_between_sets(*equation.primitive)) {
      return recorder.process(*equation.primitive, inside(equation), operands);
    }
    std::vector<std::string> removed, kept;
    for (const std::string& name : params_as<ReduceAxesParams>(equation.params.get()).axes) {
      (has(name) ? removed : kept).push_back(name);
    }
    std::vector<Array> result(operands.begin(), operands.end());
    if (!is_pvary(*equation.primitive) && !removed.empty()) {
      result[0] = lax::psum(result[0], removed);
    }
    if (!kept.empty()) {
      result = recorder.process(*equation.primitive, make_params(ReduceAxesParams{std::move(kept)}),
                                result);
    }
    return result;
  }

  // The parameters of an equation, with the same done to their programs.
  ParamsPtr inside(const Equation& equation) const {
    const Params* params = equation.params.get();
    // Rules are code, which fields do not hold.
    if (const auto* p = try_params<CustomCallParams>(params)) {
      CustomCallParams copy = *p;
      copy.call_jaxpr = (*this)(p->call_jaxpr);
      if (has_backward_rule(equation)) copy.rules = on_shares(*p);
      return make_params(std::move(copy));
    }
    if (communicates_linearly(equation)) {
      if (const auto* p = try_params<LinearCallParams>(params)) return linear_on_shares(*p);
      return linear_on_shares(params_as<LinearSolveParams>(params));
    }
    const bool is_any = std::ranges::any_of(
        nested_programs(equation),
        [&](const NamedProgram& nested) { return is_concerned(*nested.program); });
    if (!is_any) return equation.params;
    if (const auto* p = try_params<ShardMapParams>(params)) {
      ShardMapParams copy = *p;  // fields do not hold its mesh
      copy.jaxpr = (*this)(p->jaxpr);
      return make_params(std::move(copy));
    }
    std::vector<NamedValue> fields = params->fields();
    for (NamedValue& field : fields) replace_programs(field.value);
    return equation.primitive->parse(fields);
  }

  void replace_programs(Value& value) const {
    if (auto* program = std::get_if<ProgramPtr>(&value)) {
      if (*program) *program = (*this)(*program);
    } else if (auto* list = std::get_if<std::vector<Value>>(&value)) {
      for (Value& item : *list) replace_programs(item);
    }
  }

  ParamsPtr linear_on_shares(const LinearCallParams& params) const {
    LinearCallParams copy = params;
    copy.callee = (*this)(params.callee);
    copy.transpose = transpose_on_shares(params.transpose, *params.callee, params.num_consts);
    return make_params(std::move(copy));
  }

  // The transpose of matvec is applied to solutions of the transposed system, which are shares.
  ParamsPtr linear_on_shares(const LinearSolveParams& params) const {
    LinearSolveParams copy = params;
    copy.matvec = (*this)(params.matvec);
    copy.solve = (*this)(params.solve);
    for (ProgramPtr& program : copy.transposed) {
      program = transpose_on_shares(program, *params.solve, params.num_consts);
    }
    return make_params(std::move(copy));
  }

  // The transpose of `forward`, a linear function of its inputs after the constants, for shares.
  ProgramPtr transpose_on_shares(const ProgramPtr& transpose, const Program& forward,
                                 int64_t num_consts) const {
    const std::optional<ProgramAxes> found = kept_axes_of(forward);
    if (!found) return (*this)(transpose);
    const Sets inputs = own(found->inputs);
    const auto first = inputs.begin() + num_consts;
    const CallSets sets{{first, inputs.end()}, own(found->outputs), {inputs.begin(), first}};
    const BackwardRule rule = farcall::on_shares(
        [&](std::span<const Array> consts, std::span<const Array> cotangents) {
          std::vector<Array> operands(consts.begin(), consts.end());
          operands.insert(operands.end(), cotangents.begin(), cotangents.end());
          std::vector<Array> results = evaluate(*transpose, operands);
          results.resize(sets.inputs.size());  // a solver may return more
          return results;
        },
        sets, axes_);
    return record(
        [&](std::span<const Array> all) {
          return rule(all.first(sets.residuals.size()), all.subspan(sets.residuals.size()));
        },
        transpose->input_types(), transpose->name);
  }

  CustomCallPtr on_shares(const CustomCallParams& params) const {
    const std::optional<ProgramAxes> found = kept_axes_of(*params.call_jaxpr);
    if (!found) return params.rules;
    CallSets sets{own(found->inputs), own(found->outputs), {}};
    sets.inputs.erase(sets.inputs.begin(), sets.inputs.begin() + params.num_consts);
    auto rules = std::make_shared<CustomCall>(*params.rules);
    rules->forward = [rules = params.rules, sets, axes = axes_](std::span<const Array> inputs,
                                                                const std::vector<bool>& varies) {
      size_t num_outputs = 0;
      BackwardRule backward = rules->backward;
      const Applied applied = apply_tracked(
          [&](std::span<const Array> all) {
            ForwardResults found = rules->forward(all, varies);
            num_outputs = found.outputs.size();
            if (found.backward) backward = std::move(found.backward);
            found.outputs.insert(found.outputs.end(), found.residuals.begin(),
                                 found.residuals.end());
            return std::move(found.outputs);
          },
          inputs, sets.inputs, axes);
      const auto split = static_cast<int64_t>(num_outputs);
      ForwardResults results;
      results.outputs.assign(applied.results.begin(), applied.results.begin() + split);
      results.residuals.assign(applied.results.begin() + split, applied.results.end());
      CallSets all = sets;
      all.residuals.assign(applied.sets.begin() + split, applied.sets.end());
      results.backward = farcall::on_shares(backward, all, axes);
      return results;
    };
    return rules;
  }

  // The part of the sets that belongs to the axes of the shard_map.
  Sets own(Sets sets) const {
    for (AxisSet& set : sets) set >>= first_bit_;
    return sets;
  }

  Axes axes_;
  size_t first_bit_;
};

}  // namespace

ProgramPtr without_tracking(const ProgramPtr& program, std::span<const MeshAxis> axes) {
  return Removal(axes)(program);
}

}  // namespace farcall
