// Registration of foreign targets and types.
#include "bind.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ffi/isolation.h>
#include <farcall/ffi/registry.h>

#include "convert.h"
#include "text.h"

namespace farcall::python {
namespace {

// Accepts a capsule with any name, because jaxlib and ctypes users name theirs differently, except
// the names of other libraries' capsules of arrays.
void* capsule_pointer(nb::handle capsule, const std::string& what) {
  if (!PyCapsule_CheckExact(capsule.ptr())) {
    throw TypeError(
        fmt::format("{} must be a PyCapsule, got {} of type {}. Make one of a ctypes "
                    "function with farcall.ffi.pycapsule",
                    what, repr_of(capsule), Py_TYPE(capsule.ptr())->tp_name));
  }
  const char* name = PyCapsule_GetName(capsule.ptr());
  if (name && std::string_view(name).find("dltensor") != std::string_view::npos) {
    throw TypeError(fmt::format(
        "{}: a PyCapsule named \"{}\" holds an array. Make one of a ctypes function with "
        "farcall.ffi.pycapsule",
        what, name));
  }
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), name);
  if (!pointer) nb::raise_python_error();
  return pointer;
}

FARCALL_FFI_Handler* handler(nb::handle capsule, const std::string& what) {
  return reinterpret_cast<FARCALL_FFI_Handler*>(capsule_pointer(capsule, what));
}

HandlerBundle to_bundle(const std::string& name, nb::handle fn) {
  const std::string who = fmt::format("register_ffi_target(\"{}\")", name);
  HandlerBundle bundle;
  if (!PyDict_Check(fn.ptr())) {
    bundle.execute = handler(fn, who + ": fn");
    return bundle;
  }
  const std::array<std::pair<const char*, FARCALL_FFI_Handler**>, 5> stages = {{
      {"instantiate", &bundle.instantiate},
      {"prepare", &bundle.prepare},
      {"initialize", &bundle.initialize},
      {"execute", &bundle.execute},
      {"record", &bundle.record},
  }};
  for (auto [key, value] : nb::borrow<nb::dict>(fn)) {
    const std::string stage = display(nb::str(key));
    const auto found = std::find_if(stages.begin(), stages.end(),
                                    [&](const auto& entry) { return stage == entry.first; });
    if (found == stages.end()) {
      invalid_argument(
          fmt::format("{}: unknown stage \"{}\"; must be one of instantiate, prepare, "
                      "initialize, execute and record",
                      who, stage));
    }
    if (!value.is_none()) *found->second = handler(value, fmt::format("{}: {}", who, stage));
  }
  return bundle;
}

void register_target(nb::handle name_object, nb::handle fn, nb::handle platform_object,
                     nb::handle api_version_object, nb::handle traits_object,
                     nb::handle isolate_object, nb::handle timeout_object) {
  const auto name = to_name(name_object, "register_ffi_target: name");
  const std::string who = fmt::format("register_ffi_target(\"{}\")", name);
  const auto platform = to_name(platform_object, who + ": platform");
  const auto api_version = to_option<int>(api_version_object, who + ": api_version", "an integer");
  const auto traits = to_option<uint32_t>(traits_object, who + ": traits", "an integer");
  const bool is_isolated = to_option<bool>(isolate_object, who + ": isolate", "True or False");
  if (!is_isolated && !timeout_object.is_none()) {
    throw TypeError(who + ": a timeout is for isolate=True");
  }
  if (is_isolated) {
    if (api_version != 1 || parse_platform(platform) != std::vector<std::string>{"cpu"}) {
      invalid_argument(who + ": isolate=True is for handlers (api_version=1) on platform \"cpu\"");
    }
    IsolationOptions options;
    if (!timeout_object.is_none()) {
      options.timeout_seconds =
          to_option<double>(timeout_object, who + ": timeout", "a number of seconds");
    }
    return register_isolated_ffi_target(name, to_bundle(name, fn), options, traits);
  }
  if (api_version == 0) {
    register_legacy_target(name, capsule_pointer(fn, who + ": fn"), platform, traits);
    return;
  }
  register_ffi_target(name, to_bundle(name, fn), platform, api_version, traits);
}

void register_type(nb::handle name_object, nb::handle type_id, nb::handle type_info) {
  const auto name = to_name(name_object, "register_ffi_type: name");
  const std::string who = fmt::format("register_ffi_type(\"{}\")", name);
  register_ffi_type(
      name, static_cast<FARCALL_FFI_TypeId*>(capsule_pointer(type_id, who + ": type_id")),
      type_info.is_none() ? nullptr : capsule_pointer(type_info, who + ": type_info"));
}

}  // namespace

void bind_ffi(nb::module_& module) {
  module.def("register_target", register_target, nb::arg("name").none(), nb::arg("fn").none(),
             nb::arg("platform").none(), nb::arg("api_version").none(), nb::arg("traits").none(),
             nb::arg("isolate").none(), nb::arg("timeout").none());
  module.def("register_type", register_type, nb::arg("name").none(), nb::arg("type_id").none(),
             nb::arg("type_info").none());
  module.def("register_batch_partitionable",
             [](const std::string& name) { register_ffi_target_as_batch_partitionable(name); });
  module.def("is_batch_partitionable",
             [](const std::string& name) { return is_batch_partitionable(name); });
  module.def("registered_targets",
             [](const std::string& platform) { return registered_targets(platform); });
  module.def("is_registered", [](const std::string& name, const std::string& platform) {
    return is_registered(name, platform);
  });
  module.def("pycapsule", [](size_t address) {
    return nb::steal(PyCapsule_New(reinterpret_cast<void*>(address), nullptr, nullptr));
  });
}

}  // namespace farcall::python
