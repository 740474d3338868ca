// The threads that handlers schedule tasks on.
#pragma once

#include <cstddef>
#include <memory>

#include <farcall/core/export.h>

namespace farcall {

// An arena of oneTBB for detached tasks. A handler may block until its tasks are done, also where
// one thread is all there is: oneTBB may have so many workers more than it has otherwise as all
// pools together ask for, and no slot of an arena is the caller's. Tasks that wait for one another
// should still be few: workers come when they are free. Threads start with the first task.
class FARCALL_API ThreadPool {
 public:
  using Task = void(void* data);

  // Raises INVALID_ARGUMENT for less than one thread.
  explicit ThreadPool(int num_threads);
  // Waits until what is scheduled is done.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void schedule(Task* task, void* data);
  int num_threads() const { return num_threads_; }

  // One thread for each core; lives until the process ends.
  static ThreadPool& shared();

 private:
  struct State;

  int num_threads_;
  std::unique_ptr<State> state_;
};

}  // namespace farcall
