#include "engine/native/devices.h"

#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "engine/native/engine.h"

namespace farcall::native {

namespace {

class HostDevice final : public OwnDevice {
 public:
  explicit HostDevice(const Engine& engine)
      : OwnDevice(engine, {.platform = kPlatform, .kind = "cpu"}, Host{}) {}
  Storage allocate(ShapeDtype type) const override { return Storage::allocate(type.nbytes()); }
  Storage from_host(ShapeDtype, const Storage& host) const override { return host; }
};

// A device of another process.
class RemoteDevice final : public Device {
 public:
  using Device::Device;
  Storage allocate(ShapeDtype) const override { refuse(); }
  Storage from_host(ShapeDtype, const Storage&) const override { refuse(); }

 private:
  [[noreturn]] void refuse() const {
    invalid_argument(fmt::format(
        "{} belongs to process {}, but this is process {}: arrays and programs here cannot be put "
        "there. Use a device of local_devices(), or a mesh over all processes",
        to_string(), description().process_index, host_device().description().process_index));
  }
};

}  // namespace

// The buffer is the only holder of `bytes`, so the sole owner of the buffer may write them.
class LocalBuffer final : public DeviceBuffer {
 public:
  LocalBuffer(const LocalDevice& device, Storage bytes)
      : device_(device), bytes_(std::move(bytes)) {
    device_.count(static_cast<int64_t>(bytes_.nbytes()));
  }
  ~LocalBuffer() override { device_.count(-static_cast<int64_t>(bytes_.nbytes())); }
  LocalBuffer(const LocalBuffer&) = delete;
  LocalBuffer& operator=(const LocalBuffer&) = delete;

  const Device& device() const override { return device_; }
  bool is_ready() const override { return true; }
  void wait() const override {}
  Storage to_host() const override { return bytes_.copy(); }
  const Storage& bytes() const { return bytes_; }

 private:
  const LocalDevice& device_;
  Storage bytes_;
};

LocalDevice::LocalDevice(const Engine& engine, int id)
    : OwnDevice(engine, {.platform = kPlatform, .kind = "cpu", .id = id}) {}

Storage LocalDevice::from_host(ShapeDtype, const Storage& host) const { return own(host.copy()); }

Storage LocalDevice::own(Storage made) const {
  if (!made.is_owned() || !made.is_unique()) made = made.copy();
  const size_t nbytes = made.nbytes();
  return Storage::adopt(std::make_unique<LocalBuffer>(*this, std::move(made)), nbytes);
}

const Storage& LocalDevice::bytes_of(const Storage& own) {
  return static_cast<const LocalBuffer*>(own.buffer())->bytes();
}

void LocalDevice::count(int64_t nbytes) const {
  const int64_t now = in_use_.fetch_add(nbytes, std::memory_order_relaxed) + nbytes;
  int64_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

std::optional<DeviceMemory> LocalDevice::memory() const {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  return DeviceMemory{.bytes_in_use = in_use_.load(std::memory_order_relaxed),
                      .peak_bytes_in_use = peak_.load(std::memory_order_relaxed),
                      .bytes_limit = pages > 0 && page > 0 ? pages * page : 0};
}

Devices::Devices(const Engine& engine) : engine_(engine) { devices_[0] = new HostDevice(engine); }

void Devices::add_own(size_t wanted) const {
  while (count_ < wanted) {
    devices_[count_] = new LocalDevice(engine_, static_cast<int>(count_));
    ++count_;
  }
}

std::span<const Device* const> Devices::all() const {
  const auto wanted = static_cast<size_t>(farcall::detail::use_cpu_devices());
  const std::lock_guard lock(mutex_);
  if (!is_shared_) add_own(wanted);
  return {devices_.data(), count_};
}

void Devices::share(Processes& processes) const {
  const int64_t own = farcall::detail::fix_cpu_devices();
  std::vector<int64_t> counts(static_cast<size_t>(processes.count()), own);
  std::vector<Processes::Message> sends, receives;
  for (int process = 0; process < processes.count(); ++process) {
    if (process == processes.index()) continue;
    int64_t& count = counts[static_cast<size_t>(process)];
    sends.push_back({process, 0, const_cast<int64_t*>(&own), sizeof(own)});
    receives.push_back({process, 0, &count, sizeof(count)});
  }
  processes.exchange("distributed.initialize", sends, receives);

  const std::lock_guard lock(mutex_);
  add_own(static_cast<size_t>(own));
  size_t total = 0;
  for (const int64_t count : counts) total += static_cast<size_t>(count);
  if (total >= devices_.size()) {
    throw Error(
        ErrorCode::kResourceExhausted,
        fmt::format("distributed.initialize: {} processes have {} devices in total; at most {} "
                    "are supported",
                    processes.count(), total, devices_.size() - 1));
  }
  int id = 0;
  for (int process = 0; process < processes.count(); ++process) {
    for (int64_t i = 0; i < counts[static_cast<size_t>(process)]; ++i, ++id) {
      if (process == processes.index()) {
        auto& device = const_cast<Device&>(*devices_[static_cast<size_t>(i)]);
        static_cast<OwnDevice&>(device).renumber(id, process);
      } else {
        devices_[count_++] = new RemoteDevice(
            engine_, {.platform = kPlatform, .kind = "cpu", .id = id, .process_index = process});
      }
    }
  }
  is_shared_ = true;
}

}  // namespace farcall::native
