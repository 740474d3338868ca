// Conversion of the keyword arguments of foreign calls to attributes.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include <farcall/ffi/attribute.h>

namespace farcall::python {

namespace nb = nanobind;

// Takes bool; int (s64, or u64 if larger); float (f64); complex (c128); str and bytes; numpy
// scalars and arrays with their dtype (0-d: a scalar); lists and tuples of numbers of one kind;
// dicts of these. All numbers except numpy scalars are plain: a target may declare another type for
// them. Raises TypeError naming the attribute for anything else, OverflowError beyond 64 bits.
Attribute to_attribute(nb::handle value, const std::string& name);
Attributes to_attributes(nb::handle dict, const std::string& where);
// The inverse of to_attribute.
nb::object from_attribute(const Attribute& attribute);
nb::dict from_attributes(const Attributes& attributes);

}  // namespace farcall::python
