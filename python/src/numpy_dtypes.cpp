// Conversion between numpy's dtypes and DType.
#define FARCALL_IMPORT_NUMPY
#include "numpy_api.h"

#include <array>
#include <unordered_map>

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>

#include "convert.h"

namespace farcall::python {
namespace {

// The dtype of random keys, which is not a numpy.dtype.
struct KeyDType {
  DType dtype;
};

void bind_key_dtype(nb::module_& module) {
  nb::class_<KeyDType>(module, "KeyDType",
                       "The dtype of keys of random numbers. Its abstract types are "
                       "``farcall.dtypes.prng_key`` and ``farcall.dtypes.extended``.")
      .def_prop_ro("name", [](const KeyDType& self) { return std::string(dtype_name(self.dtype)); })
      .def_prop_ro("itemsize", [](const KeyDType& self) { return byte_width(self.dtype); })
      .def_prop_ro("kind", [](const KeyDType&) { return "V"; })
      .def_prop_ro(
          "type",
          [](const KeyDType&) { return nb::module_::import_("farcall.dtypes").attr("prng_key"); })
      .def(
          "__eq__",
          [](const KeyDType& self, nb::handle other) {
            return nb::isinstance<KeyDType>(other) && nb::cast<KeyDType>(other).dtype == self.dtype;
          },
          nb::arg("other").none())
      .def("__hash__", [](const KeyDType& self) { return static_cast<size_t>(self.dtype); })
      .def("__repr__", [](const KeyDType& self) { return std::string(dtype_name(self.dtype)); })
      .def("__reduce__", [](const KeyDType&) {
        return nb::make_tuple(nb::module_::import_("farcall.random").attr("key_dtype"),
                              nb::make_tuple());
      });
}

// Indexed by DType; owned until the process ends. Null for tokens, which numpy lacks.
std::array<PyArray_Descr*, kNumDTypes> descriptors{};
std::unordered_map<int, DType>& by_number() {
  static auto* map = new std::unordered_map<int, DType>;
  return *map;
}

void load_descriptors() {
  nb::module_ ml_dtypes = nb::module_::import_("ml_dtypes");
  nb::object numpy_dtype = nb::module_::import_("numpy").attr("dtype");
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.kind == DTypeKind::kToken) continue;
    const std::string name(info.name);
    nb::object source = nb::str(name.c_str());
    if (nb::hasattr(ml_dtypes, name.c_str())) source = ml_dtypes.attr(name.c_str());
    nb::object descriptor;
    try {
      descriptor = numpy_dtype(source);
    } catch (nb::python_error&) {
      continue;  // this ml_dtypes lacks the type; its arrays cannot be converted
    }
    auto* raw = reinterpret_cast<PyArray_Descr*>(descriptor.release().ptr());
    descriptors[static_cast<size_t>(info.dtype)] = raw;
    by_number()[raw->type_num] = info.dtype;
  }
  // Two C integer types have the same size, and numpy uses both type numbers.
  by_number()[NPY_LONGLONG] = DType::kInt64;
  by_number()[NPY_ULONGLONG] = DType::kUInt64;
  by_number()[NPY_LONG] = sizeof(long) == 8 ? DType::kInt64 : DType::kInt32;
  by_number()[NPY_ULONG] = sizeof(long) == 8 ? DType::kUInt64 : DType::kUInt32;
}

}  // namespace

nb::object numpy_dtype(DType dtype) {
  PyArray_Descr* descriptor = descriptors[static_cast<size_t>(dtype)];
  if (!descriptor && is_key(dtype)) {
    throw TypeError(fmt::format(
        "arrays of keys ({}) have no form in numpy; farcall.random.key_data(keys) gives their "
        "words as an array of uint32",
        dtype_name(dtype)));
  }
  if (!descriptor) {
    throw TypeError(fmt::format("numpy has no dtype for {}{}", dtype_name(dtype),
                                dtype == DType::kToken ? "" : "; a newer ml_dtypes may have it"));
  }
  return nb::borrow(reinterpret_cast<PyObject*>(descriptor));
}

int numpy_type_number(DType dtype) {
  numpy_dtype(dtype);  // raises if numpy lacks it
  return descriptors[static_cast<size_t>(dtype)]->type_num;
}

DType dtype_of_number(int type_number) {
  const auto it = by_number().find(type_number);
  return it == by_number().end() ? DType::kInvalid : it->second;
}

bool is_short_signed(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  return info.kind == DTypeKind::kSigned && info.bits < 8;
}

void extend_signs(DType dtype, std::span<std::byte> elements) {
  if (!is_short_signed(dtype)) return;
  const int unused = 8 - dtype_info(dtype).bits;
  for (std::byte& element : elements) {
    const auto shifted = static_cast<int8_t>(static_cast<uint8_t>(element) << unused);
    element = static_cast<std::byte>(shifted >> unused);
  }
}

nb::object dtype_object(DType dtype) {
  return is_key(dtype) ? nb::cast(KeyDType{dtype}) : numpy_dtype(dtype);
}

std::optional<DType> try_to_dtype(nb::handle object) {
  if (nb::isinstance<KeyDType>(object)) return nb::cast<KeyDType>(object).dtype;
  // numpy maps None to float64; an omitted dtype must not become that.
  if (object.is_none()) return std::nullopt;
  PyArray_Descr* descriptor = nullptr;
  if (!PyArray_DescrConverter(object.ptr(), &descriptor)) {
    PyErr_Clear();
    return std::nullopt;
  }
  const DType dtype = dtype_of_number(descriptor->type_num);
  const bool is_native = PyArray_ISNBO(descriptor->byteorder);
  Py_DECREF(descriptor);
  if (dtype == DType::kInvalid || !is_native) return std::nullopt;
  return dtype;
}

DType to_dtype(nb::handle object) {
  const auto is = [&](PyTypeObject& type) { return object.is(reinterpret_cast<PyObject*>(&type)); };
  if (is(PyLong_Type)) return default_int();
  if (is(PyFloat_Type)) return default_float();
  if (is(PyComplex_Type)) return default_complex();
  return to_declared_dtype(object);
}

DType to_declared_dtype(nb::handle object) {
  if (const auto dtype = try_to_dtype(object)) return *dtype;
  throw TypeError(
      fmt::format("{} is not a dtype of farcall; use a numpy or ml_dtypes dtype of bool, "
                  "integers, floats or complex numbers",
                  repr_of(object)));
}

void bind_dtypes(nb::module_& module) {
  if (_import_array() < 0) nb::raise_python_error();
  load_descriptors();
  bind_key_dtype(module);
  module.def("_dtype_names", [] {
    nb::list names;
    for (const DTypeInfo& info : all_dtypes()) {
      if (descriptors[static_cast<size_t>(info.dtype)]) {
        names.append(nb::str(info.name.data(), info.name.size()));
      }
    }
    return names;
  });
  // Converts what numpy.dtype accepts to the numpy.dtype of an array.
  module.def(
      "_check_dtype", [](nb::handle dtype) { return numpy_dtype(to_dtype(dtype)); },
      nb::arg("dtype").none());
  // The dtype that data of this dtype gets when no dtype is requested.
  module.def("_incoming_dtype", [](nb::handle dtype) {
    return numpy_dtype(incoming_dtype(to_declared_dtype(dtype)));
  });
  module.def("_default_dtype",
             [](nb::handle python_type) { return numpy_dtype(to_dtype(python_type)); });
  module.def("_numpy_dtype", [](const std::string& name) {
    const auto dtype = parse_dtype(name);
    if (!dtype) throw TypeError(fmt::format("there is no dtype \"{}\"", name));
    return numpy_dtype(*dtype);
  });
}

}  // namespace farcall::python
