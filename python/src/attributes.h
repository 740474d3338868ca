// From keyword arguments of a foreign call to attributes.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include <farcall/ffi/attribute.h>

namespace farcall::python {

namespace nb = nanobind;

// bool; int (s64, above that u64); float (f64); complex (c128); str and bytes; numpy scalars and
// arrays of their own dtype (0-d: a scalar); lists and tuples of numbers of one kind; dicts of all
// these. All numbers but numpy's scalars are plain: a target may declare another type. Raises
// TypeError naming the attribute for anything else, OverflowError above 64 bits.
Attribute to_attribute(nb::handle value, const std::string& name);
Attributes to_attributes(nb::handle dict, const std::string& where);
// The Python value that to_attribute would take.
nb::object from_attribute(const Attribute& attribute);
nb::dict from_attributes(const Attributes& attributes);

}  // namespace farcall::python
