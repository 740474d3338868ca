#include "pjrt/client.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstring>

#include <fmt/format.h>

#include <farcall/core/environment.h>
#include <farcall/core/error.h>
#include <farcall/program/cpu_devices.h>
#include <farcall/program/processes.h>

#include "pjrt/buffer.h"
#include "pjrt/client_options.h"
#include "pjrt/shared_store.h"

namespace farcall::pjrt {
namespace {

// Whether this process is a child of one that had a client.
std::atomic<bool> is_forked{false};

CClient* create(const Plugin& plugin, const ClientOptions& options) {
  ClientCreate args{};
  args.options = options.rows().data();
  args.num_options = options.rows().size();
  if (Processes* job = processes()) share_store(*job, args);
  try {
    plugin.call(args);
  } catch (const Error& error) {
    const std::string given = environment("FARCALL_PJRT_OPTIONS");
    if (given.empty()) throw;
    error.raise_with(fmt::format("{}. FARCALL_PJRT_OPTIONS is \"{}\"", error.message(), given));
  }
  return args.client;
}

struct Created {
  CClient* client;
  bool is_synchronous;
};

// Plugins reject unknown options, and the platform is known only after the client is created: tries
// the CPU options first if the plugin is not for a GPU.
Created create(const Plugin& plugin) {
  ClientOptions options;
  options.add_from_environment();
  if (plugin.is_for_gpus()) {
    options.add_gpu_memory_from_environment();
    return {create(plugin, options), false};
  }
  const bool is_synchronous = options.add_default("asynchronous", false);
  options.add_default("cpu_device_count", int64_t{detail::use_cpu_devices()});
  try {
    return {create(plugin, options), is_synchronous};
  } catch (const Error&) {
    ClientOptions own;
    own.add_from_environment();
    return {create(plugin, own), false};
  }
}

std::string canonical(std::string platform) {
  std::ranges::transform(platform, platform.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  return platform == "host" ? "cpu" : platform;
}

bool asks_for_direct_calls() {
  const std::string text = environment("FARCALL_PJRT_FOREIGN_CALLS");
  if (!text.empty() && text != "relay" && text != "direct") {
    invalid_argument(fmt::format(
        "FARCALL_PJRT_FOREIGN_CALLS must be \"relay\" or \"direct\", got \"{}\"", text));
  }
  return text == "direct";
}

std::string required(std::string path) {
  if (path.empty()) throw Error(ErrorCode::kUnavailable, fmt::format("pjrt: {}", kNoPlugin));
  return path;
}

}  // namespace

Client::Client(const Engine& engine, std::string plugin_path)
    : plugin_(required(std::move(plugin_path))) {
  const Created created = create(plugin_);
  client_ = created.client;
  ClientPlatformName name{};
  name.client = client_;
  plugin_.call(name);
  platform_ = canonical(std::string(name.name, name.size));
  is_synchronous_ = created.is_synchronous && is_cpu();
  handlers_ = std::make_unique<Handlers>(plugin_, platform_);
  calls_directly_ = asks_for_direct_calls() || !is_cpu();
  // The process index is set here: the plugin may not know of the other processes of a job.
  const int own_process = host_device().description().process_index;
  for (CDevice* device : addressable_devices()) {
    DeviceGetDescription description{};
    description.device = device;
    plugin_.call(description);
    DeviceDescriptionId id{};
    id.description = description.description;
    plugin_.call(id);
    DeviceDescriptionKind kind{};
    kind.description = description.description;
    plugin_.call(kind);
    owned_.push_back(
        std::make_unique<PjrtDevice>(engine,
                                     Device::Description{.platform = platform_,
                                                         .kind = std::string(kind.kind, kind.size),
                                                         .id = id.id,
                                                         .process_index = own_process},
                                     *this, device));
    devices_.push_back(owned_.back().get());
  }
  pthread_atfork(nullptr, nullptr, [] { is_forked.store(true, std::memory_order_relaxed); });
}

void Client::set_process(int index) const {
  for (const auto& device : owned_) device->renumber(device->description().id, index);
}

void Client::check_not_forked() {
  if (!is_forked.load(std::memory_order_relaxed)) [[likely]]
    return;
  throw Error(ErrorCode::kFailedPrecondition,
              "pjrt: this process was forked from one that had loaded the plugin, and lacks the "
              "plugin's threads. Start processes by \"spawn\" or \"forkserver\", fork before the "
              "first use of the engine, or use the native engine here: "
              "default_device(devices(\"native\")[0])");
}

std::vector<CDevice*> Client::addressable_devices() const {
  ClientAddressableDevices args{};
  args.client = client_;
  plugin_.call(args);
  if (args.num_devices == 0) {
    throw Error(
        ErrorCode::kUnavailable,
        fmt::format("pjrt: plugin \"{}\" found no devices on this machine", plugin_.path()));
  }
  return {args.devices, args.devices + args.num_devices};
}

Storage PjrtDevice::allocate(ShapeDtype type) const {
  Storage zeros = Storage::allocate(type.nbytes());
  if (type.nbytes() > 0) std::memset(zeros.data(), 0, type.nbytes());
  return from_host(type, zeros);
}

Storage PjrtDevice::from_host(ShapeDtype type, const Storage& host) const {
  return on_device(*this, type, buffer_from_host(*this, type, host), false);
}

std::optional<DLDevice> PjrtDevice::dlpack_device() const {
  const std::string_view platform = client_.platform();
  const int32_t type = platform == "cuda" ? kDLCUDA : platform == "rocm" ? kDLROCM : 0;
  if (type == 0) return std::nullopt;
  const auto place = std::ranges::find(client_.devices(), this) - client_.devices().begin();
  return DLDevice{type, static_cast<int32_t>(place)};
}

Storage PjrtDevice::from_library(ShapeDtype type, void* data,
                                 std::shared_ptr<const void> owner) const {
  const std::optional<DLDevice> own = dlpack_device();
  if (const HostCopies* driver = HostCopies::of(client_.platform()); driver && own) {
    driver->wait_for_libraries(own->device_id);
  }
  return on_device(*this, type, buffer_from_library(*this, type, data, std::move(owner)), true);
}

}  // namespace farcall::pjrt
