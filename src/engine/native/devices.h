// The devices of the native engine: the host, and further devices in this process, each with its
// own memory.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <span>

#include <farcall/core/config.h>
#include <farcall/core/storage.h>
#include <farcall/program/cpu_devices.h>
#include <farcall/program/device.h>
#include <farcall/program/processes.h>

namespace farcall::native {

// A device of this process: it runs programs here.
class OwnDevice : public Device {
 public:
  using Device::Device;
  using Device::renumber;
};

// Memory that kernels can access, but that belongs to one device and is counted as that device's.
class LocalDevice final : public OwnDevice {
 public:
  LocalDevice(const Engine& engine, int id);
  Storage allocate(ShapeDtype type) const override { return own(Storage::allocate(type.nbytes())); }
  Storage from_host(ShapeDtype type, const Storage& host) const override;
  std::optional<DeviceMemory> memory() const override;

  // own() makes the result of a run memory of this device; bytes_of() returns the bytes of such
  // memory.
  Storage own(Storage made) const;
  static const Storage& bytes_of(const Storage& own);

 private:
  friend class LocalBuffer;
  void count(int64_t nbytes) const;

  mutable std::atomic<int64_t> in_use_{0}, peak_{0};
};

class Devices {
 public:
  explicit Devices(const Engine& engine);
  // The num_cpu_devices() devices of this process (more if that number has grown since the last
  // call), then those of other processes.
  std::span<const Device* const> all() const;
  const Device& host() const { return *devices_[0]; }
  // Numbers the devices of all processes in order, and adds those of the other processes.
  void share(Processes& processes) const;

 private:
  void add_own(size_t wanted) const;

  const Engine& engine_;
  mutable std::mutex mutex_;
  mutable std::array<const Device*, kMaxDevices> devices_{};
  mutable size_t count_ = 1;
  mutable bool is_shared_ = false;
};

}  // namespace farcall::native
