#include <farcall/program/device.h>

#include <array>
#include <atomic>
#include <mutex>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/program/engine.h>
#include <farcall/program/sharding.h>
#include <farcall/program/transfers.h>

namespace farcall {
namespace {

struct List {
  std::mutex mutex;
  // Entries below `count` are read without the lock.
  std::array<const Device*, kMaxDevices> devices{};
  std::atomic<unsigned> count{1};  // device 0 is the host

  static List& instance() {
    static auto* list = new List;
    return *list;
  }
};

unsigned add_to_list(const Device& device) {
  List& list = List::instance();
  const std::lock_guard lock(list.mutex);
  const unsigned number = list.count.load(std::memory_order_relaxed);
  if (number == kUnresolvedDevice) {
    throw Error(ErrorCode::kResourceExhausted,
                fmt::format("device: a process has {} devices at most", kUnresolvedDevice));
  }
  list.devices[number] = &device;
  list.count.store(number + 1, std::memory_order_release);
  return number;
}

}  // namespace

Device::Device(const Engine& engine, Description description)
    : engine_(engine), description_(std::move(description)), number_(add_to_list(*this)) {}
Device::Device(const Engine& engine, Description description, Host)
    : engine_(engine), description_(std::move(description)), number_(0) {}
Device::~Device() = default;

void Device::renumber(int id, int process_index) {
  description_.id = id;
  description_.process_index = process_index;
}

bool Device::is_addressable() const {
  return description_.process_index == host_device().description().process_index;
}

std::string Device::to_string() const {
  // Devices of another engine may have the host's platform.
  const bool is_native = engine_.name() == "native";
  return fmt::format("{}:{}", is_native ? description_.platform : engine_.name(), description_.id);
}

Storage Device::from_device(ShapeDtype type, const Storage& other) const {
  return from_host(type, other.buffer()->to_host());
}

std::optional<DLDevice> Device::dlpack_device() const { return std::nullopt; }

Storage Device::from_library(ShapeDtype, void*, std::shared_ptr<const void> owner) const {
  owner.reset();
  throw Error(ErrorCode::kUnimplemented,
              fmt::format("{} does not share the memory of other libraries", to_string()));
}

std::optional<DeviceMemory> Device::memory() const { return std::nullopt; }

Storage to_host(const Storage& storage) {
  if (!storage.buffer()) return storage;
  // The transfers of a sharded array are those of its shards.
  if (!ShardedBuffer::of(storage)) {
    farcall::detail::count_transfer(Transfer::kDeviceToHost, storage.nbytes());
  }
  return storage.buffer()->to_host();
}

Storage to_device(const Device& device, ShapeDtype type, const Storage& storage) {
  if (is_on(device, storage)) return storage;
  if (device.is_host()) return to_host(storage);
  const bool is_direct = storage.buffer() && !ShardedBuffer::of(storage);
  farcall::detail::count_transfer(is_direct ? Transfer::kDeviceToDevice : Transfer::kHostToDevice,
                                  type.nbytes());
  return is_direct ? device.from_device(type, storage) : device.from_host(type, to_host(storage));
}

bool has_other_devices() { return List::instance().count.load(std::memory_order_acquire) > 1; }

const Device& host_device() {
  static const Device& device = *find_engine("native").devices().front();
  return device;
}

const Device& default_device() {
  unsigned number = default_device_number();
  if (number == kUnresolvedDevice) {
    set_default_device(*default_engine().devices().front());
    number = default_device_number();
  }
  return number == 0 ? host_device() : *List::instance().devices[number];
}

void set_default_device(const Device& device) { set_default_device_number(device.number()); }

DefaultDeviceScope::DefaultDeviceScope(const Device& device)
    : previous_(thread_default_device_number()) {
  set_thread_default_device_number(static_cast<int>(device.number()));
}
DefaultDeviceScope::~DefaultDeviceScope() { set_thread_default_device_number(previous_); }

}  // namespace farcall
