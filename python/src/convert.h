// Conversion of Python objects to arrays, dtypes and shapes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <concepts>
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

// How external data is imported.
struct Intake {
  // Keeps numpy's 64-bit data, because a dtype was requested. Otherwise it becomes 32-bit, unless
  // the flag enable_x64 is on.
  bool keeps_64_bits = false;
  // The array may share memory that the caller can write to. This applies to dense, aligned data in
  // eager mode; otherwise the data is copied.
  bool may_share = false;
  // Who reads the array accepts unaligned memory, so that this may be shared too.
  bool may_be_unaligned = false;
};

// Whether the object is a numpy array or scalar, or a Python number, that try_to_array() converts
// to an array of this type. False for objects of other classes, also of classes derived from these.
// Runs no user code.
bool converts_to(PyObject* object, ShapeDtype type);

// Accepts arrays, Python numbers (weakly typed), numpy arrays and scalars, and objects with
// __jax_array__, __array__ or __dlpack__, but not lists. Null if the object is not an array.
Array try_to_array(nb::handle object, Intake intake = {});
// The same; raises TypeError naming `what` if the object is not an array.
Array to_array(nb::handle object, std::string_view what, Intake intake = {});
// The same, with a `what` that is made for the error alone: the text can take longer than the rest.
template <std::invocable What>
Array to_array(nb::handle object, const What& what, Intake intake = {});
// The same, for the argument `name` of a function.
Array argument(nb::handle object, std::string_view function, const char* name);
// The same, with a requested dtype; intermediate steps lose no precision. Raises what scalar_of
// raises for a number that the dtype cannot represent.
Array to_array_of(DType dtype, nb::handle object, std::string_view what, bool may_share = false);
// Raises INVALID_ARGUMENT for masked arrays: the mask would be lost.
void check_not_masked(PyObject* numpy_array);
// Warns if integers do not fit into 32 bits.
Array array_from_numpy(PyObject* numpy_array, Intake intake);
// An ordinary host array moved to the default device, without being committed to it; any other
// array unchanged. While a function is traced, arrays stay on the host.
Array on_default_device(Array array);
// The result of __array__(dtype, copy), given the numpy array of the elements. Raises ValueError if
// another dtype is requested without a copy.
nb::object as_requested(nb::object array, nb::handle dtype, nb::handle copy);
// The dtype in which data of this dtype is imported: 64-bit dtypes become 32-bit, unless the flag
// enable_x64 is on.
DType incoming_dtype(DType dtype);
bool is_64_bit(DType dtype);
// Sets the bytes of imported bools to 0 or 1; nonzero counts as true.
void normalize_bools(std::span<std::byte> elements);
bool are_bools(std::span<const std::byte> elements);

// Converts what numpy.dtype accepts, including the scalar types of ml_dtypes. Raises TypeError.
DType to_declared_dtype(nb::handle object);
// The same, for arguments that specify the dtype of a computation: Python's int, float and complex
// stand for the default dtypes, as in JAX, not for 64-bit dtypes, as in numpy.
DType to_dtype(nb::handle object);
std::optional<DType> try_to_dtype(nb::handle object);
// The same; None stands for `otherwise`.
inline DType to_dtype_or(nb::handle object, DType otherwise) {
  return object.is_none() ? otherwise : to_dtype(object);
}
// A new reference to the numpy.dtype. Raises TypeError for dtypes that numpy lacks.
nb::object numpy_dtype(DType dtype);
// The dtype attribute of arrays: the numpy.dtype, or the dtype of random keys.
nb::object dtype_object(DType dtype);
int numpy_type_number(DType dtype);
DType dtype_of_number(int type_number);  // kInvalid if there is none

// For signed integers of less than eight bits, stored in one byte each. The unused bits are zero in
// numpy and copies of the sign bit in farcall. extend_signs converts from numpy's form.
bool is_short_signed(DType dtype);
void extend_signs(DType dtype, std::span<std::byte> elements);

// An integer or a sequence of integers. Raises TypeError naming `what`.
std::vector<int64_t> to_sizes(nb::handle object, std::string_view what);
// A single such integer.
int64_t to_size(nb::handle object, std::string_view what);
// A sequence of arrays and numbers.
std::vector<Array> to_arrays(nb::handle object, std::string_view what);
// None or a dict from input to output indices. Raises TypeError naming `what`.
std::map<int64_t, int64_t> to_aliases(nb::handle aliases, std::string_view what);
nb::tuple to_tuple(std::span<const int64_t> values);
// The key of array[key]. Raises TypeError.
std::vector<numpy::Index> to_indices(PyObject* key);
// Reads .shape and .dtype. Raises ValueError naming `what`.
ShapeDtype to_shape_dtype(nb::handle object, std::string_view what);

// An option of a Python built-in type. Raises TypeError naming `what` and the expected type.
template <class T>
T to_option(nb::handle value, std::string_view what, const char* expected) {
  T result{};
  if (nb::try_cast(value, result)) return result;
  throw TypeError(fmt::format("{} must be {}, got {} of type {}", what, expected, repr_of(value),
                              Py_TYPE(value.ptr())->tp_name));
}

[[noreturn]] void not_an_array(nb::handle object, std::string_view what);

template <std::invocable What>
Array to_array(nb::handle object, const What& what, Intake intake) {
  Array array;
  try {
    array = try_to_array(object, intake);
  } catch (const Error& error) {
    error.raise_with(fmt::format("{}: {}", what(), error.message()));
  }
  if (array.is_null()) not_an_array(object, what());
  return array;
}

void bind_dtypes(nb::module_& module);

}  // namespace farcall::python
