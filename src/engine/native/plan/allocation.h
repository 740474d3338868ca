// Allocation: where the memory of each alias set is: in an input, an output, a constant, or a range
// of the arena.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <farcall/program/program.h>

#include "engine/native/arena.h"
#include "engine/native/kernel.h"
#include "engine/native/plan.h"
#include "engine/native/plan/alias_sets.h"
#include "engine/native/plan/layouts.h"
#include "engine/native/plan/uses.h"

namespace farcall::native {

// Assigns memory to the values that equations define, in program order, and frees it after the last
// read.
class Allocator {
 public:
  // Assigns memory to the inputs, constants and results of the program.
  Allocator(const Program& program, const PlanOptions& options, const Uses& uses,
            const AliasSets& sets);

  // The representative of an output of the program that has memory of its own, which is in no
  // input and not in an earlier output.
  std::optional<uint32_t> in_own_memory(size_t output) const;
  // Computes an operand of the equation in the memory of its result, a representative that has
  // memory already, if the kernel permits. Returns the operand's representative. `is_fixed` says by
  // representative which operands must not be overwritten.
  std::optional<uint32_t> share_result(const Equation& equation, uint32_t result, size_t index,
                                       const Layouts& layouts, const Kernel& kernel,
                                       const std::vector<bool>& is_fixed);

  // Lets the operands of a concatenation whose elements are contiguous in the result be computed
  // there, if their memory has no other use. `is_excluded` says by representative which operands
  // need memory of their own.
  void join_operands(const Equation& equation, size_t index, const Layouts& layouts,
                     const std::vector<bool>& is_excluded);

  Allocation of(Atom atom);
  // Returns the memory of a variable that an equation defines.
  Allocation define(uint32_t variable);
  // Lets results reuse the memory of operands that are read for the last time, if the kernel
  // permits.
  void reuse_operands(const Equation& equation, size_t index, const Layouts& layouts,
                      const Kernel& kernel);
  // Allocates memory in the arena; release() frees it.
  Allocation allocate(size_t nbytes) { return {Allocation::Kind::kArena, arena_.allocate(nbytes)}; }
  void release(Allocation allocation, size_t nbytes) { arena_.release(allocation.index, nbytes); }
  // Releases the values whose last use is this equation.
  void release_after(size_t index);

  // The results of the allocation, once all equations are done.
  size_t arena_bytes() const { return arena_.size(); }
  std::vector<Storage> take_constants() { return std::move(constants_); }
  const std::vector<bool>& overwrites() const { return overwrites_; }
  void mark_overwritten(size_t input) { overwrites_[input] = true; }

 private:
  void try_in_place(size_t input, size_t output);
  void reuse_operand(const Equation& equation, uint32_t output, size_t index,
                     const Layouts& layouts, const Kernel& kernel);
  // Whether the kernel may write the output over this operand, which is read for the last time.
  bool may_overwrite(const Equation& equation, uint32_t operand, uint32_t output, size_t index,
                     const Layouts& layouts, const Kernel& kernel) const;
  Allocation add_constant(Storage storage);

  const Program& program_;
  const Uses& uses_;
  const AliasSets& sets_;
  Arena arena_;
  std::vector<Allocation> allocations_;  // by representative
  std::vector<size_t> last_read_;  // by representative; kNever once another value has its memory
  std::vector<bool> is_free_;      // by representative: writable, and not assigned to a result
  std::vector<Allocation> literals_;
  std::vector<std::optional<size_t>> wanted_input_;   // by representative: an input to overwrite
  std::vector<std::optional<size_t>> wanted_output_;  // and its output otherwise
  struct Part {
    uint32_t whole;  // the representative
    size_t offset;   // bytes
  };
  std::vector<std::optional<Part>> parts_;  // by representative: the concatenation that contains it
  std::vector<Storage> constants_;
  std::vector<bool> overwrites_;  // by input
};

}  // namespace farcall::native
