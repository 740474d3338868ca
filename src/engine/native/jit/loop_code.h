// The machine code of one scan or while, which is compiled once enough steps have run to pay for
// that. Until then, and if there is no code, the loop's regions run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/engine/jit_loops.h>
#include <farcall/program/engine.h>
#include <farcall/program/program.h>

#include "engine/native/jit/ir.h"
#include "engine/native/jit/memory.h"

namespace farcall::native::jit {

class LoopCode {
 public:
  // The equation must be a scan or a while, and its program must outlive this object. Holds no
  // reference to the program, because reference counts decide the lifetime of programs with
  // callbacks.
  explicit LoopCode(const Equation& equation);

  // Whether to run the code now, before `steps` more steps, which are counted as run. Thread-safe.
  bool is_ready(int64_t steps) const {
    if (!jit_loops()) return false;
    return entry_.load(std::memory_order_acquire) ? true : make_if_worth(steps);
  }
  // The number of steps after which is_ready() should be called again.
  int64_t steps_until_worth() const;

  // Runs `steps` steps of a scan, or a whole while loop, and returns the number of its steps.
  // lower.h lists the pointers. Raises the error of an interrupt.
  int64_t run(void* const* pointers, int64_t steps) const;

  // Compiles the code if that has not happened yet, unless jit_loops() is off.
  LoopReport report() const;
  // The size of the code; 0 without code.
  size_t nbytes() const;

 private:
  bool make_if_worth(int64_t steps) const;
  void make() const;
  std::string make_code() const;

  const std::string_view operation_;
  const SourceLocationPtr where_;
  const Params& params_;
  const int64_t weight_;  // of a step
  mutable std::atomic<int64_t> work_{0};
  mutable std::atomic<const void*> entry_{nullptr};
  mutable std::mutex making_;
  // Guarded by making_ until is_made_ is set, constant afterwards.
  mutable std::atomic<bool> is_made_{false};
  mutable ExecutableMemory memory_;
  mutable std::vector<std::shared_ptr<const void>> kernels_;  // that the code calls
  mutable std::vector<InPlace> in_place_;
  mutable std::string why_not_;
};

}  // namespace farcall::native::jit
