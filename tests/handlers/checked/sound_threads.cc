// Sound handlers with threads, written with farcall/ffi.h: check finds nothing here.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using S32 = ffi::Buffer<ffi::S32>;
using Out = ffi::Result<F32>;

static void per_thread(F32 x, Out y) {
  static thread_local std::vector<float> buffer;
  buffer.assign(x.typed_data(), x.typed_data() + x.element_count());
  std::memcpy(y->typed_data(), buffer.data(), x.size_bytes());
}
FARCALL_DEFINE_HANDLER(per_thread, per_thread);

static ffi::Future later(F32 x, Out y, ffi::ThreadPool pool) {
  ffi::Promise promise;
  ffi::Future future(promise);
  pool.Schedule(
      [promise, from = x.typed_data(), to = y->typed_data(), n = x.element_count()]() mutable {
        for (size_t i = 0; i < n; ++i) to[i] = from[i] + 1;
        promise.SetAvailable();
      });
  return future;
}
FARCALL_DEFINE_HANDLER(later, later);

static void two_threads(F32 x, Out y) {
  const size_t half = x.element_count() / 2;
  const auto part = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) y->typed_data()[i] = x.typed_data()[i] * 3;
  };
  std::thread other(part, 0, half);
  part(half, x.element_count());
  other.join();
}
FARCALL_DEFINE_HANDLER(two_threads, two_threads);

static void atomic_count(S32 x, ffi::Result<ffi::BufferR0<ffi::S32>> sum, ffi::ThreadPool pool) {
  std::atomic<int32_t> total{0};
  pool.parallel_for(static_cast<int64_t>(x.element_count()),
                    [&](int64_t i) { total += x.typed_data()[i]; });
  *sum->typed_data() = total;
}
FARCALL_DEFINE_HANDLER(atomic_count, atomic_count);

// Partial sums of fixed blocks, added in order: the threads decide nothing.
static void blocks_in_order(F32 x, ffi::Result<ffi::BufferR0<ffi::F32>> sum, ffi::ThreadPool pool) {
  constexpr int64_t kBlock = 16;
  const auto n = static_cast<int64_t>(x.element_count());
  std::vector<float> partial((n + kBlock - 1) / kBlock);
  pool.parallel_for(static_cast<int64_t>(partial.size()), [&](int64_t block) {
    for (int64_t i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i)
      partial[block] += x.typed_data()[i];
  });
  float total = 0;
  for (const float part : partial) total += part;
  *sum->typed_data() = total;
}
FARCALL_DEFINE_HANDLER(blocks_in_order, blocks_in_order);

// One buffer for all calls, behind a lock.
struct Workspace {
  std::mutex mutex;
  std::vector<float> work;
};
static std::unique_ptr<Workspace> make_workspace() { return std::make_unique<Workspace>(); }
FARCALL_DEFINE_HANDLER(locks_instantiate, make_workspace, ffi::kInstantiate);
static void locks(ffi::State<Workspace> state, F32 x, Out y) {
  const std::lock_guard lock(state->mutex);
  state->work.assign(x.typed_data(), x.typed_data() + x.element_count());
  for (float& value : state->work) value *= 2;
  std::copy(state->work.begin(), state->work.end(), y->typed_data());
}
FARCALL_DEFINE_HANDLER(locks, locks);

// A thread that stays, and does one piece of work after the other.
class Worker {
 public:
  void run(const float* from, float* to, size_t n) {
    const std::lock_guard one_at_a_time(caller_);
    std::unique_lock lock(mutex_);
    if (!is_started_) std::thread([this] { serve(); }).detach();
    is_started_ = true;
    from_ = from, to_ = to, n_ = n, is_wanted_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !is_wanted_; });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return is_wanted_; });
      for (size_t i = 0; i < n_; ++i) to_[i] = from_[i] - 1;
      is_wanted_ = false;
      changed_.notify_all();
    }
  }

  std::mutex caller_, mutex_;
  std::condition_variable changed_;
  bool is_started_ = false, is_wanted_ = false;
  const float* from_ = nullptr;
  float* to_ = nullptr;
  size_t n_ = 0;
};
static void keeps_a_thread(F32 x, Out y) {
  static auto* worker = new Worker;
  worker->run(x.typed_data(), y->typed_data(), x.element_count());
}
FARCALL_DEFINE_HANDLER(keeps_a_thread, keeps_a_thread);

// The block that a task gives back was allocated on another thread.
static ffi::Future frees_elsewhere(F32 x, Out y, ffi::ThreadPool pool) {
  ffi::Promise promise;
  ffi::Future future(promise);
  auto* copy = new std::vector<float>(x.typed_data(), x.typed_data() + x.element_count());
  pool.Schedule([promise, copy, to = y->typed_data()]() mutable {
    std::copy(copy->begin(), copy->end(), to);
    delete copy;
    promise.SetAvailable();
  });
  return future;
}
FARCALL_DEFINE_HANDLER(frees_elsewhere, frees_elsewhere);

// An exception that a thread catches itself.
static void catches_in_a_thread(F32 x, Out y) {
  std::thread([&] {
    try {
      throw std::string("nothing to worry about");
    } catch (const std::string&) {
      std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
    }
  }).join();
}
FARCALL_DEFINE_HANDLER(catches_in_a_thread, catches_in_a_thread);

// Every thread has a buffer, which ends with the thread.
static void buffers_of_threads(F32 x, Out y) {
  static thread_local std::unique_ptr<std::vector<float>> buffer;
  if (!buffer) buffer = std::make_unique<std::vector<float>>();
  buffer->assign(x.typed_data(), x.typed_data() + x.element_count());
  std::copy(buffer->begin(), buffer->end(), y->typed_data());
}
FARCALL_DEFINE_HANDLER(buffers_of_threads, buffers_of_threads);

// Both threads may build the table: one of them is kept.
static void published_once(F32 x, Out y) {
  static std::atomic<const float*> table{nullptr};
  const float* known = table;
  if (!known) {
    auto* made = new float[64];
    for (int i = 0; i < 64; ++i) made[i] = static_cast<float>(i);
    if (table.compare_exchange_strong(known, made)) {
      known = made;
    } else {
      delete[] made;
    }
  }
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + known[i % 64];
}
FARCALL_DEFINE_HANDLER(published_once, published_once);

static void spins(F32 x, Out y) {
  static std::atomic_flag lock = ATOMIC_FLAG_INIT;
  static std::vector<float> work;
  while (lock.test_and_set(std::memory_order_acquire)) {
  }
  work.assign(x.typed_data(), x.typed_data() + x.element_count());
  std::copy(work.begin(), work.end(), y->typed_data());
  lock.clear(std::memory_order_release);
}
FARCALL_DEFINE_HANDLER(spins, spins);

// Does without the common buffer while another thread has it.
static void falls_back(F32 x, Out y) {
  static std::mutex mutex;
  static std::vector<float> common;
  std::vector<float> own;
  const std::unique_lock lock(mutex, std::try_to_lock);
  std::vector<float>& work = lock ? common : own;
  work.assign(x.typed_data(), x.typed_data() + x.element_count());
  std::copy(work.begin(), work.end(), y->typed_data());
}
FARCALL_DEFINE_HANDLER(falls_back, falls_back);
