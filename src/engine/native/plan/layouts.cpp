#include "engine/native/plan/layouts.h"

#include <algorithm>

#include "engine/native/transposes.h"

namespace farcall::native {
namespace {

// The order of the dimensions in memory. Dimensions of size 1 are left out: their position does not
// matter.
std::vector<int64_t> order_in_memory(ShapeDtype type, const MajorToMinor& layout) {
  std::vector<int64_t> order;
  for (const int64_t axis : layout ? *layout : row_major(type.rank()).major_to_minor) {
    if (type.shape()[axis] != 1) order.push_back(axis);
  }
  return order;
}

// The layout in which an operand's memory holds the transposed value.
MajorToMinor transposed_layout(ShapeDtype type, const MajorToMinor& layout,
                               std::span<const int64_t> permutation) {
  std::vector<int64_t> result;
  for (const int64_t axis : layout ? *layout : row_major(type.rank()).major_to_minor) {
    const auto at = std::ranges::find(permutation, axis);
    result.push_back(at - permutation.begin());
  }
  return result;
}

}  // namespace

bool is_same_in_memory(ShapeDtype type, const MajorToMinor& a, const MajorToMinor& b) {
  if ((!a && !b) || type.is_token() || type.size() == 0) return true;
  return order_in_memory(type, a) == order_in_memory(type, b);
}

bool is_row_major_in_memory(ShapeDtype type, const MajorToMinor& layout) {
  return is_same_in_memory(type, layout, std::nullopt);
}

Layouts::Layouts(const Program& program, const Uses& uses, const ForeignCalls& calls)
    : layouts_(program.variable_types.size()), is_free_(program.equations.size(), false) {
  for (size_t i = 0; i < program.equations.size(); ++i) {
    const Equation& equation = program.equations[i];
    if (const FfiCallParams* call = calls.at(i)) {
      choose_for_results(program, equation, *call);
    } else if (is_transpose(equation)) {
      is_free_[i] = transpose_for_free(program, uses, calls, equation);
    }
  }
}

// A result of a foreign call keeps its layout, unless the program returns it.
void Layouts::choose_for_results(const Program& program, const Equation& equation,
                                 const FfiCallParams& call) {
  for (size_t i = 0; i < equation.outputs.size(); ++i) {
    const uint32_t result = equation.outputs[i];
    if (is_row_major_in_memory(call.result_types[i], call.output_layouts[i]) ||
        is_result_of(program, result)) {
      continue;
    }
    layouts_[result] = call.output_layouts[i];
  }
}

// A transpose is free if its result is then row-major, or if a foreign call wants the layout that
// it gives.
bool Layouts::transpose_for_free(const Program& program, const Uses& uses,
                                 const ForeignCalls& calls, const Equation& equation) {
  const Atom operand = equation.inputs[0];
  const uint32_t result = equation.outputs[0];
  if (!operand.is_variable()) return false;
  const ShapeDtype type = program.variable_types[result];
  const MajorToMinor layout = transposed_layout(program.type_of(operand), layouts_[operand.index],
                                                permutation_of(equation));
  if (is_row_major_in_memory(type, layout)) return true;
  const auto wants_it = [&](size_t reader) {
    const std::vector<Atom>& operands = program.equations[reader].inputs;
    const FfiCallParams* call = calls.at(reader);
    for (size_t i = 0; call && i < operands.size(); ++i) {
      if (operands[i] == Atom::variable(result) &&
          is_same_in_memory(type, layout, call->input_layouts[i])) {
        return true;
      }
    }
    return false;
  };
  if (is_result_of(program, result) || std::ranges::none_of(uses.readers[result], wants_it)) {
    return false;
  }
  layouts_[result] = layout;
  return true;
}

}  // namespace farcall::native
