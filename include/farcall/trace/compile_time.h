// Computing at once with values that are known, in the middle of a function that is recorded.
#pragma once

#include <memory>

#include <farcall/core/export.h>

namespace farcall {

// While it lives, operations of this thread on concrete arrays run at once, where they would
// otherwise be recorded; those on traced arrays go on as without it. Ends on the thread, and in the
// order, that it began.
class FARCALL_API CompileTimeEval {
 public:
  CompileTimeEval();
  ~CompileTimeEval();
  CompileTimeEval(const CompileTimeEval&) = delete;
  CompileTimeEval& operator=(const CompileTimeEval&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace farcall
