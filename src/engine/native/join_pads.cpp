#include "engine/native/join_pads.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <farcall/primitives/indexing.h>
#include <farcall/primitives/structural.h>

#include "engine/native/cluster_domain.h"
#include "passes/internal/foreign.h"
#include "passes/internal/nested.h"

namespace farcall::native {
namespace {

const Primitive& add() {
  static const Primitive& primitive = primitive_named("add");
  return primitive;
}

bool is_pad(const Equation& equation) {
  return try_params<PadParams>(equation.params.get()) != nullptr;
}

class PadJoiner {
 public:
  explicit PadJoiner(const Program& program)
      : program_(program),
        of_calls_(values_of_calls(program)),
        values_(program.variable_types.size()) {
    const auto count = [&](Atom atom) {
      if (atom.is_variable()) ++values_[atom.index].num_readers;
    };
    for (const Equation& equation : program.equations) {
      for (const uint32_t output : equation.outputs) values_[output].made_by = &equation;
      std::ranges::for_each(equation.inputs, count);
    }
    std::ranges::for_each(program.outputs, count);
    for (const Equation& equation : program.equations) {
      if (is_pad(equation)) see_pad(equation);
      if (equation.primitive == &add()) see_sum(equation);
    }
  }

  bool has_gain() const { return std::ranges::any_of(values_, &PadJoiner::is_joined); }

  // Rewrites `changed`, which is the program or a copy of it. Leaves equations that nothing reads.
  void run(Program& changed) const {
    const Equations equations = std::exchange(changed.equations, {});
    for (const Equation& equation : equations) {
      if (equation.outputs.size() == 1 && is_joined(values_[equation.outputs[0]])) {
        add_joined(equation, changed);
      } else {
        changed.equations.push_back(equation);
      }
    }
  }

 private:
  // Elements that are not padding: from index `start` on, along the dimension.
  struct Piece {
    int64_t start, end;
    Atom value;
  };
  struct Value {
    const Equation* made_by = nullptr;
    size_t num_readers = 0;
    std::vector<Piece> pieces{};  // in order; empty for other values
    size_t dimension = 0;
    Atom zero{};
    bool is_summed = false;  // in a sum that is joined
  };

  static bool is_joined(const Value& value) { return value.pieces.size() > 1 && !value.is_summed; }

  // Whether the bits are those of +0.
  bool is_zero(Atom atom) const {
    return !atom.is_variable() &&
           std::ranges::all_of(program_.literals[atom.index].bytes,
                               [](std::byte b) { return b == std::byte{0}; });
  }

  // Whether a sum of the value and zero costs nothing: it is part of the cluster that computes the
  // value, or is left out.
  bool may_add_zero(Atom atom) const {
    if (is_integer(program_.type_of(atom).dtype())) return true;
    while (atom.is_variable() && values_[atom.index].made_by) {
      const Equation& equation = *values_[atom.index].made_by;
      const Role role = role_of(program_, equation);
      if (role != Role::kView) return role == Role::kOperation;
      atom = equation.inputs[0];
    }
    return false;
  }

  void see_pad(const Equation& equation) {
    const auto& config = params_as<PadParams>(equation.params.get()).padding_config;
    const Atom operand = equation.inputs[0];
    const uint32_t result = equation.outputs[0];
    const auto pads = [](const PaddingDimension& d) { return d != PaddingDimension(); };
    if (std::ranges::count_if(config, pads) != 1 || of_calls_[result] ||
        !is_zero(equation.inputs[1]) || !may_add_zero(operand)) {
      return;
    }
    const auto dimension = static_cast<size_t>(std::ranges::find_if(config, pads) - config.begin());
    const PaddingDimension& padding = config[dimension];
    const int64_t size = program_.type_of(operand).shape()[dimension];
    if (padding.low < 0 || padding.high < 0 || padding.interior != 0 || size == 0) return;
    Value& value = values_[result];
    value.pieces = {{padding.low, padding.low + size, operand}};
    value.dimension = dimension;
    value.zero = equation.inputs[1];
  }

  void see_sum(const Equation& equation) {
    const Atom x = equation.inputs[0], y = equation.inputs[1];
    if (!x.is_variable() || !y.is_variable() || x == y || of_calls_[equation.outputs[0]]) return;
    Value &a = values_[x.index], &b = values_[y.index], &sum = values_[equation.outputs[0]];
    const bool may_join = !a.pieces.empty() && !b.pieces.empty() && a.dimension == b.dimension &&
                          a.num_readers == 1 && b.num_readers == 1 &&
                          a.pieces.size() + b.pieces.size() <= kMostJoined;
    if (!may_join) return;
    std::vector<Piece> pieces;
    std::ranges::merge(a.pieces, b.pieces, std::back_inserter(pieces), {}, &Piece::start,
                       &Piece::start);
    for (size_t i = 1; i < pieces.size(); ++i) {
      if (pieces[i].start < pieces[i - 1].end) return;
    }
    sum.pieces = std::move(pieces);
    sum.dimension = a.dimension;
    sum.zero = a.zero;
    a.is_summed = b.is_summed = true;
  }

  void add_joined(const Equation& equation, Program& changed) const {
    const Value& value = values_[equation.outputs[0]];
    const ShapeDtype type = program_.variable_types[equation.outputs[0]];
    const auto define = [&](Equation made, int64_t size) {
      Shape shape(type.shape().begin(), type.shape().end());
      shape[value.dimension] = size;
      const auto output = static_cast<uint32_t>(changed.variable_types.size());
      changed.variable_types.emplace_back(type.dtype(), shape);
      made.outputs = {output};
      made.where = equation.where;
      changed.equations.push_back(std::move(made));
      return Atom::variable(output);
    };
    const auto zeros = [&](int64_t size) {
      BroadcastInDimParams p;
      p.shape.assign(type.shape().begin(), type.shape().end());
      p.shape[value.dimension] = size;
      return define({.primitive = &primitive_named("broadcast_in_dim"),
                     .params = make_params(std::move(p)),
                     .inputs = {value.zero}},
                    size);
    };
    Equation joined = equation;
    joined.primitive = &primitive_named("concatenate");
    joined.params = make_params(ConcatenateParams{static_cast<int64_t>(value.dimension)});
    joined.inputs.clear();
    int64_t end = 0;
    for (const Piece& piece : value.pieces) {
      if (piece.start > end) joined.inputs.push_back(zeros(piece.start - end));
      // The sum makes -0 a +0.
      const bool is_exact = is_integer(type.dtype());
      joined.inputs.push_back(
          is_exact ? piece.value
                   : define({.primitive = &add(), .inputs = {piece.value, value.zero}},
                            piece.end - piece.start));
      end = piece.end;
    }
    const int64_t size = type.shape()[value.dimension];
    if (end < size) joined.inputs.push_back(zeros(size - end));
    changed.equations.push_back(std::move(joined));
  }

  const Program& program_;
  std::vector<bool> of_calls_;
  std::vector<Value> values_;  // by variable
};

}  // namespace

ProgramPtr join_pads(ProgramPtr program) {
  program = pass_nested(std::move(program), join_pads);
  if (!std::ranges::any_of(program->equations, is_pad)) return program;
  const PadJoiner joiner(*program);
  if (!joiner.has_gain()) return program;
  std::shared_ptr<Program> changed = to_change(std::move(program));
  joiner.run(*changed);
  return changed;
}

}  // namespace farcall::native
