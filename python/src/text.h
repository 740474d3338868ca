// Text of Python objects as UTF-8. Python strings may contain lone surrogates, which UTF-8 cannot
// represent, and an object's own __repr__ may fail.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace farcall::python {

namespace nb = nanobind;

// A str for messages: characters without UTF-8 form are escaped.
std::string display(nb::handle text);
// repr(object) for messages, truncated if long. If repr fails, the name of the type. Propagates
// only exceptions that are not subclasses of Exception, such as KeyboardInterrupt.
std::string repr_of(nb::handle object);
// A str used as a name. Raises TypeError for other objects and ValueError for text without a UTF-8
// form, both naming `what`.
std::string to_name(nb::handle text, std::string_view what);
// A new reference to a str; invalid UTF-8 is replaced. Raises MemoryError.
nb::object from_text(std::string_view text);

}  // namespace farcall::python
