// Client: a loaded plugin, its devices, and the moves of arrays to them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <farcall/program/engine.h>

#include "pjrt/handlers.h"
#include "pjrt/host_copies.h"
#include "pjrt/plugin.h"

namespace farcall::pjrt {

class Client;

class PjrtDevice final : public Device {
 public:
  PjrtDevice(const Engine& engine, Description description, const Client& client, CDevice* device)
      : Device(engine, std::move(description)), client_(client), device_(device) {}

  Storage allocate(ShapeDtype type) const override;
  Storage from_host(ShapeDtype type, const Storage& host) const override;
  std::optional<DLDevice> dlpack_device() const override;
  Storage from_library(ShapeDtype type, void* data,
                       std::shared_ptr<const void> owner) const override;

  using Device::renumber;

  const Client& client() const { return client_; }
  CDevice* handle() const { return device_; }

 private:
  const Client& client_;
  CDevice* device_;
};

// Lives until the process ends.
class Client {
 public:
  // Creates the client of the plugin in this library. Raises UNAVAILABLE for an empty path,
  // INVALID_ARGUMENT for malformed options in the environment, and what the plugin raises.
  Client(const Engine& engine, std::string plugin_path);

  const Plugin& plugin() const { return plugin_; }
  CClient* handle() const { return client_; }
  // The platform whose handlers programs call, such as "cpu".
  const std::string& platform() const { return platform_; }
  // On a CPU, device memory is host memory.
  bool is_cpu() const { return platform_ == "cpu"; }
  // Whether a program on one device has finished when execution returns, which returns its error.
  bool is_synchronous() const { return is_synchronous_; }
  std::span<const Device* const> devices() const { return devices_; }
  void set_process(int index) const;
  // The handlers that its programs call directly.
  Handlers& handlers() const { return *handlers_; }
  // Whether programs on one device call handlers directly, not by relay: always on devices other
  // than CPUs, else if FARCALL_PJRT_FOREIGN_CALLS is "direct".
  bool calls_directly() const { return calls_directly_; }
  // Whether programs can call the host: on CPUs, and where arrays can be copied during a run.
  bool has_relays() const { return HostCopies::of(platform_) != nullptr; }

  // Raises FAILED_PRECONDITION in a child of fork(): it lacks the plugin's threads, for which
  // compiling and some programs would wait forever.
  static void check_not_forked();

 private:
  std::vector<CDevice*> addressable_devices() const;

  Plugin plugin_;
  CClient* client_ = nullptr;
  std::string platform_;
  bool is_synchronous_ = false;
  std::unique_ptr<Handlers> handlers_;
  bool calls_directly_ = false;
  std::vector<std::unique_ptr<PjrtDevice>> owned_;
  std::vector<const Device*> devices_;
};

// The message if no plugin is found.
inline constexpr const char* kNoPlugin =
    "no PJRT plugin was found: install one (pip install lammps-jax-pjrt-cpu), or name its library "
    "in the environment variable FARCALL_PJRT_PLUGIN";

}  // namespace farcall::pjrt
