// The core's flags, for farcall.config, and the output of its messages.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/core/message.h>

#include "location.h"

namespace farcall::python {
namespace {

Flag flag_named(std::string_view name) {
  const auto& flags = all_flags();
  const auto found = std::ranges::find(flags, name, &FlagInfo::name);
  if (found != flags.end()) return found->flag;
  invalid_argument(fmt::format("config: the core has no flag {}", name));
}

// A warning may be turned into a Python exception; it then propagates through the core.
void show_message(MessageKind kind, std::string_view text) {
  const nb::gil_scoped_acquire lock;
  const std::string copy(text);
  if (kind == MessageKind::kWarning) {
    if (PyErr_WarnEx(PyExc_UserWarning, copy.c_str(), user_stack_level()) != 0)
      nb::raise_python_error();
    return;
  }
  nb::module_::import_("logging").attr("getLogger")("farcall").attr("warning")("%s", copy);
}

}  // namespace

void bind_config(nb::module_& module) {
  set_message_sink(show_message);
  // The names of each flag's values, in order.
  module.def("flags", [] {
    nb::dict flags;
    for (const FlagInfo& info : all_flags()) {
      nb::list values;
      for (const std::string_view value : info.values) {
        values.append(nb::str(value.data(), value.size()));
      }
      flags[nb::str(info.name.data(), info.name.size())] = values;
    }
    return flags;
  });
  module.def("get", [](std::string_view name) { return flag_value(flag_named(name)); });
  module.def("set",
             [](std::string_view name, unsigned value) { set_flag(flag_named(name), value); });
  // Sets the flag on this thread; None removes the thread's override. Returns the previous
  // override.
  module.def(
      "set_on_thread",
      [](std::string_view name, std::optional<int> value) -> std::optional<int> {
        const Flag flag = flag_named(name);
        const int before = thread_override(flag);
        set_thread_override(flag, value.value_or(kNoOverride));
        if (before == kNoOverride) return std::nullopt;
        return before;
      },
      nb::arg("name"), nb::arg("value").none());
}

}  // namespace farcall::python
