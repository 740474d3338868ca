// float0, numpy's dtype of the tangents of values that are neither floats nor complex numbers. Its
// arrays hold nothing; where arrays are computed with, arrays of bools stand for them, and the
// structures of arguments and results remember which leaves these are.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <vector>

#include <farcall/trace/array.h>

#include "tree.h"

namespace farcall::python {

namespace nb = nanobind;

const nb::object& float0_dtype();
// Whether this is a numpy array of dtype float0.
bool is_float0(nb::handle object);
nb::object float0_zeros(std::span<const int64_t> shape);

// As flatten_tree(), with the leaves that are of dtype float0 marked as such in the structure: for
// these unflatten() converts what stands for them.
TreeDef flatten_marked(nb::handle tree, std::vector<nb::object>& leaves);
Array float0_stand_in(nb::handle object);
// The array of dtype float0 for which this stands; anything but a farcall array is returned as is.
nb::object from_float0_stand_in(nb::object object);

}  // namespace farcall::python
