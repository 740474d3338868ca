// Devices, and the placement of arrays.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/program/cpu_devices.h>
#include <farcall/program/engine.h>
#include <farcall/program/plugins.h>
#include <farcall/program/transfers.h>
#include <farcall/trace/placement.h>

#include "array_object.h"
#include "bind.h"
#include "convert.h"

namespace farcall::python {
namespace {

nb::object device_object(const Device& device) {
  return nb::cast(&device, nb::rv_policy::reference);
}

// "CpuDevice(id=0)", in JAX's format. Several engines have devices of the host's platform: those of
// other engines than the default one are shown with the engine.
std::string representation(const Device& device) {
  std::string platform = device.description().platform;
  const bool is_ambiguous =
      platform == host_device().description().platform && &device.engine() != &default_engine();
  platform[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(platform[0])));
  return fmt::format("{}Device(id={}{})", platform, device.description().id,
                     is_ambiguous ? fmt::format(", engine='{}'", device.engine().name()) : "");
}

// Its index among the devices of its engine in its process.
int64_t index_in_process(const Device& device) {
  const auto is_before = [&](const Device* other) {
    return other->description().process_index == device.description().process_index &&
           other->description().id < device.description().id;
  };
  return std::ranges::count_if(device.engine().devices(), is_before);
}

nb::object memory_stats(const Device& device) {
  const std::optional<DeviceMemory> memory = device.memory();
  if (!memory) return nb::none();
  nb::dict stats;
  stats["bytes_in_use"] = memory->bytes_in_use;
  stats["peak_bytes_in_use"] = memory->peak_bytes_in_use;
  stats["bytes_limit"] = memory->bytes_limit;
  return stats;
}

// The path of a PJRT plugin in the installed Python packages.
std::string find_plugin(const std::string& name) {
  const nb::gil_scoped_acquire held;
  return nb::cast<std::string>(nb::module_::import_("farcall._plugins").attr("find_plugin")(name));
}

void bind_device(nb::module_& module) {
  const auto id = [](const Device& self) { return self.description().id; };
  const auto process = [](const Device& self) { return self.description().process_index; };
  nb::class_<Device>(module, "Device", "Holds arrays and runs programs.")
      .def_prop_ro(
          "platform", [](const Device& self) { return self.description().platform; },
          "The platform of the handlers that its programs call: ``cpu``.")
      .def_prop_ro(
          "engine", [](const Device& self) { return std::string(self.engine().name()); },
          "The name of the engine that compiles for it.")
      .def_prop_ro(
          "device_kind", [](const Device& self) { return self.description().kind; },
          "The name of this kind of device.")
      .def_prop_ro("id", id, "Its number among the devices of its engine, in all processes.")
      .def_prop_ro("local_hardware_id", index_in_process,
                   "Its number among the devices of its engine in its process.")
      .def_prop_ro("process_index", process, "The number of the process that it belongs to.")
      .def_prop_ro("host_id", process, "The number of the process that it belongs to.")
      .def("memory_stats", memory_stats,
           "Bytes in use, the most so far and the limit; None where they are not counted.")
      .def("__eq__",
           [](const Device& self, nb::handle other) {
             return nb::isinstance<Device>(other) && &nb::cast<const Device&>(other) == &self;
           })
      .def("__hash__", [](const Device& self) { return self.number(); })
      .def("__str__", &Device::to_string)
      .def("__repr__", representation)
      .def("__reduce__", [](const Device& self) {
        return nb::make_tuple(
            nb::module_::import_("farcall._devices").attr("_unpickled"),
            nb::make_tuple(std::string(self.engine().name()), self.description().id));
      });
}

}  // namespace

void bind_devices(nb::module_& package, nb::module_& module) {
  bind_device(package);
  set_plugin_finder(find_plugin);
  // The names of the engines, in order.
  module.def("engine_names", [] {
    nb::list names;
    for (const Engine* engine : all_engines()) names.append(std::string(engine->name()));
    return names;
  });
  module.def("find_devices", [](std::string_view name) {
    nb::list devices;
    for (const Device* device : find_devices(name)) devices.append(device_object(*device));
    return devices;
  });
  module.def("default_device", [] { return device_object(default_device()); });
  module.def("set_default_device", [](const Device& device) { set_default_device(device); });
  module.def("num_cpu_devices", num_cpu_devices);
  module.def("set_num_cpu_devices", set_num_cpu_devices);
  // Sets the default device of this thread; None means the process's default. Returns a token for
  // restoring.
  module.def(
      "set_device_on_thread",
      [](const Device* device) {
        const int before = thread_default_device_number();
        set_thread_default_device_number(device ? static_cast<int>(device->number()) : kNoOverride);
        return before;
      },
      nb::arg("device").none());
  module.def("restore_device_on_thread",
             [](int before) { set_thread_default_device_number(before); });
  module.def("device_put", [](nb::handle array, const Device& device) {
    // A device with memory of its own copies what it gets.
    const bool is_copied_on = device.dlpack_device().has_value();
    const Array x = to_array(array, "device_put: x",
                             {.may_share = is_copied_on, .may_be_unaligned = is_copied_on});
    Array made;
    {
      const nb::gil_scoped_release released;
      made = device_put(x, device);
    }
    return wrap_object(std::move(made));
  });
  module.def("on_default_device", [](nb::handle array) {
    const ExplicitTransfers by_request;
    return wrap_object(on_default_device(to_array(array, "array")));
  });
  module.def("device_of", [](nb::handle array) {
    const Array x = to_array(array, "array");
    return device_object(x.is_concrete() ? device_of(x) : default_device());
  });
  // numpy's array of the values.
  module.def("device_get", [](nb::handle array) {
    const ExplicitTransfers by_request;
    return nb::module_::import_("numpy").attr("asarray")(array);
  });
  // (transfers, bytes) for each direction.
  module.def("transfer_counts", [] {
    nb::list counts;
    for (const auto& [transfers, bytes] : transfer_counts()) {
      counts.append(nb::make_tuple(transfers, bytes));
    }
    return nb::tuple(counts);
  });
  module.def("set_transfer_guard", [](int direction, int guard) {
    set_transfer_guard(static_cast<Transfer>(direction), static_cast<TransferGuard>(guard));
  });
  module.def("set_transfer_guard_on_thread", [](int direction, int guard) {
    return set_transfer_guard_of_thread(static_cast<Transfer>(direction), guard);
  });
  module.def("committed_like", [](nb::handle array, nb::handle other) {
    return wrap_object(committed_like(to_array(array, "array"), to_array(other, "other")));
  });
  module.def("is_committed",
             [](nb::handle array) { return is_committed(to_array(array, "array")); });
}

}  // namespace farcall::python
