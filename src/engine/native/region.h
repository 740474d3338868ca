// Regions: instructions that run other plans. Slices and carries are handed over as pointers;
// nothing is copied that need not be.
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

// How a value that goes from one step of a loop to the next is kept.
struct Carry {
  size_t nbytes = 0;
  // Every step hands it on unchanged: it is read where it came from.
  bool is_invariant = false;
  // The step's result lies where its operand lay. Otherwise steps write to two places in turn.
  bool is_in_place = false;
  // The step overwrites its operand, so that the first one needs a copy of the initial value.
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

// Operands: the condition's constants, the body's, the initial carry; results: the carry; then one
// place for each carry.
struct WhileRegion final : Region {
  size_t condition = 0, body = 0;
  size_t num_condition_consts = 0, num_body_consts = 0;
  std::vector<Carry> carries;
  std::unique_ptr<const jit::LoopCode> code;

  // How many steps there were.
  int64_t run(State& state, void* const* operands) const;
};

// Operands: the i32 number of the branch, the branches' operands; then the results.
struct CondRegion final : Region {
  // A result that one branch leaves where an operand was, and another one does not.
  struct Copy {
    size_t operand, result, nbytes;
  };

  std::vector<size_t> branches;
  std::vector<std::vector<Copy>> copies;  // by branch
  size_t num_operands = 0, num_results = 0;

  void run(State& state, void* const* operands) const;
};

}  // namespace farcall::native
