// float0, the numpy dtype of tangents of values that are neither floats nor complex numbers. Its
// arrays have no data. In computations, arrays of bools stand in for them, and the structures of
// arguments and results mark these leaves.
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
// True for a numpy array of dtype float0.
bool is_float0(nb::handle object);
nb::object float0_zeros(std::span<const int64_t> shape);

// Like flatten_tree(), but marks float0 leaves in the structure, so that unflatten() converts their
// stand-ins back.
TreeDef flatten_marked(nb::handle tree, std::vector<nb::object>& leaves);
Array float0_stand_in(nb::handle object);
// The float0 array for a stand-in. Objects other than farcall arrays are returned unchanged.
nb::object from_float0_stand_in(nb::object object);

}  // namespace farcall::python
