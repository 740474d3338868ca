// Handlers that are wrong when several threads call them, and only for some nanoseconds of the
// first call or where a thread of their own is late, written with farcall/ffi.h. check_test.cpp
// tells the kind of each.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using S32 = ffi::Buffer<ffi::S32>;
using Out = ffi::Result<F32>;

// The flag is set before the number.
static void coefficient_after_flag(F32 x, Out y) {
  static volatile bool is_set = false;
  static volatile float coefficient = 0;
  if (!is_set) {
    is_set = true;
    coefficient = 0.75f;
  }
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] * coefficient;
}
FARCALL_DEFINE_HANDLER(coefficient_after_flag, coefficient_after_flag);

// Under a lock, but the pointer is known to others before what it points to is written.
static void published_too_early(F32 x, Out y) {
  static std::mutex mutex;
  static std::atomic<volatile float*> table{nullptr};
  if (!table) {
    const std::lock_guard lock(mutex);
    if (!table) {
      table = new float[4]();
      for (int i = 0; i < 4; ++i) table[i] = static_cast<float>(i + 1);
    }
  }
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + table[i % 4];
}
FARCALL_DEFINE_HANDLER(published_too_early, published_too_early);

// Few elements go through a common buffer.
static void small_common_buffer(F32 x, Out y) {
  static volatile float common[16];
  const size_t n = x.element_count();
  if (n > 16) return (void)std::copy_n(x.typed_data(), n, y->typed_data());
  for (size_t i = 0; i < n; ++i) common[i] = x.typed_data()[i];
  for (size_t i = 0; i < n; ++i) y->typed_data()[i] = common[i];
}
FARCALL_DEFINE_HANDLER(small_common_buffer, small_common_buffer);

// A table for each size, without a lock; found by a function that is called by its address.
static const std::vector<float>& window(size_t size) {
  static std::unordered_map<size_t, std::vector<float>> tables;
  const auto known = tables.find(size);
  if (known != tables.end()) return known->second;
  std::vector<float>& table = tables[size];
  table.resize(size);
  for (size_t i = 0; i < size; ++i) table[i] = static_cast<float>(i + 1);
  return table;
}
static void tables_without_lock(F32 x, Out y) {
  static const std::vector<float>& (*volatile find)(size_t) = window;
  const std::vector<float>& table = find(x.element_count());
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] * table[i];
}
FARCALL_DEFINE_HANDLER(tables_without_lock, tables_without_lock);

// Two threads that stay, and add up their parts without a lock or in the order in which they end.
class Team {
 public:
  void run(const std::function<void(int)>& work) {
    std::unique_lock lock(mutex_);
    if (!is_started_) {
      for (int i = 0; i < 2; ++i) std::thread([this, i] { serve(i); }).detach();
    }
    is_started_ = true;
    work_ = &work;
    num_left_ = 2;
    ++round_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return num_left_ == 0; });
  }

 private:
  void serve(int index) {
    for (uint64_t round = 1;; ++round) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return round_ >= round; });
      }
      (*work_)(index);
      const std::lock_guard lock(mutex_);
      if (--num_left_ == 0) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_started_ = false;
  int num_left_ = 0;
  uint64_t round_ = 0;
  const std::function<void(int)>* work_ = nullptr;
};
static std::mutex g_team_mutex;
static Team& team() {
  static auto* team = new Team;
  return *team;
}

static void team_counts(F32 x, ffi::Result<ffi::BufferR0<ffi::S32>> count) {
  volatile int32_t total = 0;
  const std::lock_guard lock(g_team_mutex);
  team().run([&](int) {
    for (int i = 0; i < 20000; ++i) total = total + 1;
  });
  *count->typed_data() = total + static_cast<int32_t>(x.element_count());
}
FARCALL_DEFINE_HANDLER(team_counts, team_counts);

static void team_sums(F32 x, ffi::Result<ffi::BufferR0<ffi::F32>> sum) {
  std::atomic<size_t> next{0};
  float total = 0;
  std::mutex mutex;
  const std::lock_guard lock(g_team_mutex);
  team().run([&](int) {
    float part = 0;
    constexpr size_t kBlock = 16;
    for (size_t begin; (begin = next.fetch_add(kBlock)) < x.element_count();) {
      for (size_t i = begin; i < std::min(begin + kBlock, x.element_count()); ++i)
        part += x.typed_data()[i];
    }
    const std::lock_guard of_total(mutex);
    total += part;
  });
  *sum->typed_data() = total;
}
FARCALL_DEFINE_HANDLER(team_sums, team_sums);

// The plans of all executables are computed in one work space.
struct Plan {
  std::vector<float> weights;
};
static std::unique_ptr<Plan> make_plan() {
  static volatile float work[512];
  for (int i = 0; i < 512; ++i) work[i] = 0;
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 512; ++i) work[i] = work[i] + static_cast<float>(i);
  }
  return std::make_unique<Plan>(Plan{std::vector<float>(work, work + 512)});
}
FARCALL_DEFINE_HANDLER(common_work_of_plans_instantiate, make_plan, ffi::kInstantiate);
static void common_work_of_plans(ffi::State<Plan> plan, F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + plan->weights[i % 512];
}
FARCALL_DEFINE_HANDLER(common_work_of_plans, common_work_of_plans);
