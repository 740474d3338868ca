// Loops of the handlers over the matrices of a batch.
#pragma once

#include <farcall/ffi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>

#include <farcall/core/interrupt.h>

#include "core/internal/one_blas_thread.h"

namespace farcall::linalg {

// The number of multiplications of a loop nest.
inline double cost_of(int64_t m, int64_t n, int64_t k = 1) {
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

// Matrices, or parts of them, that are computed independently of each other. Divides them between
// the threads of the runtime if they take long enough. Each is computed by one thread, so no bit of
// a result depends on the number of threads.
class BatchLoop {
 public:
  // `cost` is about the number of multiplications for one matrix. Set calls_blas to false if a step
  // calls neither BLAS nor LAPACK.
  BatchLoop(const ffi::ThreadPool& pool, int64_t count, double cost, bool calls_blas = true)
      : pool_(pool),
        count_(count),
        cost_(cost + (calls_blas ? kCallCost : kStepCost)),
        calls_blas_(calls_blas) {
    const double all = static_cast<double>(count) * cost_;
    if (count < 2 || (calls_blas && cost < kLeastCost) || all < 2 * kThreadCost) return;
    const int64_t most = std::min(count, static_cast<int64_t>(std::min(all / kThreadCost, 1e6)));
    num_workers_ = std::clamp<int64_t>(pool_.num_threads(), 1, most);
  }

  // The number of matrices that are computed at a time. Each needs its own workspace.
  int64_t num_workers() const { return num_workers_; }

  // Calls step(i, worker) for each matrix i. No two run at a time for the same worker, a number
  // below num_workers(). Returns CANCELLED after an interrupt, which is kept on this thread.
  template <class Step>
  ffi::Error run(Step&& step) {
    std::optional<OneBlasThread> one_thread;
    if (calls_blas_) one_thread.emplace();
    std::atomic<int64_t> next{0};
    std::atomic<bool> is_stopped{false};
    const std::thread::id caller = std::this_thread::get_id();
    const int64_t chunk = std::clamp(static_cast<int64_t>(kChunkCost / cost_), int64_t{1},
                                     std::max(int64_t{1}, count_ / (4 * num_workers_)));
    pool_.parallel_for(num_workers_, [&](int64_t worker) {
      const bool is_caller = std::this_thread::get_id() == caller;
      for (int64_t at; (at = next.fetch_add(chunk, std::memory_order_relaxed)) < count_;) {
        if (is_caller && poll_interrupt_and_keep()) is_stopped.store(true);
        if (is_stopped.load(std::memory_order_relaxed)) return;
        for (int64_t i = at; i < std::min(at + chunk, count_); ++i) {
          step(i, static_cast<size_t>(worker));
        }
      }
    });
    if (is_stopped) return ffi::Error(ffi::ErrorCode::kCancelled, "interrupted");
    return {};
  }

 private:
  static constexpr double kStepCost = 50, kCallCost = 1'000;  // in multiplications
  static constexpr double kLeastCost = 5'000;     // OpenBLAS's calls wait for each other at a lock
  static constexpr double kThreadCost = 1 << 18;  // below it, a thread costs more than it gains
  static constexpr double kChunkCost = 1 << 16;

  ffi::ThreadPool pool_;
  int64_t count_;
  double cost_;
  bool calls_blas_;
  int64_t num_workers_ = 1;
};

// The right-hand sides of a system, cut into parts that are solved independently. The cut depends
// on the sizes alone, because the bits that BLAS computes depend on it.
class SideParts {
 public:
  // `size`: the number of equations.
  SideParts(int64_t count, int64_t size) : count_(count), per_part_(std::max<int64_t>(count, 1)) {
    if (cost_of(size, size, count) < kLeastCost) return;
    constexpr int64_t kParts = 8, kStep = 32;
    per_part_ = (count / kParts + kStep) / kStep * kStep;
  }
  int64_t num_parts() const { return (count_ + per_part_ - 1) / per_part_; }
  int64_t first(int64_t part) const { return part * per_part_; }
  int size(int64_t part) const {
    return static_cast<int>(std::min(per_part_, count_ - first(part)));
  }

 private:
  static constexpr double kLeastCost = 1 << 22;

  int64_t count_;
  int64_t per_part_;
};

}  // namespace farcall::linalg
