#include "engine/native/mesh_run.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/core/stop.h>
#include <farcall/program/processes.h>

namespace farcall::native {
namespace {

// ---- threads ----

// Threads that wait for tasks. Each task has its own thread, because it may block: the places of a
// run wait for each other. The threads live until the process ends.
class DeviceThreads {
 public:
  static DeviceThreads& instance() {
    static auto* threads = new DeviceThreads;
    return *threads;
  }

  void start(std::function<void()> task) {
    Worker* worker = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        worker = idle_.back();
        idle_.pop_back();
      }
    }
    if (!worker) {
      auto made = std::make_unique<Worker>();
      std::thread([this, worker = made.get()] { work(*worker); }).detach();
      worker = made.release();
    }
    {
      const std::lock_guard lock(worker->mutex);
      worker->task = std::move(task);
    }
    worker->has_task.notify_one();
  }

 private:
  struct Worker {
    std::mutex mutex;
    std::condition_variable has_task;
    std::function<void()> task;
  };

  // A child of fork() has none of the threads, so it starts with no idle workers.
  DeviceThreads() {
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] {
                     instance().idle_.clear();
                     instance().mutex_.unlock();
                   });
  }

  void work(Worker& worker) {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock lock(worker.mutex);
        worker.has_task.wait(lock, [&] { return worker.task != nullptr; });
        task = std::exchange(worker.task, nullptr);
      }
      task();
      task = nullptr;
      const std::lock_guard lock(mutex_);
      idle_.push_back(&worker);
    }
  }

  std::mutex mutex_;
  std::vector<Worker*> idle_;
};

// ---- one run ----

using Members = std::span<const size_t>;
constexpr std::chrono::milliseconds kPollInterval(20);

class MeshRun {
 public:
  explicit MeshRun(const Places& places)
      : places_(places), num_places_(places.own.size()), left_(places.own.size()) {}

  const Places& places() const { return places_; }
  size_t caller() const { return places_.own.front(); }

  const std::atomic<bool>& is_stopped() const { return is_stopped_; }

  struct Collective {
    const void* id;  // unique to the equation
    std::string_view name;
    uint64_t axes;
    MeetingPhase phase;  // a place may be in the next phase while others leave this one
  };

  std::vector<const void*> meet(size_t number, size_t position, Members members,
                                const Collective& collective, const void* mine) {
    const auto num_members = static_cast<size_t>(
        std::ranges::count_if(members, [&](size_t place) { return places_.is_own(place); }));
    std::unique_lock lock(mutex_);
    check_stopped();
    Group& group = groups_[{collective.axes, members.front(), collective.phase}];
    if (group.arrived > 0 && group.id != collective.id) {
      stop(fmt::format(
          "the devices run different collectives over the same axes: device {} runs {}, "
          "another device runs {}",
          number, collective.name, group.name));
    }
    group.id = collective.id;
    group.name = collective.name;
    group.brought.resize(members.size());
    group.brought[position] = mine;
    if (++group.arrived == num_members) {
      group.arrived = 0;
      ++group.generation;
      num_waiting_ -= num_members - 1;
      changed_.notify_all();
      return group.brought;
    }
    ++num_waiting_;
    check_progress(collective.name);
    const uint64_t generation = group.generation;
    wait(lock, number == caller(), [&] { return group.generation != generation || is_stopped_; });
    if (group.generation == generation) throw StoppedError();
    return group.brought;
  }

  // Records that a place has ended, and its error.
  void end(size_t number, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    --left_;
    if (failure) {
      fail(number, std::move(failure));
    } else if (left_ > 0 && num_waiting_ == left_) {
      try {
        check_progress("a collective");
      } catch (...) {
        fail(places_.count, std::current_exception());
      }
    }
    changed_.notify_all();
  }

  // Called on the calling thread: waits until all places have ended.
  void wait_for_all() {
    std::unique_lock lock(mutex_);
    try {
      wait(lock, true, [&] { return left_ == 0; });
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      fail(0, std::current_exception());
      changed_.wait(lock, [&] { return left_ == 0; });
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  struct Group {
    size_t arrived = 0;
    uint64_t generation = 0;
    const void* id = nullptr;
    std::string_view name;
    std::vector<const void*> brought;
  };

  // While it waits, the calling thread checks for interrupts.
  template <class Done>
  void wait(std::unique_lock<std::mutex>& lock, bool is_caller, const Done& done) {
    if (!is_caller) return changed_.wait(lock, done);
    while (!changed_.wait_for(lock, kPollInterval, done)) {
      lock.unlock();
      check_interrupt();
      lock.lock();
    }
  }

  void check_stopped() const {
    if (is_stopped_) throw StoppedError();
  }

  // Raises if every place that has not ended is waiting: none can proceed.
  void check_progress(std::string_view name) {
    if (num_waiting_ < left_) return;
    stop(
        fmt::format("{}: deadlock: {} of {} devices have ended, {} wait in collectives. Every "
                    "device must run the same collectives, equally often and in the same order; "
                    "move collectives out of branches and loops that only some devices run",
                    name, num_places_ - left_, num_places_, num_waiting_));
  }

  [[noreturn]] void stop(std::string text) {
    auto error = std::make_exception_ptr(
        Error(ErrorCode::kFailedPrecondition, "shard_map: " + std::move(text)));
    fail(places_.count, error);
    throw StoppedError();
  }

  static bool is_stop(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const StoppedError&) {
      return true;
    } catch (...) {
      return false;
    }
  }

  void fail(size_t number, std::exception_ptr failure) {
    // Errors of places that were stopped count only if there is no other error.
    if (is_stop(failure)) number += 2 * places_.count;
    if (!failure_ || number < failed_place_) {
      failure_ = std::move(failure);
      failed_place_ = number;
    }
    is_stopped_ = true;
    changed_.notify_all();
  }

  const Places& places_;
  const size_t num_places_;  // of this process
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::tuple<uint64_t, size_t, MeetingPhase>, Group> groups_;
  size_t left_;  // places that have not ended
  size_t num_waiting_ = 0;
  std::atomic<bool> is_stopped_{false};
  std::exception_ptr failure_;
  size_t failed_place_ = 0;
};

// The run and the place that this thread executes.
struct MeshPlace {
  MeshRun* run = nullptr;
  size_t number = 0;
  std::vector<Storage> received = {};  // from other processes, until part()
};
thread_local MeshPlace here;
thread_local std::span<const MeshAxis> planned_axes;

}  // namespace

void run_on_mesh(const Places& places, const std::function<void(size_t)>& work) {
  const auto run = std::make_shared<MeshRun>(places);
  const auto part = [](const std::shared_ptr<MeshRun>& shared,
                       const std::function<void(size_t)>& function, size_t number) {
    MeshPlace before = std::exchange(here, {shared.get(), number});
    std::exception_ptr failure;
    {
      const StopScope stop(shared->is_stopped());
      try {
        function(number);
      } catch (...) {
        failure = std::current_exception();
      }
    }
    here = std::move(before);
    shared->end(number, std::move(failure));
  };
  for (size_t i = 1; i < places.own.size(); ++i) {
    try {
      const size_t number = places.own[i];
      DeviceThreads::instance().start([run, part, &work, number] { part(run, work, number); });
    } catch (...) {  // no thread for this place and the following ones
      for (; i < places.own.size(); ++i) run->end(places.own[i], std::current_exception());
      break;
    }
  }
  part(run, work, run->caller());
  run->wait_for_all();
}

PlannedAxes::PlannedAxes(std::span<const MeshAxis> axes)
    : previous_(std::exchange(planned_axes, axes)) {}
PlannedAxes::~PlannedAxes() { planned_axes = previous_; }

Groups::Groups(std::string_view name, std::span<const std::string> axes) : name_(name) {
  const std::span<const MeshAxis> all = planned_axes;
  std::vector<size_t> own;
  size_t num_places = 1;
  for (const MeshAxis& axis : all) num_places *= static_cast<size_t>(axis.size);
  for (const std::string& axis : axes) {
    const auto found = std::ranges::find(all, axis, &MeshAxis::name);
    if (found == all.end()) {
      throw TypeError(fmt::format(
          "{}: unknown axis \"{}\": no enclosing vmap or mesh has that name", name, axis));
    }
    own.push_back(static_cast<size_t>(found - all.begin()));
    axes_ |= uint64_t{1} << own.back();
    size_ *= static_cast<size_t>(found->size);
  }
  std::vector<size_t> strides(all.size());
  size_t stride = 1;
  for (size_t i = all.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= static_cast<size_t>(all[i].size);
  }
  for (size_t place = 0; place < num_places; ++place) {
    size_t position = 0, first = place;
    for (const size_t axis : own) {
      const auto size = static_cast<size_t>(all[axis].size);
      const size_t coordinate = place / strides[axis] % size;
      position = position * size + coordinate;
      first -= coordinate * strides[axis];
    }
    position_.push_back(position);
    std::vector<size_t>& members = members_.emplace_back();
    for (size_t i = 0; i < size_; ++i) {
      size_t member = first, rest = i;
      for (size_t j = own.size(); j-- > 0;) {
        const auto size = static_cast<size_t>(all[own[j]].size);
        member += rest % size * strides[own[j]];
        rest /= size;
      }
      members.push_back(member);
    }
  }
}

size_t Groups::position() const { return position_[here.number]; }

bool Groups::are_in_this_process() const {
  FARCALL_ASSERT(here.run);
  return here.run->places().processes.empty();
}

std::vector<const void*> Groups::wait_for_group(MeetingPhase phase, const void* mine) const {
  FARCALL_ASSERT(here.run);
  return here.run->meet(here.number, position(), members_[here.number], {this, name_, axes_, phase},
                        mine);
}

std::vector<const void*> Groups::meet(const void* mine, size_t nbytes, const Needs& needs) const {
  std::vector<const void*> brought = wait_for_group(MeetingPhase::kMeet, mine);
  if (!are_in_this_process()) fetch(brought, mine, nbytes, needs);
  return brought;
}

std::vector<const void*> Groups::meet_again(const void* mine) const {
  return wait_for_group(MeetingPhase::kMeetAgain, mine);
}

// Exchanges data with the places of other processes.
void Groups::fetch(std::span<const void*> brought, const void* mine, size_t nbytes,
                   const Needs& needs) const {
  const Places& places = here.run->places();
  const std::vector<size_t>& members = members_[here.number];
  // The tag holds the collective: a place that runs another one never receives this data, and times
  // out.
  const size_t kind = 1 + std::hash<std::string>()(name_ + std::to_string(axes_)) % 255;
  const auto tag = [&](size_t from, size_t to) {
    return static_cast<int>(kind << 16 | from << 8 | to);
  };
  std::vector<Processes::Message> sends, receives;
  for (size_t i = 0; i < members.size(); ++i) {
    const size_t other = members[i];
    if (places.is_own(other)) continue;
    const int process = places.processes[other];
    if (!needs || needs(position(), i)) {
      sends.push_back({process, tag(here.number, other), const_cast<void*>(mine), nbytes});
    }
    if (!needs || needs(i, position())) {
      void* data = here.received.emplace_back(Storage::allocate(nbytes)).data();
      brought[i] = data;
      receives.push_back({process, tag(other, here.number), data, nbytes});
    }
  }
  processes_for("shard_map").exchange("shard_map: " + name_, sends, receives);
}

void Groups::part() const {
  here.received.clear();
  wait_for_group(MeetingPhase::kPart, nullptr);
}

}  // namespace farcall::native
