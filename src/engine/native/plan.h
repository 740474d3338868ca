// Plan: a program made ready to run. What is in it never changes; what a run writes is in a State.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <farcall/core/storage.h>
#include <farcall/ffi/foreign_call.h>
#include <farcall/program/program.h>

#include "engine/native/kernel.h"

namespace farcall::native {

// Where the memory of a value is.
struct Place {
  enum class Kind : uint8_t { kNone, kInput, kOutput, kConstant, kArena };
  Kind kind = Kind::kNone;
  // Number of the input, output or constant; offset in the arena.
  size_t index = 0;
};

struct Instruction {
  enum class Kind : uint8_t { kKernel, kForeignCall };
  Kind kind;
  uint32_t first_operand = 0;  // kKernel: its pointers in State::operands
  uint32_t call = 0;           // kForeignCall: its number
  void (*run)(const KernelCall&) = nullptr;
  const void* data = nullptr;
};

// One pointer that a state holds: of a kernel's operand, or of a foreign call's buffer.
struct PointerUse {
  static constexpr uint32_t kNoCall = UINT32_MAX;
  uint32_t call = kNoCall;  // kNoCall: an operand of a kernel
  uint32_t index = 0;       // operand; argument, or result where is_result
  bool is_result = false;
  Place place;
};

struct PlannedOutput {
  size_t nbytes = 0;
  // kOutput: memory of its own, made for each run, `index` the first output that shows it. kInput,
  // kConstant: that memory, shared or copied.
  Place place;
};

// Copies that foreign calls needed, and what they were for.
struct PlanStatistics {
  int64_t alias_copies = 0;   // an aliased operand that somebody else still reads
  int64_t layout_copies = 0;  // an operand or result in another layout than row-major
};

struct Plan {
  ProgramPtr program;
  std::vector<Instruction> instructions;
  std::vector<Kernel> kernels;  // keep the instructions' data alive
  std::vector<std::unique_ptr<const ForeignCall>> calls;
  std::vector<Storage> constants;
  std::vector<PlannedOutput> outputs;
  size_t num_operands = 0;
  std::vector<PointerUse> pointers;      // all
  std::vector<PointerUse> run_pointers;  // those that change from run to run
  size_t arena_bytes = 0;
  size_t scratch_bytes = 0;  // after the arena
  bool has_execution_stages = false;
  PlanStatistics statistics;
};

// Raises what compiling a program raises; see Engine::compile.
std::unique_ptr<const Plan> make_plan(ProgramPtr program);

}  // namespace farcall::native
