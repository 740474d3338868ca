// Runs operations on known values immediately while a function is being recorded.
#pragma once

#include <memory>

#include <farcall/core/export.h>

namespace farcall {

// During the scope, operations of this thread on concrete arrays run immediately instead of being
// recorded. Operations on traced arrays are not affected. Scopes must end on the thread that began
// them, innermost first.
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
