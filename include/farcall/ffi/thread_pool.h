// The threads that handlers schedule tasks on.
#pragma once

#include <cstddef>
#include <memory>

#include <farcall/core/export.h>

namespace farcall {

// Detached tasks, run in the order in which they came, by threads that do nothing else. A handler
// may block until its tasks are done, and its tasks on each other as long as they are no more than
// num_threads(): that many always run at once, whatever the rest of the program computes. (A pool
// of a parallel runtime gives no such promise: its workers may all be busy, or be one.)
// Threads start with the first task.
class FARCALL_API ThreadPool {
 public:
  using Task = void(void* data);

  // Raises INVALID_ARGUMENT for less than one thread.
  explicit ThreadPool(int num_threads);
  // Runs what is scheduled, then ends the threads.
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
