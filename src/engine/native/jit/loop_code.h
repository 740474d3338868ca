// The machine code of one scan or while, which is made when its steps are many enough to pay for
// that. Until then, and where there is none, the loop's regions run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <farcall/core/jit_loops.h>
#include <farcall/program/engine.h>
#include <farcall/program/program.h>

#include "engine/native/jit/memory.h"

namespace farcall::native::jit {

class LoopCode {
 public:
  // Of an equation that is a scan or a while, of a program that outlives this. No reference is
  // counted: who holds a program of callbacks is known by its references.
  explicit LoopCode(const Equation& equation);

  // Whether to run the code now, before `steps` more steps, which count as run. Any thread may ask.
  bool is_ready(int64_t steps) const {
    if (!jit_loops()) return false;
    return entry_.load(std::memory_order_acquire) ? true : make_if_worth(steps);
  }
  // After how many steps to ask again.
  int64_t steps_until_worth() const;

  // Runs `steps` steps of a scan, or all of a while, whose number it returns. For the pointers see
  // lower.h. Raises what an interrupt raises.
  int64_t run(void* const* pointers, int64_t steps) const;

  // Makes it if it was not worth it yet, unless jit_loops() is off.
  LoopReport report() const;
  // Of the code, if it was made.
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
  // Under the lock until is_made_ is set.
  mutable std::atomic<bool> is_made_{false};
  mutable ExecutableMemory memory_;
  mutable std::string why_not_;
};

}  // namespace farcall::native::jit
