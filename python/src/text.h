// Text of Python's objects as UTF-8. Python's strings may hold halves of surrogate pairs, which
// UTF-8 does not have, and an object's own functions may fail to describe it.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace farcall::python {

namespace nb = nanobind;

// A str, for messages: what has no UTF-8 is escaped.
std::string display(nb::handle text);
// repr(object), for messages: cut where it is long. An object that cannot be described is named by
// its type. Only what is no Exception is raised: KeyboardInterrupt.
std::string repr_of(nb::handle object);
// A str, for names that mean something. Raises TypeError for other objects and ValueError for text
// that has no UTF-8, both naming `what`.
std::string to_name(nb::handle text, std::string_view what);
// A new reference to a str; what is not UTF-8 is replaced. Raises MemoryError.
nb::object from_text(std::string_view text);

}  // namespace farcall::python
