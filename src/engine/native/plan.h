// Plan: a program ready to run. A plan never changes; what a run writes is in a State.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <farcall/core/storage.h>
#include <farcall/ffi/foreign_call.h>
#include <farcall/program/engine.h>
#include <farcall/program/program.h>

#include "engine/native/kernel.h"
#include "engine/native/plan/groups.h"
#include "engine/native/plan/spread_values.h"

namespace farcall::native {

// Where the memory of a value is.
struct Allocation {
  enum class Kind : uint8_t { kNone, kInput, kOutput, kConstant, kArena };
  Kind kind = Kind::kNone;
  // The number of the input, output or constant, or the offset in the arena.
  size_t index = 0;
  size_t offset = 0;  // in an output, of a value that is a part of it
};

struct Instruction {
  enum class Kind : uint8_t { kKernel, kForeignCall, kScan, kWhile, kCond };
  Kind kind;
  bool is_copy = false;        // a copy that the equation needs
  uint32_t first_operand = 0;  // its pointers in State::operands; not for kForeignCall
  uint32_t call = 0;           // kForeignCall: its number
  uint32_t equation = 0;       // its equation; one past the last: the program's results
  void (*run)(const KernelCall&) = nullptr;
  const void* data = nullptr;  // the kernel's data, or a ScanRegion, WhileRegion or CondRegion
};

// Consecutive instructions that run at the same time as those of other parts. `scratch` is the
// offset of their scratch memory in that of the plan.
struct InstructionPart {
  size_t begin = 0, end = 0;
  size_t scratch = 0;
};

// A pointer that a state holds: to an instruction's operand, or to a foreign call's buffer.
struct PointerUse {
  static constexpr uint32_t kNoCall = UINT32_MAX;
  uint32_t call = kNoCall;  // kNoCall: an operand in State::operands
  uint32_t index = 0;       // of the operand; of the argument, or of the result if is_result
  bool is_result = false;
  bool needs_alignment = false;  // foreign code may read it
  Allocation allocation;
};

// Scratch memory of a foreign call.
struct PlannedWorkspace {
  uint32_t call = 0;
  Allocation allocation;
};

struct PlannedOutput {
  size_t nbytes = 0;
  // kOutput: memory allocated for each run; `index` is the first output that uses it. kInput,
  // kConstant: that memory, shared or copied.
  Allocation allocation;
};

// Copies that foreign calls need, by reason.
struct PlanStatistics {
  int64_t alias_copies = 0;   // an aliased operand that is still read afterwards
  int64_t layout_copies = 0;  // an operand or result whose layout is not row-major
};

struct PlannedCall {
  ForeignCallReport report;
  const ForeignCall* call;  // in the same plan or a child
};

struct Region;

struct Plan {
  Plan();
  ~Plan();

  ProgramPtr program;
  std::vector<Instruction> instructions;
  // Groups of adjacent parts that run at the same time, in order.
  std::vector<std::vector<InstructionPart>> groups;
  std::vector<Kernel> kernels;  // they own the instructions' data
  std::vector<std::unique_ptr<const ForeignCall>> calls;
  std::vector<std::unique_ptr<const Region>> regions;     // loops and branches
  std::vector<std::unique_ptr<const Plan>> children;      // the programs inside regions
  std::vector<std::shared_ptr<const Executable>> nested;  // what shard_map runs on every device
  std::vector<Storage> constants;
  std::vector<PlannedOutput> outputs;
  size_t num_operands = 0;
  std::vector<PointerUse> pointers;      // all
  std::vector<PointerUse> run_pointers;  // those that change with each run
  std::vector<PlannedWorkspace> workspaces;
  std::vector<bool> overwrites;  // by input: its memory is written
  size_t arena_bytes = 0;
  size_t scratch_bytes = 0;  // in the same block, after the arena
  // Whether the plan or its children call code that does not acquire the front end's lock itself.
  bool has_foreign_code = false;
  bool has_execution_stages = false;
  int64_t cost = 0;  // of one run: the operations, or the bytes if there are more
  PlanStatistics statistics;
  std::vector<PlannedCall> reports;  // of calls in the plan and its children, in program order
  Shardings input_shardings, output_shardings;
};

// (input, output) pairs.
using InPlace = std::vector<std::pair<size_t, size_t>>;

struct PlanOptions {
  // The program is the body of a region: each output is written to memory that the region provides.
  bool is_nested = false;
  // Inputs that the plan may overwrite.
  std::vector<bool> donated_inputs = {};
  // Pairs of equal types: the output uses the input's memory, unless the input is still needed.
  InPlace in_place = {};
  // Which equations may run at the same time as others.
  RunsLong runs_long = native::runs_long;
};

// Raises the same errors as Engine::compile.
std::unique_ptr<const Plan> make_plan(ProgramPtr program, PlanOptions options = {});

}  // namespace farcall::native
