// Regions: instructions that run other plans. Slices and carries are passed as pointers and copied
// only if necessary.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/native/jit/loop_code.h"
#include "engine/native/plan.h"

namespace farcall::native {

struct State;

struct Region {
  virtual ~Region() = default;
};

// How a loop keeps a carried value between steps.
struct Carry {
  size_t nbytes = 0;
  // Every step returns it unchanged: all steps read the initial value.
  bool is_invariant = false;
  // A step's result is in the memory of its operand. Otherwise steps alternate between two places.
  bool is_in_place = false;
  // The step overwrites its operand, so the first step needs a copy of the initial value.
  bool overwrites = false;
};

// Operands: constants, initial carry, arrays; results: carry, arrays; then one place for each
// carry.
struct ScanRegion final : Region {
  size_t child = 0;
  int64_t length = 0;
  bool is_reverse = false;
  size_t num_consts = 0;
  std::vector<Carry> carries;
  std::vector<int64_t> x_strides, y_strides;  // bytes from slice to slice
  std::unique_ptr<const jit::LoopCode> code;

  void run(State& state, void* const* operands) const;

 private:
  void run_code(void* const* operands) const;
};

// Operands: the constants of the condition, those of the body, the initial carry; results: the
// carry; then one place for each carry.
struct WhileRegion final : Region {
  size_t condition = 0, body = 0;
  size_t num_condition_consts = 0, num_body_consts = 0;
  std::vector<Carry> carries;
  std::unique_ptr<const jit::LoopCode> code;

  // Returns the number of steps.
  int64_t run(State& state, void* const* operands) const;
};

// Operands: the i32 index of the branch, the operands of the branches; then the results.
struct CondRegion final : Region {
  // A result that this branch leaves in an operand's memory, while another branch does not.
  struct Copy {
    size_t operand, result, nbytes;
  };

  std::vector<size_t> branches;
  std::vector<std::vector<Copy>> copies;  // by branch
  size_t num_operands = 0, num_results = 0;

  void run(State& state, void* const* operands) const;
};

}  // namespace farcall::native
