// Relays: equations that a plugin's program hands back to be run by the native engine on the CPU.
// If the program runs on another device, their operands and results are copied.
//
// A plugin knows one handler, farcall's. The handler finds the run by its first operand, the
// address of a RunSlot, and the relay of that run by the attribute `id`. What a relay throws is
// stored in the run, and raised unchanged after execution. On one device the plugin also gets an
// error at once, which ends the run. On several devices the others may wait for the failed one:
// from then on, relays return zeros, and loops that contain relays end.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/ffi/callback.h>
#include <farcall/program/engine.h>

#include "pjrt/buffer.h"
#include "stablehlo/internal/lower.h"

namespace farcall::pjrt {

class Relay {
 public:
  // Compiles the equation. `id` is the index of the relay among those of its program.
  Relay(int64_t id, const Program& program, const Equation& equation, stablehlo::RelayPlace place);
  // A guard of a loop (LowerOptions::guard).
  Relay(int64_t id, stablehlo::RelayPlace place);

  int64_t id() const { return id_; }
  stablehlo::RelayPlace place() const { return place_; }
  // Null for a guard.
  const Executable* executable() const { return executable_.get(); }
  // The size of each result in bytes.
  std::span<const size_t> result_sizes() const { return result_sizes_; }

 private:
  std::shared_ptr<const Executable> executable_;
  stablehlo::RelayPlace place_;
  int64_t id_;
  std::vector<size_t> result_sizes_;
};

// A callback that the plugin calls itself (see callback.h).
struct DeviceCallback {
  CallbackPtr callback;
  std::vector<ShapeDtype> arguments, results;
};

// One execution of a program with relays or callbacks.
class Run {
 public:
  // `devices` are the plugin's numbers of the devices.
  Run(const ExecutionOptions& options, std::string_view platform, std::span<const int> devices,
      std::span<const std::unique_ptr<const Relay>> relays,
      std::span<const DeviceCallback> callbacks);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const ExecutionOptions& options() const { return options_; }
  const Relay& relay(int64_t id) const { return *relays_[static_cast<size_t>(id)]; }
  const DeviceCallback& callback(int64_t id) const { return callbacks_[static_cast<size_t>(id)]; }
  std::string_view platform() const { return platform_; }
  bool is_on_cpu() const { return platform_ == "cpu"; }
  bool is_on_several() const { return devices_.size() > 1; }
  // The index of the device with this number.
  int32_t place_of(int device) const;

  void fail(std::exception_ptr error);
  bool has_failed() const { return has_failed_.load(std::memory_order_acquire); }
  // Raises what the first failed relay threw, if any failed.
  void raise_if_failed() const;

  // For a call that all devices make: the first one calls `work`, which sets the results and does
  // not throw; the others copy these results. The calls of one relay must come in the same order on
  // every device.
  void once_for_all(const Relay& relay, int32_t place, std::span<void* const> results,
                    const std::function<void()>& work);

 private:
  struct Made {
    bool is_done = false;
    std::vector<std::vector<std::byte>> results;
    size_t num_taken = 0;
  };

  const ExecutionOptions& options_;
  std::string_view platform_;
  std::span<const int> devices_;
  std::span<const std::unique_ptr<const Relay>> relays_;
  std::span<const DeviceCallback> callbacks_;
  mutable std::mutex mutex_;
  std::atomic<bool> has_failed_{false};
  std::exception_ptr error_;
  std::condition_variable is_made_;
  std::map<std::pair<int64_t, int32_t>, uint64_t> num_calls_;  // by relay and place
  std::map<std::pair<int64_t, uint64_t>, Made> made_;          // by relay and call number
};

// Where the plugin's calls find the run. Programs take its address as an argument on each device.
class RunSlot {
 public:
  explicit RunSlot(std::span<const PjrtDevice* const> devices);
  RunSlot(const RunSlot&) = delete;
  RunSlot& operator=(const RunSlot&) = delete;

  CBuffer* argument(size_t place) const { return arguments_[place]->get(); }
  // Null between runs.
  Run* run() const { return run_.load(std::memory_order_acquire); }
  void set(Run* run) { run_.store(run, std::memory_order_release); }

 private:
  std::atomic<Run*> run_{nullptr};
  std::vector<BufferPtr> arguments_;  // by place
};

// The slots of a program: as many as it had runs at the same time. A new slot takes longer than the
// rest of a short run.
class RunSlots {
 public:
  // A slot for one run.
  class Use {
   public:
    Use(RunSlots& slots, std::span<const PjrtDevice* const> devices, Run& run);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    const RunSlot& slot() const { return *slot_; }

   private:
    RunSlots& slots_;
    std::unique_ptr<RunSlot> slot_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<RunSlot>> free_;
};

// While a callback of a program runs, nested calls of farcall use the host, because the devices of
// the run are busy.
class OnHost {
 public:
  OnHost();
  ~OnHost();
  OnHost(const OnHost&) = delete;
  OnHost& operator=(const OnHost&) = delete;

 private:
  DefaultDeviceScope default_;
  bool before_;
};

// Raises FAILED_PRECONDITION inside a callback of a program on several devices: the plugin would
// wait for these devices to be free.
void check_may_execute();

// Registers the handler with the plugin, once per client. The client must have relays
// (Client::has_relays).
void register_relay(const Client& client);

}  // namespace farcall::pjrt
