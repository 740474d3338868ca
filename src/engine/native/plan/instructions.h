// Instructions: the last step of planning. Chooses kernels, inserts copies that layouts or aliases
// need, adds foreign calls, and records what each pointer refers to.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/native/kernel.h"
#include "engine/native/plan.h"
#include "engine/native/plan/allocation.h"
#include "engine/native/plan/foreign_calls.h"
#include "engine/native/plan/layouts.h"
#include "engine/native/plan/sharing.h"
#include "engine/native/plan/uses.h"

namespace farcall::native {

// What planning knows of a program when it makes the instructions.
struct Analysis {
  const Program& program;
  const Uses& uses;
  const ForeignCalls& calls;
  const Layouts& layouts;
  Sharing& sharing;  // its regions are moved into the plan
  bool is_nested;
};

class Instructions {
 public:
  Instructions(const Analysis& analysis, Allocator& allocator, Plan& plan);

  // Chooses the memory of values from their readers: that of a result of the program, or of a
  // concatenation. To be called before the equations are added.
  void choose_memory_ahead();
  // The instructions of equations that run at the same time, or of one equation.
  void add_group(EquationGroup group);
  // Records where the results are. Copies the results of a nested program to where the region
  // expects them.
  void add_outputs(const PlanOptions& options);

 private:
  // Arena memory that the equations being added need besides their values.
  class Temporaries {
   public:
    explicit Temporaries(Allocator& allocator) : allocator_(allocator) {}
    Allocation add(size_t nbytes);
    void release();

   private:
    Allocator& allocator_;
    std::vector<std::pair<Allocation, size_t>> all_;
  };

  void add_equation(size_t index);
  // Makes the copies that several equations of a group may read.
  void copy_operands(size_t index);
  void add_kernel(const Equation& equation, size_t index);
  // The kernel of an equation; without `run` if no elements are computed. Raises Error if the
  // engine has no kernel for these types.
  Kernel make_kernel(const Equation& equation);
  // By representative: whether foreign code sees the value, and may keep a view of it.
  std::vector<bool> seen_by_calls() const;
  // Computes values in the memory of a result where the last step to the result runs in place.
  void use_memory_of_results(const std::vector<bool>& is_seen);
  // Computes the operands of concatenations in their results, except for those of the sets that are
  // excluded.
  void join_operands(std::vector<bool> is_excluded);
  // Whether the equation is an instruction of its own: no view, call or region.
  bool runs_kernel(size_t index) const;
  void add_kernel(Kernel kernel, std::span<const Allocation> operands, bool is_copy = false);
  void add(Instruction instruction);
  void add_copy(ShapeDtype type, Allocation from, const MajorToMinor& from_layout, Allocation to,
                const MajorToMinor& to_layout);
  uint32_t add_operands(std::span<const Allocation> operands, bool needs_alignment);
  void add_region(const Equation& equation, PlannedRegion region);
  void add_child(std::unique_ptr<const Plan> child);

  // Returns the value in row-major order; copies it once if its memory has another layout. The copy
  // is attributed to `reader`; it is not reported if that is empty.
  Allocation row_major_allocation(Atom atom, std::string_view reader);
  void report_copy_of_result(uint32_t variable, std::string_view reader);
  void release_copies_after(size_t index);

  // Foreign calls (instructions_of_calls.cpp).
  void add_foreign_call(size_t index);
  ForeignCallSpec spec_of(size_t index) const;
  Allocation before_copy(size_t index, size_t result);
  Allocation argument_allocation(const Equation& equation, const FfiCallParams& call, size_t input,
                                 std::span<const Allocation> results, ForeignCallReport& report);
  void add_call(ForeignCallSpec spec, std::span<const Allocation> arguments,
                std::span<const Allocation> results);

  const Program& program_;
  const Uses& uses_;
  const ForeignCalls& calls_;
  const Layouts& layouts_;
  Sharing& sharing_;
  const bool is_nested_;
  Allocator& allocator_;
  Plan& plan_;
  // By variable: its row-major copy, which lives until the last read of the variable.
  std::vector<Allocation> row_major_copies_;
  std::vector<size_t> report_of_;            // by equation, of foreign calls
  std::vector<std::optional<Kernel>> made_;  // by equation: kernels that are made already
  uint32_t equation_ = 0;                    // of the instructions being added
  Temporaries temporaries_;
  // The scratch memory of the instructions being added begins here, and what they need ends there.
  size_t scratch_begin_ = 0, scratch_end_ = 0;
};

}  // namespace farcall::native
