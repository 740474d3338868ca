#include "pjrt/client.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/cpu_devices.h>

#include "pjrt/buffer.h"

namespace farcall::pjrt {
namespace {

// A client's options by name; owns their strings.
class Options {
 public:
  void add(std::string_view name, int64_t value) {
    CNamedValue& row = add_row(name, CNamedValue::kInt64);
    row.int64_value = value;
  }
  void add(std::string_view name, bool value) {
    CNamedValue& row = add_row(name, CNamedValue::kBool);
    row.bool_value = value;
  }
  void add(std::string_view name, std::string_view value) {
    CNamedValue& row = add_row(name, CNamedValue::kString);
    row.string_value = texts_.emplace_back(value).c_str();
    row.value_size = value.size();
  }
  const std::vector<CNamedValue>& rows() const { return rows_; }

 private:
  CNamedValue& add_row(std::string_view name, CNamedValue::Kind kind) {
    CNamedValue& row = rows_.emplace_back();
    row.struct_size = sizeof(CNamedValue);
    row.name = texts_.emplace_back(name).c_str();
    row.name_size = name.size();
    row.kind = kind;
    row.value_size = 1;
    return row;
  }
  std::vector<CNamedValue> rows_;
  std::deque<std::string> texts_;  // a deque keeps the addresses of its elements
};

std::optional<int64_t> to_integer(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Adds the options in FARCALL_PJRT_OPTIONS: "name=value,name=value".
void add_options_of_user(Options& options) {
  const char* given = std::getenv("FARCALL_PJRT_OPTIONS");
  std::string_view rest = given ? given : "";
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("FARCALL_PJRT_OPTIONS: expected name=value, got \"{}\"", entry));
    }
    const std::string_view name = entry.substr(0, equals), value = entry.substr(equals + 1);
    if (value == "true" || value == "false") {
      options.add(name, value == "true");
    } else if (const auto number = to_integer(value)) {
      options.add(name, *number);
    } else {
      options.add(name, value);
    }
  }
}

CClient* create(const Plugin& plugin, const Options& options) {
  ClientCreate args{};
  args.options = options.rows().data();
  args.num_options = options.rows().size();
  plugin.call(args);
  return args.client;
}

// Plugins reject unknown options, and the platform is known only after the client is created: tries
// the CPU options first.
CClient* create(const Plugin& plugin) {
  Options options;
  options.add("cpu_device_count", int64_t{detail::use_cpu_devices()});
  options.add("asynchronous", false);
  add_options_of_user(options);
  try {
    return create(plugin, options);
  } catch (const Error&) {
    Options own;
    add_options_of_user(own);
    return create(plugin, own);
  }
}

std::string canonical(std::string platform) {
  std::ranges::transform(platform, platform.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  return platform == "host" ? "cpu" : platform;
}

std::string required(std::string path) {
  if (path.empty()) throw Error(ErrorCode::kUnavailable, fmt::format("pjrt: {}", kNoPlugin));
  return path;
}

}  // namespace

Client::Client(const Engine& engine, std::string plugin_path)
    : plugin_(required(std::move(plugin_path))), client_(create(plugin_)) {
  ClientPlatformName name{};
  name.client = client_;
  plugin_.call(name);
  platform_ = canonical(std::string(name.name, name.size));
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
  return on_device(*this, type, buffer_from_host(*this, type, host));
}

}  // namespace farcall::pjrt
