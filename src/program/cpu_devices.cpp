#include <farcall/program/cpu_devices.h>

#include <cstdlib>
#include <mutex>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall {
namespace {

struct CpuDevices {
  std::mutex mutex;
  int wanted = 0;  // 0: not known yet
  int used = 0;    // number of devices that engines have made
  bool is_fixed = false;

  static CpuDevices& instance() {
    static auto* devices = new CpuDevices;
    return *devices;
  }

  // The caller holds the lock.
  int resolve() {
    if (wanted > 0) return wanted;
    const char* given = std::getenv("FARCALL_NUM_CPU_DEVICES");
    if (!given || !*given) return wanted = 1;
    char* end = nullptr;
    const long number = std::strtol(given, &end, 10);
    if (*end || number < 1 || number > kMaxCpuDevices) {
      invalid_argument(
          fmt::format("FARCALL_NUM_CPU_DEVICES: expected a number from 1 to {}, got \"{}\"",
                      kMaxCpuDevices, given));
    }
    return wanted = static_cast<int>(number);
  }
};

}  // namespace

int num_cpu_devices() {
  CpuDevices& devices = CpuDevices::instance();
  const std::lock_guard lock(devices.mutex);
  return devices.resolve();
}

void set_num_cpu_devices(int count) {
  if (count < 1 || count > kMaxCpuDevices) {
    invalid_argument(fmt::format("num_cpu_devices: expected a number from 1 to {}, got {}",
                                 kMaxCpuDevices, count));
  }
  CpuDevices& devices = CpuDevices::instance();
  const std::lock_guard lock(devices.mutex);
  if (count < devices.used) {
    throw Error(ErrorCode::kFailedPrecondition,
                fmt::format("num_cpu_devices: there are {} devices already, which live until the "
                            "process ends; set {} before the first use",
                            devices.used, count));
  }
  if (devices.is_fixed && count != devices.used) {
    throw Error(
        ErrorCode::kFailedPrecondition,
        fmt::format("num_cpu_devices: there are {} devices in this process, which the other "
                    "processes know by number; set {} before distributed.initialize()",
                    devices.used, count));
  }
  devices.wanted = count;
}

int detail::use_cpu_devices() {
  CpuDevices& devices = CpuDevices::instance();
  const std::lock_guard lock(devices.mutex);
  return devices.used = devices.resolve();
}

int detail::fix_cpu_devices() {
  const int count = use_cpu_devices();
  CpuDevices& devices = CpuDevices::instance();
  const std::lock_guard lock(devices.mutex);
  devices.is_fixed = true;
  return count;
}

}  // namespace farcall
