#include "bound_function.h"

#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "array_object.h"
#include "convert.h"
#include "text.h"

namespace farcall::python {
namespace {

std::string place_of(ArgumentPlace place) {
  return fmt::format("{}: argument {}", place.function, place.name);
}

[[noreturn]] void refuse(nb::handle object, ArgumentPlace place, const char* expected) {
  throw TypeError(fmt::format("{} must be {}, got {} of type {}", place_of(place), expected,
                              repr_of(object), Py_TYPE(object.ptr())->tp_name));
}

}  // namespace

size_t index_of_word(nb::handle object, ArgumentPlace place,
                     std::initializer_list<const char*> words) {
  std::string all;
  for (size_t i = 0; i < words.size(); ++i) {
    const char* word = words.begin()[i];
    if (PyUnicode_Check(object.ptr()) &&
        PyUnicode_CompareWithASCIIString(object.ptr(), word) == 0) {
      return i;
    }
    if (i > 0) all += i + 1 == words.size() ? " or " : ", ";
    all += fmt::format("'{}'", word);
  }
  invalid_argument(
      fmt::format("{}: {} must be {}, got {}", place.function, place.name, all, repr_of(object)));
}

Array Argument<Array>::from(nb::handle object, ArgumentPlace place) {
  Array array = argument(object, place.function, place.name);
  if (array.type().is_token()) {
    throw TypeError(fmt::format("{} must be an array or a number, got a token", place_of(place)));
  }
  return array;
}

bool Argument<bool>::from(nb::handle object, ArgumentPlace) {
  const int truth = PyObject_IsTrue(object.ptr());
  if (truth < 0) nb::raise_python_error();
  return truth == 1;
}

int64_t Argument<int64_t>::from(nb::handle object, ArgumentPlace place) {
  if (is_array(object.ptr())) check_known_integer(object, place_of(place));
  nb::object index = nb::steal(PyNumber_Index(object.ptr()));
  if (!index.is_valid()) {
    // For a traced array, keep the error: it says why the value is unknown.
    if (!PyErr_ExceptionMatches(PyExc_TypeError) || is_array(object.ptr())) {
      nb::raise_python_error();
    }
    PyErr_Clear();
    refuse(object, place, "an integer");
  }
  const int64_t value = PyLong_AsLongLong(index.ptr());
  if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
  return value;
}

double Argument<double>::from(nb::handle object, ArgumentPlace place) {
  const double value = PyFloat_AsDouble(object.ptr());
  if (value != -1 || !PyErr_Occurred()) return value;
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
  // For a traced array, keep the error: it says why the value is unknown.
  if (is_array(object.ptr())) nb::raise_python_error();
  PyErr_Clear();
  refuse(object, place, "a number");
}

std::string Argument<std::string>::from(nb::handle object, ArgumentPlace place) {
  return to_name(object, place_of(place));
}

ListedArray Argument<ListedArray>::from(nb::handle object, ArgumentPlace place) {
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) {
    return {Argument<Array>::from(object, place)};
  }
  // Lists are converted by Python code.
  nb::object made = nb::module_::import_("farcall.numpy._creation").attr("asarray")(object);
  return {array_of(made.ptr())};
}

std::pair<nb::object, nb::object> pair_of(nb::handle object, ArgumentPlace place) {
  if (!PySequence_Check(object.ptr()) || nb::len(object) != 2) refuse(object, place, "a pair");
  return {nb::object(object[0]), nb::object(object[1])};
}

NoOut Argument<NoOut>::from(nb::handle object, ArgumentPlace place) {
  if (object.is_none()) return {};
  throw Error(ErrorCode::kUnimplemented,
              fmt::format("{}: arrays are immutable; argument out must be None", place.function));
}

AnyPrecision to_precision(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  const nb::object found =
      nb::module_::import_("farcall.lax._precision").attr("precision_pair")(object);
  if (found.is_none()) return std::nullopt;
  const auto at = [&](size_t i) { return static_cast<Precision>(nb::cast<int>(found[i])); };
  return OperandPrecisions{at(0), at(1)};
}

DType Argument<DType>::from(nb::handle object, ArgumentPlace) { return to_dtype(object); }

namespace {

// A small Python int, which needs no text for an error; nothing for other objects.
std::optional<int64_t> small_int(PyObject* object) {
  if (!PyLong_CheckExact(object)) return std::nullopt;
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0 ? std::optional(value) : std::nullopt;
}

std::vector<int64_t> sizes_of(nb::handle object, ArgumentPlace place) {
  if (const auto one = small_int(object.ptr())) return {*one};
  constexpr Py_ssize_t kFew = 64;
  const Py_ssize_t count = PyTuple_CheckExact(object.ptr()) ? PyTuple_GET_SIZE(object.ptr()) : -1;
  if (count >= 0 && count <= kFew) {
    std::vector<int64_t> all;
    for (Py_ssize_t i = 0; i < count; ++i) {
      const auto size = small_int(PyTuple_GET_ITEM(object.ptr(), i));
      if (!size) break;
      all.push_back(*size);
    }
    if (std::ssize(all) == count) return all;
  }
  return to_sizes(object, fmt::format("{}: {}", place.function, place.name));
}

}  // namespace

numpy::Axes Argument<numpy::Axes>::from(nb::handle object, ArgumentPlace place) {
  if (object.is_none()) return std::nullopt;
  return sizes_of(object, place);
}

std::vector<int64_t> Argument<std::vector<int64_t>>::from(nb::handle object, ArgumentPlace place) {
  return sizes_of(object, place);
}

std::vector<Array> Argument<std::vector<Array>>::from(nb::handle object, ArgumentPlace place) {
  return to_arrays(object, place_of(place));
}

// Functions that read values, such as nonzero, make their results on the host.
nb::object to_python(const Array& result) {
  return nb::steal(wrap_object(on_default_device(result)).release());
}

nb::object to_python(const Array& result, nb::handle device) {
  nb::object made = to_python(result);
  return device.is_none() ? made : nb::module_::import_("farcall").attr("device_put")(made, device);
}

nb::object to_python(const std::vector<Array>& result) {
  nb::list list;
  for (const Array& array : result) list.append(to_python(array));
  return list;
}

}  // namespace farcall::python
