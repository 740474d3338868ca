// Cancels the other parts of a run when one part fails.
#pragma once

#include <atomic>
#include <string>

#include <farcall/core/error.h>
#include <farcall/core/export.h>

namespace farcall {

// While a scope is open and its flag is set, check_interrupt() and poll_interrupt() (interrupt.h)
// raise StoppedError on this thread. Scopes must end in reverse order. In a scope of a helper,
// which runs part of the program of another thread, they do not ask the front end: the other thread
// does, and may hold a lock of the front end.
class FARCALL_API StopScope {
 public:
  explicit StopScope(const std::atomic<bool>& flag, bool is_helper = false);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  bool is_stopped() const { return flag_.load(std::memory_order_relaxed); }
  bool is_helper() const { return is_helper_; }
  const StopScope* previous() const { return previous_; }

 private:
  const std::atomic<bool>& flag_;
  const bool is_helper_;
  const StopScope* previous_;
};

class FARCALL_API StoppedError : public Error {
 public:
  StoppedError();
  ~StoppedError() override;
  [[noreturn]] void raise_with(std::string message) const override;
};

}  // namespace farcall
