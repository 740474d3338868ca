#include "trace/internal/axis_sets.h"

#include <algorithm>
#include <string>

#include <farcall/primitives/collectives.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/program/walk.h>

#include "trace/internal/axis_tracking.h"

namespace farcall {
namespace {

using Sets = std::vector<AxisSet>;

class Analysis {
 public:
  // `is_typed`: by the rules of AxisTypes. `keeps`: give sets to the programs.
  Analysis(std::span<const std::string> axes, bool is_typed, bool keeps = false)
      : axes_(axes), is_typed_(is_typed), keeps_(keeps) {}

  Sets run(const Program& program, std::span<const AxisSet> inputs) const {
    Sets sets(program.variable_types.size(), 0);
    for (size_t i = 0; i < inputs.size(); ++i) sets[program.inputs[i]] = inputs[i];
    const auto read = [&](const std::vector<Atom>& atoms) {
      Sets found;
      for (const Atom atom : atoms) found.push_back(atom.is_variable() ? sets[atom.index] : 0);
      return found;
    };
    for (const Equation& equation : program.equations) {
      const Sets results = run(*equation.primitive, equation.params.get(), read(equation.inputs),
                               equation.outputs.size());
      for (size_t i = 0; i < results.size(); ++i) sets[equation.outputs[i]] = results[i];
    }
    Sets outputs = read(program.outputs);
    if (keeps_) keep_axes(program, {{inputs.begin(), inputs.end()}, outputs});
    return outputs;
  }

  Sets run(const Primitive& primitive, const Params* params, const Sets& inputs,
           size_t num_results) const {
    AxisSet all = 0;
    for (const AxisSet set : inputs) all |= set;
    if (const auto* p = try_params<ReduceAxesParams>(params)) {
      const AxisSet over = set_of(p->axes);
      return {is_pvary(primitive) ? all | over : all & ~over};
    }
    if (const auto* p = try_params<AllGatherParams>(params); p && !is_typed_) {
      return {all & ~set_of({&p->axis_name, 1})};
    }
    if (const auto* p = try_params<ScanParams>(params)) return scan(*p, inputs);
    if (const auto* p = try_params<WhileParams>(params)) return while_loop(*p, inputs).carry;
    if (const auto* p = try_params<CondParams>(params)) return cond(*p, inputs);
    // The axes of an inner shard_map are others.
    if (const auto* p = try_params<ShardMapParams>(params)) return run(*p->jaxpr, inputs);
    if (primitive.kind == PrimitiveKind::kBarrier) return inputs;
    const ProgramPtr body = primitive.body ? primitive.body(params) : nullptr;
    if (body && body->inputs.size() == inputs.size() && body->outputs.size() == num_results) {
      return run(*body, inputs);
    }
    if (is_collective(primitive, params)) all |= set_of(primitive.axis_names(params));
    return Sets(num_results, all);
  }

  AxisSet decision(const Params* params, const Sets& inputs) const {
    if (try_params<CondParams>(params)) return inputs[0];
    const auto* p = try_params<WhileParams>(params);
    return p ? while_loop(*p, inputs).condition : 0;
  }

  AxisSet set_of(std::span<const std::string> names) const {
    AxisSet set = 0;
    for (size_t i = 0; i < axes_.size(); ++i) {
      if (std::ranges::find(names, axes_[i]) != names.end()) set |= AxisSet{1} << i;
    }
    return set;
  }

 private:
  struct Loop {
    Sets carry;
    AxisSet condition = 0;
  };

  // Adds the results of steps to the carry until it no longer changes. `step` gets the analysis to
  // use: only the last one keeps sets.
  template <class Step>
  void until_stable(Sets& carry, const Step& step) const {
    const Analysis searching(axes_, is_typed_);
    for (;;) {
      const Sets before = carry;
      const Sets after = step(searching, carry);
      for (size_t i = 0; i < carry.size(); ++i) carry[i] |= after[i];
      if (carry == before) break;
    }
    if (keeps_) step(*this, carry);
  }

  Sets scan(const ScanParams& p, const Sets& inputs) const {
    const auto first = inputs.begin() + p.num_consts, last = first + p.num_carry;
    Sets carry(first, last), results;
    until_stable(carry, [&](const Analysis& analysis, const Sets& now) {
      Sets operands(inputs.begin(), first);
      operands.insert(operands.end(), now.begin(), now.end());
      operands.insert(operands.end(), last, inputs.end());
      return results = analysis.run(*p.jaxpr, operands);
    });
    std::ranges::copy(carry, results.begin());
    return results;
  }

  Loop while_loop(const WhileParams& p, const Sets& inputs) const {
    const auto body_consts = inputs.begin() + p.cond_nconsts;
    const auto first = body_consts + p.body_nconsts;
    Loop loop{Sets(first, inputs.end())};
    until_stable(loop.carry, [&](const Analysis& analysis, const Sets& now) {
      Sets operands(inputs.begin(), body_consts);
      operands.insert(operands.end(), now.begin(), now.end());
      // Devices whose loops run a different number of steps have different results.
      loop.condition = analysis.run(*p.cond_jaxpr, operands)[0];
      operands.assign(body_consts, first);
      operands.insert(operands.end(), now.begin(), now.end());
      Sets results = analysis.run(*p.body_jaxpr, operands);
      for (AxisSet& result : results) result |= loop.condition;
      return results;
    });
    return loop;
  }

  Sets cond(const CondParams& p, const Sets& inputs) const {
    Sets results(p.branches[0]->outputs.size(), inputs[0]);
    for (const ProgramPtr& branch : p.branches) {
      const Sets found = run(*branch, std::span(inputs).subspan(1));
      for (size_t i = 0; i < results.size(); ++i) results[i] |= found[i];
    }
    return results;
  }

  std::span<const std::string> axes_;
  bool is_typed_, keeps_;
};

}  // namespace

bool is_collective(const Primitive& primitive, const Params* params) {
  return primitive.axis_names && (!params || params->programs().empty());
}

AxisSet axes_of(const PartitionSpec& spec, std::span<const MeshAxis> axes) {
  AxisSet set = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    for (const auto& entry : spec) {
      if (std::ranges::find(entry, axes[i].name) != entry.end()) set |= AxisSet{1} << i;
    }
  }
  return set;
}

std::vector<AxisSet> differing_axes(const Program& program, std::span<const MeshAxis> axes,
                                    std::span<const PartitionSpec> in_specs) {
  std::vector<std::string> names;
  for (const MeshAxis& axis : axes) names.push_back(axis.name);
  Sets inputs;
  for (const PartitionSpec& spec : in_specs) inputs.push_back(axes_of(spec, axes));
  return Analysis(names, /*is_typed=*/false).run(program, inputs);
}

AxisSet AxisTypes::set_of(std::span<const std::string> names) const {
  return Analysis(axes_, /*is_typed=*/true).set_of(names);
}

std::vector<AxisSet> AxisTypes::results(const Primitive& primitive, const Params* params,
                                        std::span<const AxisSet> inputs, size_t num_results) const {
  return Analysis(axes_, /*is_typed=*/true)
      .run(primitive, params, {inputs.begin(), inputs.end()}, num_results);
}

AxisSet AxisTypes::decision(const Params* params, std::span<const AxisSet> inputs) const {
  return Analysis(axes_, /*is_typed=*/true).decision(params, {inputs.begin(), inputs.end()});
}

void AxisTypes::give_sets(const Primitive& primitive, const Params* params,
                          std::span<const AxisSet> inputs) const {
  const ProgramPtr body = primitive.body ? primitive.body(params) : nullptr;
  Analysis(axes_, /*is_typed=*/true, /*keeps=*/true)
      .run(primitive, params, {inputs.begin(), inputs.end()}, body ? body->outputs.size() : 0);
}

}  // namespace farcall
