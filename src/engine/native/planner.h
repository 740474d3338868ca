// Planner: makes a plan from a program, in three steps: which values share memory, where that
// memory is, and the instructions.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/primitives/callback.h>
#include <farcall/primitives/ffi_call.h>

#include "engine/native/arena.h"
#include "engine/native/plan.h"
#include "engine/native/region.h"

namespace farcall::native {

class Planner {
 public:
  Planner(ProgramPtr program, PlanOptions options);
  std::unique_ptr<const Plan> run();

 private:
  static constexpr size_t kNever = SIZE_MAX;
  using Temporaries = std::vector<std::pair<Place, size_t>>;  // and their bytes

  // ---- which variables share memory (planner.cpp) ----

  // The variable that stands for all that share this one's memory.
  uint32_t root(uint32_t variable) const {
    while (shares_[variable] != variable) variable = shares_[variable];
    return variable;
  }
  // Whether the value lies in the memory that this variable stands for.
  bool lies_in(Atom atom, uint32_t representative) const {
    return atom.is_variable() && root(atom.index) == representative;
  }
  void share_memory();
  void share_equation(size_t index);
  void join(uint32_t variable, uint32_t with);
  // Empty when an equation may write over this operand. `num_copied_reads`: how often it reads a
  // copy of the same value, made before it runs.
  std::string why_not_take_over(const Equation& equation, size_t index, size_t input,
                                size_t num_copied_reads = 0) const;

  // ---- layouts (planner_layouts.cpp) ----

  void share_transpose(size_t index);
  void choose_result_layouts(size_t index);
  bool is_program_output(uint32_t variable) const {
    return std::ranges::find(program_.outputs, Atom::variable(variable)) != program_.outputs.end();
  }
  // The value in row-major order, copied there once where its memory has another one. The copy is
  // reported for the foreign call that made the value, unless `reader`, who wants it, is empty.
  Place row_major_place(Atom atom, std::string_view reader);
  void report_copy_of_result(uint32_t variable, std::string_view reader);
  MajorToMinor layout_of(Atom atom) const {
    return atom.is_variable() ? layouts_[atom.index] : std::nullopt;
  }

  // ---- where memory is ----

  void place_fixed();
  void try_in_place(size_t input, size_t output);
  Place add_constant(Storage storage);
  Place place_of(Atom atom);
  Place define(uint32_t variable);
  void release_dead(size_t index);

  // ---- instructions ----

  void plan_equation(size_t index);
  void plan_kernel(const Equation& equation, size_t index);
  void take_over_operand(const Equation& equation, size_t index);
  void add_kernel(Kernel kernel, std::span<const Place> operands);
  void add_copy(ShapeDtype type, Place from, const MajorToMinor& from_layout, Place to,
                const MajorToMinor& to_layout);
  uint32_t add_operands(std::span<const Place> operands, bool needs_alignment);

  // ---- foreign calls (planner_calls.cpp) ----

  // The call of foreign code that an equation makes, a callback's too; null for other equations.
  const FfiCallParams* foreign_call(size_t index) const;
  std::shared_ptr<const Target> target_of(size_t index) const;
  void share_foreign_call(size_t index);
  void plan_foreign_call(size_t index);
  Place add_temporary(size_t nbytes, Temporaries& temporaries);
  void release(const Temporaries& temporaries);
  Place argument_place(const Equation& equation, const FfiCallParams& params, size_t input,
                       std::span<const Place> results, Temporaries& temporaries,
                       ForeignCallReport& report);
  void add_call(ForeignCallSpec spec, std::span<const Place> arguments,
                std::span<const Place> results);

  // ---- loops and branches (planner_regions.cpp) ----

  // Plans the programs inside, when it is known what the equations before share.
  void make_region(size_t index);
  size_t add_child(std::unique_ptr<const Plan> child);
  InPlace add_branches(size_t index, CondRegion& choice);
  void share_region(size_t index);
  void plan_region(size_t index);

  // ---- the end ----

  void place_outputs();
  void finish();

  struct RegionInfo {
    size_t region = 0;  // in plan_->regions
    Instruction::Kind kind = Instruction::Kind::kScan;
    std::vector<Carry> carries;
    InPlace in_place;                         // operands and results that are in one place inside
    std::pair<size_t, size_t> children = {};  // from, to, in plan_->children
  };

  const Program& program_;
  PlanOptions options_;
  std::unique_ptr<Plan> plan_;
  Arena arena_;
  std::vector<uint32_t> shares_;    // by variable; itself at a root
  std::vector<size_t> last_use_;    // by root: the last equation that needs it
  std::vector<size_t> defined_at_;  // by variable: its equation, or kNever
  std::vector<bool> is_ours_;       // by variable: its memory may be written over
  std::vector<std::vector<std::string>> alias_refusals_;  // by equation and alias
  std::vector<std::vector<size_t>> consumers_;            // by variable: the equations that read it
  // By variable: the order of its elements in the memory of its root, and its row-major copy, which
  // lives until the variable itself is read last.
  std::vector<MajorToMinor> layouts_;
  std::vector<Place> row_major_copies_;
  std::vector<size_t> own_last_use_;
  std::vector<Place> places_;  // by root
  std::vector<Place> literal_places_;
  std::vector<std::optional<size_t>> wanted_input_;   // by root: donated input that it may lie in
  std::vector<std::optional<size_t>> wanted_output_;  // and where it goes if it does not
  std::vector<RegionInfo> regions_;                   // in order of their equations
  std::vector<size_t> region_of_;                     // by equation; kNever: none
  std::vector<std::optional<FfiCallParams>> callbacks_;  // by equation: as foreign calls
  std::vector<size_t> report_of_;                        // by equation, of foreign calls
};

// Whether the layout puts the elements in row-major order: dimensions of size 1 may stand anywhere.
bool is_row_major_in_memory(ShapeDtype type, const MajorToMinor& layout);
// Whether two layouts put the elements in the same order.
bool is_same_in_memory(ShapeDtype type, const MajorToMinor& a, const MajorToMinor& b);

}  // namespace farcall::native
