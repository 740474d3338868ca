#include "ops/sharding/replication.h"

#include <algorithm>
#include <string>

#include <farcall/core/error.h>
#include <farcall/primitives/collectives.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/program/walk.h>

namespace farcall {
namespace {

using Sets = std::vector<AxisSet>;

class Analysis {
 public:
  explicit Analysis(std::span<const MeshAxis> axes) : axes_(axes) {}

  Sets run(const Program& program, std::span<const AxisSet> inputs) const {
    Sets sets(program.variable_types.size(), 0);
    for (size_t i = 0; i < inputs.size(); ++i) sets[program.inputs[i]] = inputs[i];
    const auto read = [&](const std::vector<Atom>& atoms) {
      Sets found;
      for (const Atom atom : atoms) found.push_back(atom.is_variable() ? sets[atom.index] : 0);
      return found;
    };
    for (const Equation& equation : program.equations) {
      const Sets results = run(equation, read(equation.inputs));
      for (size_t i = 0; i < results.size(); ++i) sets[equation.outputs[i]] = results[i];
    }
    return read(program.outputs);
  }

 private:
  AxisSet set_of(std::span<const std::string> names) const {
    AxisSet set = 0;
    for (size_t i = 0; i < axes_.size(); ++i) {
      if (std::ranges::find(names, axes_[i].name) != names.end()) set |= AxisSet{1} << i;
    }
    return set;
  }

  Sets run(const Equation& equation, const Sets& inputs) const {
    const Params* params = equation.params.get();
    AxisSet all = 0;
    for (const AxisSet set : inputs) all |= set;
    if (const auto* p = try_params<ReduceAxesParams>(params)) return {all & ~set_of(p->axes)};
    if (const auto* p = try_params<AllGatherParams>(params)) {
      return {all & ~set_of({&p->axis_name, 1})};
    }
    if (const auto* p = try_params<ScanParams>(params)) return scan(*p, inputs);
    if (const auto* p = try_params<WhileParams>(params)) return while_loop(*p, inputs);
    if (const auto* p = try_params<CondParams>(params)) return cond(*p, inputs);
    if (const ProgramPtr body = called_program(equation);
        body && body->inputs.size() == inputs.size() &&
        body->outputs.size() == equation.outputs.size()) {
      return run(*body, inputs);
    }
    const bool is_collective = equation.primitive->axis_names && nested_programs(equation).empty();
    if (is_collective) all |= set_of(equation.primitive->axis_names(params));
    return Sets(equation.outputs.size(), all);
  }

  // Adds the results of steps to the carry until it no longer changes.
  template <class Step>
  static void until_stable(Sets& carry, const Step& step) {
    for (;;) {
      const Sets before = carry;
      const Sets after = step(carry);
      for (size_t i = 0; i < carry.size(); ++i) carry[i] |= after[i];
      if (carry == before) return;
    }
  }

  Sets scan(const ScanParams& p, const Sets& inputs) const {
    const auto first = inputs.begin() + p.num_consts, last = first + p.num_carry;
    Sets carry(first, last), results;
    until_stable(carry, [&](const Sets& now) {
      Sets operands(inputs.begin(), first);
      operands.insert(operands.end(), now.begin(), now.end());
      operands.insert(operands.end(), last, inputs.end());
      return results = run(*p.jaxpr, operands);
    });
    std::ranges::copy(carry, results.begin());
    return results;
  }

  Sets while_loop(const WhileParams& p, const Sets& inputs) const {
    const auto body_consts = inputs.begin() + p.cond_nconsts;
    const auto first = body_consts + p.body_nconsts;
    Sets carry(first, inputs.end());
    until_stable(carry, [&](const Sets& now) {
      Sets operands(inputs.begin(), body_consts);
      operands.insert(operands.end(), now.begin(), now.end());
      // Devices whose loops run a different number of steps have different results.
      const AxisSet condition = run(*p.cond_jaxpr, operands)[0];
      operands.assign(body_consts, first);
      operands.insert(operands.end(), now.begin(), now.end());
      Sets results = run(*p.body_jaxpr, operands);
      for (AxisSet& result : results) result |= condition;
      return results;
    });
    return carry;
  }

  Sets cond(const CondParams& p, const Sets& inputs) const {
    Sets results(p.branches[0]->outputs.size(), inputs[0]);
    for (const ProgramPtr& branch : p.branches) {
      const Sets found = run(*branch, std::span(inputs).subspan(1));
      for (size_t i = 0; i < results.size(); ++i) results[i] |= found[i];
    }
    return results;
  }

  std::span<const MeshAxis> axes_;
};

}  // namespace

AxisSet axes_of(const PartitionSpec& spec, std::span<const MeshAxis> axes) {
  AxisSet set = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    for (const auto& entry : spec) {
      if (std::ranges::find(entry, axes[i].name) != entry.end()) set |= AxisSet{1} << i;
    }
  }
  return set;
}

std::vector<AxisSet> varying_axes(const Program& program, std::span<const MeshAxis> axes,
                                  std::span<const PartitionSpec> in_specs) {
  Sets inputs;
  for (const PartitionSpec& spec : in_specs) inputs.push_back(axes_of(spec, axes));
  return Analysis(axes).run(program, inputs);
}

}  // namespace farcall
