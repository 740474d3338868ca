// Plan: a program made ready to run. What is in it never changes; what a run writes is in a State.
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
#include "engine/native/plan/spread_values.h"

namespace farcall::native {

// Where the memory of a value is.
struct Place {
  enum class Kind : uint8_t { kNone, kInput, kOutput, kConstant, kArena };
  Kind kind = Kind::kNone;
  // Number of the input, output or constant; offset in the arena.
  size_t index = 0;
};

struct Instruction {
  enum class Kind : uint8_t { kKernel, kForeignCall, kScan, kWhile, kCond };
  Kind kind;
  bool is_copy = false;        // one that the equation needs
  uint32_t first_operand = 0;  // its pointers in State::operands; not for kForeignCall
  uint32_t call = 0;           // kForeignCall: its number
  uint32_t equation = 0;       // that it is made of; one past the last: of the results
  void (*run)(const KernelCall&) = nullptr;
  const void* data = nullptr;  // of a kernel; ScanRegion, WhileRegion, CondRegion
};

// One pointer that a state holds: of an instruction's operand, or of a foreign call's buffer.
struct PointerUse {
  static constexpr uint32_t kNoCall = UINT32_MAX;
  uint32_t call = kNoCall;  // kNoCall: an operand in State::operands
  uint32_t index = 0;       // operand; argument, or result where is_result
  bool is_result = false;
  bool needs_alignment = false;  // foreign code may read it
  Place place;
};

// Scratch memory of a foreign call.
struct PlannedWorkspace {
  uint32_t call = 0;
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

struct PlannedCall {
  ForeignCallReport report;
  const ForeignCall* call;  // of the same plan or a child
};

struct Region;

struct Plan {
  Plan();
  ~Plan();

  ProgramPtr program;
  std::vector<Instruction> instructions;
  std::vector<Kernel> kernels;  // keep the instructions' data alive
  std::vector<std::unique_ptr<const ForeignCall>> calls;
  std::vector<std::unique_ptr<const Region>> regions;     // loops and branches
  std::vector<std::unique_ptr<const Plan>> children;      // the programs inside regions
  std::vector<std::shared_ptr<const Executable>> nested;  // what shard_map runs on every device
  std::vector<Storage> constants;
  std::vector<PlannedOutput> outputs;
  size_t num_operands = 0;
  std::vector<PointerUse> pointers;      // all
  std::vector<PointerUse> run_pointers;  // those that change from run to run
  std::vector<PlannedWorkspace> workspaces;
  std::vector<bool> overwrites;  // by input: its memory is written
  size_t arena_bytes = 0;
  size_t scratch_bytes = 0;  // after the arena
  // Here or in children: calls of code that does not take the front's lock by itself.
  bool has_foreign_code = false;
  bool has_execution_stages = false;
  int64_t cost = 0;  // of one run: the operations, or the bytes where these are more
  PlanStatistics statistics;
  std::vector<PlannedCall> reports;  // of calls here and in children, in program order
  Shardings input_shardings, output_shardings;
};

// (input, output) pairs.
using InPlace = std::vector<std::pair<size_t, size_t>>;

struct PlanOptions {
  // The program is the body of a region: every output is written to memory that the region gives.
  bool is_nested = false;
  // Inputs that the plan may overwrite.
  std::vector<bool> donated_inputs = {};
  // Of equal types: where nothing is lost, the output lies in the input's memory.
  InPlace in_place = {};
};

// Raises what compiling a program raises; see Engine::compile.
std::unique_ptr<const Plan> make_plan(ProgramPtr program, PlanOptions options = {});

}  // namespace farcall::native
