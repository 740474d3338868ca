#include "engine/native/sink_slices.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <farcall/passes/passes.h>
#include <farcall/primitives/indexing.h>
#include <farcall/primitives/structural.h>

#include "engine/native/cluster_domain.h"
#include "passes/internal/foreign.h"
#include "passes/internal/nested.h"

namespace farcall::native {
namespace {

// Below, the slices of small arrays take as long as what is saved.
constexpr int64_t kLeastElements = 4096;
constexpr size_t kMostSlices = 8;  // of one value

bool is_slice(const Equation& equation) {
  return try_params<SliceParams>(equation.params.get()) != nullptr;
}

class SliceSinker {
 public:
  explicit SliceSinker(const Program& program)
      : program_(program),
        of_calls_(values_of_calls(program)),
        values_(program.variable_types.size()) {
    for (const Equation& equation : program.equations) {
      for (const uint32_t output : equation.outputs) values_[output].made_by = &equation;
      for (const Atom operand : equation.inputs) {
        if (operand.is_variable()) ++values_[operand.index].num_readers;
      }
    }
    for (const Atom output : program.outputs) {
      if (!output.is_variable()) continue;
      ++values_[output.index].num_readers;
      values_[output.index].is_output = true;
    }
    // An operation that stays reads its whole operands, so these may have to stay too.
    constexpr int kMostRounds = 8;
    for (int round = 0; round < kMostRounds; ++round) {
      find_slices();
      if (!keep_some()) return;
    }
    for (Value& value : values_) value.sinks = false;
  }

  bool has_gain() const {
    return std::ranges::any_of(values_, [](const Value& value) { return value.sinks; });
  }

  // Rewrites `changed`, which is the program or a copy of it.
  void run(Program& changed) {
    const Equations equations = std::exchange(changed.equations, {});
    for (const Equation& equation : equations) {
      if (equation.outputs.size() == 1 && values_[equation.outputs[0]].sinks) {
        for (Slice& slice : values_[equation.outputs[0]].slices) add_sunk(equation, slice, changed);
      } else if (const Slice* const slice = slice_of_sunk(equation)) {
        replaced_.emplace_back(equation.outputs[0], slice->instead);
      } else {
        changed.equations.push_back(equation);
      }
    }
    replace_readers(changed);
  }

 private:
  // A slice of a value that is read.
  struct Slice {
    const Equation* equation;  // it has the parameters and the shape
    uint32_t instead = 0;      // of an operation that sinks: its result on the slices
  };
  struct Value {
    const Equation* made_by = nullptr;
    size_t num_readers = 0, num_slice_readers = 0;
    std::vector<Slice> slices;
    bool is_output = false, stays = false, sinks = false;
  };

  ShapeDtype type_of(const Slice& slice) const {
    return program_.variable_types[slice.equation->outputs[0]];
  }

  Slice* find_slice(uint32_t variable, const Equation& like) {
    auto& slices = values_[variable].slices;
    const auto found = std::ranges::find_if(slices, [&](const Slice& slice) {
      return params_equal(slice.equation->params.get(), like.params.get());
    });
    return found == slices.end() ? nullptr : &*found;
  }

  const Slice* slice_of_sunk(const Equation& equation) {
    if (!is_slice(equation) || !equation.inputs[0].is_variable()) return nullptr;
    const uint32_t from = equation.inputs[0].index;
    return values_[from].sinks ? find_slice(from, equation) : nullptr;
  }

  void read_slice(uint32_t variable, const Equation& like) {
    auto& slices = values_[variable].slices;
    ++values_[variable].num_slice_readers;
    if (slices.size() <= kMostSlices && !find_slice(variable, like)) slices.push_back({&like});
  }

  // Results of the program keep memory of their own, and operands of calls stay as they are.
  void see_slice(const Equation& equation) {
    const uint32_t from = equation.inputs[0].index, result = equation.outputs[0];
    if (of_calls_[result] || (values_[result].is_output && find_slice(from, equation))) return;
    read_slice(from, equation);
  }

  // Whether the operand has the elements of the result, and not one for all of them.
  bool is_whole(Atom operand, uint32_t result) const {
    return operand.is_variable() &&
           std::ranges::equal(program_.variable_types[operand.index].shape(),
                              program_.variable_types[result].shape());
  }

  bool may_sink(const Equation& equation) const {
    if (equation.outputs.size() != 1) return false;
    const uint32_t result = equation.outputs[0];
    const Value& value = values_[result];
    if (value.stays || value.slices.empty() || value.slices.size() > kMostSlices ||
        value.num_readers != value.num_slice_readers || of_calls_[result] ||
        program_.variable_types[result].size() < kLeastElements ||
        role_of(program_, equation) != Role::kOperation) {
      return false;
    }
    int64_t size = 0;
    for (const Slice& slice : value.slices) size += type_of(slice).size();
    return size <= program_.variable_types[result].size();
  }

  // From the last equation to the first: which operations sink, if their operands may be sliced,
  // and the slices of each value that are then read.
  void find_slices() {
    for (Value& value : values_) {
      value.num_slice_readers = 0;
      value.slices.clear();
      value.sinks = false;
    }
    for (size_t i = program_.equations.size(); i-- > 0;) {
      const Equation& equation = program_.equations[i];
      if (is_slice(equation) && equation.inputs[0].is_variable()) see_slice(equation);
      if (!may_sink(equation)) continue;
      const uint32_t result = equation.outputs[0];
      values_[result].sinks = true;
      for (const Atom operand : equation.inputs) {
        if (!is_whole(operand, result)) continue;
        const std::vector<Slice> slices = values_[result].slices;
        for (const Slice& slice : slices) read_slice(operand.index, *slice.equation);
        // The operation is one reader.
        values_[operand.index].num_slice_readers -= slices.size() - 1;
      }
    }
  }

  // Whether slices of an operand cost no memory that the whole operand did not have.
  bool may_slice(uint32_t variable) const {
    const Value& value = values_[variable];
    if (value.sinks) return true;
    if (of_calls_[variable]) return false;
    if (!value.made_by) return is_cheap(value);
    const Role role = role_of(program_, *value.made_by);
    const bool is_put_together = try_params<ConcatenateParams>(value.made_by->params.get()) ||
                                 try_params<PadParams>(value.made_by->params.get());
    return is_put_together || (role == Role::kNone && is_cheap(value));
  }

  // Whether clusters read the slices in place.
  bool is_cheap(const Value& value) const {
    return std::ranges::all_of(value.slices, [&](const Slice& slice) {
      return role_of(program_, *slice.equation) == Role::kMove;
    });
  }

  bool keep_some() {
    bool is_changed = false;
    for (const Equation& equation : program_.equations) {
      if (equation.outputs.size() != 1 || !values_[equation.outputs[0]].sinks) continue;
      const bool may = std::ranges::all_of(equation.inputs, [&](Atom operand) {
        return !is_whole(operand, equation.outputs[0]) || may_slice(operand.index);
      });
      if (may) continue;
      Value& value = values_[equation.outputs[0]];
      value.stays = is_changed = true;
      value.sinks = false;
    }
    return is_changed;
  }

  void add_sunk(const Equation& equation, Slice& slice, Program& changed) {
    const auto new_variable = [&](ShapeDtype like) {
      const auto shape = type_of(slice).shape();
      changed.variable_types.emplace_back(like.dtype(), Shape(shape.begin(), shape.end()),
                                          like.weak_type());
      return static_cast<uint32_t>(changed.variable_types.size() - 1);
    };
    Equation made = equation;
    for (Atom& operand : made.inputs) {
      if (!is_whole(operand, equation.outputs[0])) continue;
      if (values_[operand.index].sinks) {
        operand = Atom::variable(find_slice(operand.index, *slice.equation)->instead);
        continue;
      }
      Equation taken = *slice.equation;
      taken.inputs = {operand};
      taken.outputs = {new_variable(program_.variable_types[operand.index])};
      operand = Atom::variable(taken.outputs[0]);
      changed.equations.push_back(std::move(taken));
    }
    slice.instead = new_variable(program_.variable_types[equation.outputs[0]]);
    made.outputs = {slice.instead};
    changed.equations.push_back(std::move(made));
  }

  void replace_readers(Program& changed) const {
    std::vector<uint32_t> names(changed.variable_types.size());
    for (uint32_t i = 0; i < names.size(); ++i) names[i] = i;
    for (const auto& [old, instead] : replaced_) names[old] = instead;
    const auto replace = [&](Atom& atom) {
      if (atom.is_variable()) atom = Atom::variable(names[atom.index]);
    };
    for (Equation& equation : changed.equations) std::ranges::for_each(equation.inputs, replace);
    std::ranges::for_each(changed.outputs, replace);
  }

  const Program& program_;
  std::vector<bool> of_calls_;
  std::vector<Value> values_;  // by variable
  std::vector<std::pair<uint32_t, uint32_t>> replaced_;
};

}  // namespace

ProgramPtr sink_slices(ProgramPtr program) {
  program = pass_nested(std::move(program), sink_slices);
  if (!std::ranges::any_of(program->equations, is_slice)) return program;
  SliceSinker sinker(*program);
  if (!sinker.has_gain()) return program;
  std::shared_ptr<Program> changed = to_change(std::move(program));
  sinker.run(*changed);
  return common_subexpressions(simplify(std::move(changed)));
}

}  // namespace farcall::native
