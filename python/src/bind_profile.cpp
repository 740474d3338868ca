// Profiles, as Python values.
#include "bind.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <farcall/program/profile.h>

namespace farcall::python {

void bind_profile(nb::module_& module) {
  nb::class_<ProfileRow>(module, "ProfileRow", "All events of one name.")
      .def_ro("name", &ProfileRow::name)
      .def_ro("category", &ProfileRow::category)
      .def_ro("calls", &ProfileRow::calls)
      .def_ro("seconds", &ProfileRow::seconds)
      .def_ro("self_seconds", &ProfileRow::self_seconds)
      .def_ro("bytes", &ProfileRow::bytes)
      .def("__repr__", [](const ProfileRow& self) {
        return fmt::format(
            "ProfileRow(name='{}', category='{}', calls={}, seconds={:.3g}, self_seconds={:.3g}, "
            "bytes={})",
            self.name, self.category, self.calls, self.seconds, self.self_seconds, self.bytes);
      });
  nb::class_<Profile>(module, "Profile", "Records what runs from its creation until stop().")
      .def(nb::init<std::string>(), nb::arg("path"))
      // Releases the interpreter lock: other threads may wait for it while they hold the profile's
      // lock.
      .def("stop", &Profile::stop, nb::call_guard<nb::gil_scoped_release>())
      .def("rows", &Profile::rows)
      .def("to_text", &Profile::to_text)
      .def("to_json", &Profile::to_json);
}

}  // namespace farcall::python
