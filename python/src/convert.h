// From Python objects to arrays, dtypes and shapes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/dtype.h>
#include <farcall/core/error.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

#include "text.h"

namespace farcall::python {

namespace nb = nanobind;

// How data of others comes in.
struct Intake {
  // numpy's 64-bit data stays so, because a dtype was asked for; else it becomes 32-bit unless the
  // flag enable_x64 is on.
  bool keeps_64_bits = false;
  // The array may lie in memory that the caller can write to: where that is dense and aligned, and
  // operations happen at once. Else it is copied.
  bool may_share = false;
};

// Arrays; numbers of Python (weakly typed); numpy arrays and scalars; whatever has __array__ or
// __dlpack__. Not lists. Null when the object is no array.
Array try_to_array(nb::handle object, Intake intake = {});
// Raises TypeError naming `what`.
Array to_array(nb::handle object, std::string_view what, Intake intake = {});
// The same for the argument `name` of a function.
Array argument(nb::handle object, std::string_view function, const char* name);
// The same in a dtype that was asked for, from which nothing is lost on the way. Raises what
// scalar_of raises for a number that the dtype does not have.
Array to_array_of(DType dtype, nb::handle object, std::string_view what, bool may_share = false);
// Warns of integers that do not fit into 32 bits.
Array array_from_numpy(PyObject* numpy_array, Intake intake);
// The dtype that 64-bit data comes in as: that of 32 bits, unless the flag enable_x64 is on.
DType incoming_dtype(DType dtype);
bool is_64_bit(DType dtype);
// Bytes of bools that come from elsewhere: all but 0 count as 1.
void normalize_bools(std::span<std::byte> elements);
bool are_bools(std::span<const std::byte> elements);

// What numpy.dtype accepts, the scalar types of ml_dtypes included. Raises TypeError.
DType to_declared_dtype(nb::handle object);
// The same for an argument that says what to compute in: there Python's int, float and complex
// stand for the default dtypes, as in JAX, and not for 64 bits, as in numpy.
DType to_dtype(nb::handle object);
std::optional<DType> try_to_dtype(nb::handle object);
// A new reference to the numpy.dtype. Raises TypeError for dtypes that numpy does not have.
nb::object numpy_dtype(DType dtype);
// What arrays show as their dtype: the numpy.dtype, or the dtype of keys of random numbers.
nb::object dtype_object(DType dtype);
int numpy_type_number(DType dtype);
DType dtype_of_number(int type_number);  // kInvalid when there is none

// Signed integers below eight bits take a byte each. In numpy the bits that a value does not need
// are zero, in farcall they repeat its sign; extend_signs makes the one the other, of these dtypes.
bool is_short_signed(DType dtype);
void extend_signs(DType dtype, std::span<std::byte> elements);

// A whole number or a sequence of them. Raises TypeError naming `what`.
std::vector<int64_t> to_sizes(nb::handle object, std::string_view what);
// One of these.
int64_t to_size(nb::handle object, std::string_view what);
// A sequence of arrays and numbers.
std::vector<Array> to_arrays(nb::handle object, std::string_view what);
// From None or a dict of input to output indices. Raises TypeError naming `what`.
std::map<int64_t, int64_t> to_aliases(nb::handle aliases, std::string_view what);
nb::tuple to_tuple(std::span<const int64_t> values);
// What stands in brackets after an array. Raises TypeError.
std::vector<numpy::Index> to_indices(PyObject* key);
// From .shape and .dtype. Raises ValueError naming `what`.
ShapeDtype to_shape_dtype(nb::handle object, std::string_view what);

// An option of one of Python's own types. Raises TypeError naming `what` and what it should be.
template <class T>
T to_option(nb::handle value, std::string_view what, const char* expected) {
  T result;
  if (nb::try_cast(value, result)) return result;
  throw TypeError(fmt::format("{} must be {}, got {} of type {}", what, expected, repr_of(value),
                              Py_TYPE(value.ptr())->tp_name));
}

void bind_dtypes(nb::module_& module);

}  // namespace farcall::python
