// The threads that handlers schedule tasks on.
#pragma once

#include <memory>

#include <farcall/core/export.h>

namespace farcall {

// A oneTBB arena for detached tasks. A handler may block until its tasks are done, even on a
// machine with one core: oneTBB's limit of threads is raised by the threads of all pools, and no
// slot of the arena is reserved for the caller. Few tasks should wait for each other, because a
// task starts only when a worker is free. Threads start with the first task.
class FARCALL_API ThreadPool {
 public:
  using Task = void(void* data);

  // Raises INVALID_ARGUMENT if num_threads < 1.
  explicit ThreadPool(int num_threads);
  // Waits for all scheduled tasks.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void schedule(Task* task, void* data);
  int num_threads() const { return num_threads_; }

  // One thread per core. Lives until the process ends.
  static ThreadPool& shared();

 private:
  struct State;

  int num_threads_;
  std::unique_ptr<State> state_;
};

}  // namespace farcall
