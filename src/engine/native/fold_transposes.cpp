#include "engine/native/fold_transposes.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <farcall/primitives/dot_general.h>

#include "engine/native/transposes.h"
#include "passes/internal/foreign.h"
#include "passes/internal/nested.h"

namespace farcall::native {
namespace {

using Dimensions = std::vector<int64_t>;

bool is_product(const Equation& equation) {
  return equation.primitive->kind == PrimitiveKind::kProduct;
}
bool is_foldable(const Program& program) {
  return std::ranges::any_of(program.equations, is_product) &&
         std::ranges::any_of(program.equations, is_transpose);
}

class Folder {
 public:
  explicit Folder(ProgramPtr program)
      : program_(to_change(std::move(program))),
        made_by_(program_->variable_types.size(), nullptr),
        num_readers_(program_->variable_types.size(), 0),
        of_calls_(values_of_calls(*program_)) {
    const auto count = [&](Atom atom) {
      if (atom.is_variable()) ++num_readers_[atom.index];
    };
    for (const Equation& equation : program_->equations) {
      std::ranges::for_each(equation.inputs, count);
    }
    std::ranges::for_each(program_->outputs, count);
  }

  ProgramPtr run() {
    for (Equation& equation : program_->equations) {
      if (is_transpose(equation)) swap_sides(equation);
      if (is_product(equation)) {
        while (fold(equation, 0) || fold(equation, 1)) {
        }
      }
      for (const uint32_t output : equation.outputs) made_by_[output] = &equation;
    }
    return std::move(program_);
  }

 private:
  // A value that a foreign call reads must not be replaced or get new readers (values_of_calls).
  const Equation* definition(Atom atom) const {
    return atom.is_variable() && !of_calls_[atom.index] ? made_by_[atom.index] : nullptr;
  }
  bool may_be_read(Atom atom) const { return atom.is_variable() && !of_calls_[atom.index]; }

  // If the operand is a transpose, makes the product read the transpose's operand instead.
  bool fold(Equation& product, size_t side) const {
    const Equation* made = definition(product.inputs[side]);
    if (!made || !is_transpose(*made) || !may_be_read(made->inputs[0])) return false;
    DotGeneralParams params = params_as<DotGeneralParams>(product.params.get());
    const Dimensions& permutation = permutation_of(*made);
    Dimensions& contracting = side == 0 ? params.lhs_contracting : params.rhs_contracting;
    Dimensions& batch = side == 0 ? params.lhs_batch : params.rhs_batch;
    // The remaining dimensions appear in the result: they must keep the operand's order.
    const auto is_named = [&](int64_t dimension) {
      return std::ranges::find(contracting, dimension) != contracting.end() ||
             std::ranges::find(batch, dimension) != batch.end();
    };
    int64_t last = -1;
    for (int64_t i = 0; i < static_cast<int64_t>(permutation.size()); ++i) {
      if (is_named(i)) continue;
      if (permutation[i] < last) return false;
      last = permutation[i];
    }
    for (Dimensions* dimensions : {&contracting, &batch}) {
      for (int64_t& dimension : *dimensions) dimension = permutation[dimension];
    }
    product.params = make_params(std::move(params));
    product.inputs[side] = made->inputs[0];
    return true;
  }

  // Turns a transpose that exchanges the sides of a product into the product with its sides
  // exchanged, if nothing else reads that product.
  void swap_sides(Equation& transpose) const {
    const Equation* made = definition(transpose.inputs[0]);
    if (!made || !is_product(*made) || num_readers_[transpose.inputs[0].index] != 1 ||
        !std::ranges::all_of(made->inputs, [&](Atom atom) { return may_be_read(atom); })) {
      return;
    }
    const auto& params = params_as<DotGeneralParams>(made->params.get());
    const auto num_free = [&](size_t side) {
      const size_t rank = program_->type_of(made->inputs[side]).rank();
      return rank - params.lhs_batch.size() - params.lhs_contracting.size();
    };
    Dimensions swapped(params.lhs_batch.size() + num_free(0) + num_free(1));
    std::iota(swapped.begin(), swapped.end(), 0);
    const auto first = swapped.begin() + static_cast<int64_t>(params.lhs_batch.size());
    std::rotate(first, first + static_cast<int64_t>(num_free(0)), swapped.end());
    if (permutation_of(transpose) != swapped) return;
    transpose.primitive = made->primitive;
    transpose.inputs = {made->inputs[1], made->inputs[0]};
    transpose.params = make_params(DotGeneralParams{params.rhs_contracting, params.lhs_contracting,
                                                    params.rhs_batch, params.lhs_batch});
  }

  std::shared_ptr<Program> program_;
  std::vector<const Equation*> made_by_;  // by variable
  std::vector<size_t> num_readers_;       // by variable
  std::vector<bool> of_calls_;
};

}  // namespace

ProgramPtr fold_transposes(ProgramPtr program) {
  program = pass_nested(std::move(program), fold_transposes);
  return is_foldable(*program) ? Folder(std::move(program)).run() : program;
}

}  // namespace farcall::native
