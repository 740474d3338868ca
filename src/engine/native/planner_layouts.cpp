// Layouts in a plan: values stay in the order in which they were made as long as nobody needs
// another one, and transposes that only change that order cost nothing.
#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/layout.h>
#include <farcall/primitives/structural.h>

#include "engine/native/planner.h"

namespace farcall::native {
namespace {

// The order of the dimensions in memory, without those of size 1, which may stand anywhere.
std::vector<int64_t> order_in_memory(ShapeDtype type, const MajorToMinor& layout) {
  std::vector<int64_t> order;
  for (const int64_t axis : layout ? *layout : row_major(type.rank()).major_to_minor) {
    if (type.shape()[axis] != 1) order.push_back(axis);
  }
  return order;
}

// How the memory of an operand reads as the transposed value.
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

// A transpose is free where its result is row-major as it lies, or where a foreign call wants it as
// it lies.
void Planner::share_transpose(size_t index) {
  const Equation& equation = program_.equations[index];
  const Atom operand = equation.inputs[0];
  const uint32_t result = equation.outputs[0];
  if (!operand.is_variable()) return;
  const ShapeDtype type = program_.variable_types[result];
  const MajorToMinor layout =
      transposed_layout(program_.type_of(operand), layouts_[operand.index],
                        params_as<TransposeParams>(equation.params.get()).permutation);
  const bool is_row_major = is_row_major_in_memory(type, layout);
  const auto wants_it = [&](size_t consumer) {
    const Equation& reader = program_.equations[consumer];
    const FfiCallParams* params = foreign_call(consumer);
    for (size_t i = 0; params && i < reader.inputs.size(); ++i) {
      if (reader.inputs[i] == Atom::variable(result) &&
          is_same_in_memory(type, layout, params->input_layouts[i])) {
        return true;
      }
    }
    return false;
  };
  const bool is_kept =
      !is_program_output(result) && std::ranges::any_of(consumers_[result], wants_it);
  if (!is_row_major && !is_kept) return;
  if (!is_row_major) layouts_[result] = layout;
  join(result, operand.index);
}

// Results of foreign calls are left in their layout, unless the program returns them.
void Planner::choose_result_layouts(size_t index) {
  const Equation& equation = program_.equations[index];
  const FfiCallParams& params = *foreign_call(index);
  for (size_t i = 0; i < equation.outputs.size(); ++i) {
    const uint32_t result = equation.outputs[i];
    if (is_row_major_in_memory(params.result_types[i], params.output_layouts[i]) ||
        is_program_output(result)) {
      continue;
    }
    layouts_[result] = params.output_layouts[i];
  }
}

Place Planner::row_major_place(Atom atom, std::string_view reader) {
  const MajorToMinor layout = layout_of(atom);
  if (!layout) return place_of(atom);
  Place& copy = row_major_copies_[atom.index];
  if (copy.kind == Place::Kind::kNone) {
    const ShapeDtype type = program_.type_of(atom);
    copy = {Place::Kind::kArena, arena_.allocate(type.nbytes())};
    add_copy(type, place_of(atom), layout, copy, {});
    ++plan_->statistics.layout_copies;
    if (!reader.empty()) report_copy_of_result(atom.index, reader);
  }
  return copy;
}

void Planner::report_copy_of_result(uint32_t variable, std::string_view reader) {
  // Transposes may have come between.
  while (defined_at_[variable] != kNever &&
         program_.equations[defined_at_[variable]].primitive->kind == PrimitiveKind::kTranspose) {
    const Atom operand = program_.equations[defined_at_[variable]].inputs[0];
    if (!operand.is_variable()) return;
    variable = operand.index;
  }
  if (defined_at_[variable] == kNever || report_of_[defined_at_[variable]] == kNever) return;
  const std::vector<uint32_t>& results = program_.equations[defined_at_[variable]].outputs;
  const auto number = std::ranges::find(results, variable) - results.begin();
  plan_->reports[report_of_[defined_at_[variable]]].report.copies.push_back(
      {fmt::format("result {}", number),
       fmt::format("{} reads it row-major, the handler writes another layout", reader),
       program_.variable_types[variable].nbytes()});
}

}  // namespace farcall::native
