#include "engine/native/plan/alias_sets.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace farcall::native {

AliasSets::AliasSets(const Program& program, const PlanOptions& options, const Uses& uses)
    : program_(program),
      is_nested_(options.is_nested),
      parent_(program.variable_types.size()),
      last_read_(uses.last_read),
      first_beside_(uses.first_beside),
      is_writable_(program.variable_types.size(), false) {
  std::iota(parent_.begin(), parent_.end(), 0U);
  for (size_t i = 0; i < parent_.size(); ++i) is_writable_[i] = uses.made_by[i] != kNever;
  for (size_t i = 0; i < options.donated_inputs.size(); ++i) {
    is_writable_[program.inputs[i]] = options.donated_inputs[i];
  }
}

void AliasSets::add(uint32_t variable, uint32_t to) {
  const uint32_t set = representative(to);
  parent_[variable] = set;
  last_read_[set] = std::max(last_read_[set], last_read_[variable]);
}

bool AliasSets::is_read_beside(uint32_t representative, size_t equation) const {
  const auto reads = [&](const Equation& other) {
    return std::ranges::any_of(other.inputs,
                               [&](Atom atom) { return contains(representative, atom); });
  };
  return std::any_of(program_.equations.begin() + static_cast<ptrdiff_t>(first_beside_[equation]),
                     program_.equations.begin() + static_cast<ptrdiff_t>(equation), reads);
}

std::string AliasSets::why_not_overwrite(size_t equation, size_t operand,
                                         size_t num_copied_reads) const {
  const Equation& reader = program_.equations[equation];
  const Atom atom = reader.inputs[operand];
  if (!atom.is_variable()) return "the operand is a constant";
  if (is_result_of(program_, atom.index)) return "the operand is also a result of the program";
  const uint32_t set = representative(atom.index);
  if (!is_writable_[set]) {
    const bool is_input = std::ranges::find(program_.inputs, set) != program_.inputs.end();
    if (!is_input) return "the operand is a constant";
    return is_nested_ ? "the operand comes from outside of the loop or branch"
                      : "the operand is an argument of the program that was not donated";
  }
  const size_t last = last_read_[set];
  if (last == kNever) return "the operand's memory holds a result of the program";
  if (last != equation) {
    const Equation& later = program_.equations[last];
    size_t input = 0;
    while (input < later.inputs.size() && !contains(set, later.inputs[input])) ++input;
    return fmt::format("the operand is read again by {}", reader_name(later, input));
  }
  if (is_read_beside(set, equation)) return "the operand is read at the same time";
  const auto num_reads = static_cast<size_t>(
      std::ranges::count_if(reader.inputs, [&](Atom other) { return contains(set, other); }));
  return num_reads > num_copied_reads + 1 ? "the call reads the operand twice" : "";
}

}  // namespace farcall::native
