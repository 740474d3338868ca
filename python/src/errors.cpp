#include "errors.h"

#include <new>
#include <stdexcept>
#include <typeinfo>

#include <farcall/core/error.h>
#include <farcall/ops/checks.h>
#include <farcall/trace/debug_checks.h>

#include "text.h"

namespace farcall::python {
namespace {

// Owned by the module until the process ends.
PyObject* ffi_error_class = nullptr;
PyObject* concretization_class = nullptr;
PyObject* conversion_classes[3] = {};  // indexed by Conversion
PyObject* leaked_tracer_class = nullptr;
PyObject* boolean_index_class = nullptr;

constexpr const char* kNoMemory = "there is not enough memory";

PyObject* class_of(const Error& error) {
  if (dynamic_cast<const TypeError*>(&error)) return PyExc_TypeError;
  if (dynamic_cast<const NameError*>(&error)) return PyExc_NameError;
  if (dynamic_cast<const OverflowError*>(&error)) return PyExc_OverflowError;
  if (dynamic_cast<const FloatingPointError*>(&error)) return PyExc_FloatingPointError;
  if (dynamic_cast<const testing::CheckError*>(&error)) return PyExc_AssertionError;
  if (const auto* conversion = dynamic_cast<const TracerConversionError*>(&error)) {
    return conversion_classes[static_cast<size_t>(conversion->conversion())];
  }
  if (dynamic_cast<const ConcretizationError*>(&error)) return concretization_class;
  if (dynamic_cast<const LeakedTracerError*>(&error)) return leaked_tracer_class;
  if (dynamic_cast<const NonConcreteBooleanIndexError*>(&error)) return boolean_index_class;
  switch (error.code()) {
    case ErrorCode::kInvalidArgument:
      return PyExc_ValueError;
    case ErrorCode::kOutOfRange:
      return PyExc_IndexError;
    case ErrorCode::kUnimplemented:
      return PyExc_NotImplementedError;
    case ErrorCode::kResourceExhausted:
      return PyExc_MemoryError;
    default:
      return PyExc_RuntimeError;
  }
}

void set_ffi_error(const FfiError& error) {
  try {
    nb::object value = nb::handle(ffi_error_class)(from_text(error.message()));
    const std::string_view code = error_code_name(error.code());
    value.attr("code") = nb::str(code.data(), code.size());
    value.attr("target_name") = from_text(error.target_name());
    value.attr("message") = from_text(error.detail());
    PyErr_SetObject(ffi_error_class, value.ptr());
  } catch (nb::python_error& raised) {
    raised.restore();
  }
}

void set_error(const Error& error) {
  if (const auto* ffi = dynamic_cast<const FfiError*>(&error)) return set_ffi_error(*ffi);
  try {
    PyErr_SetObject(class_of(error), from_text(error.message()).ptr());
  } catch (nb::python_error& raised) {
    raised.restore();
  }
}

PyObject* add_class(nb::module_& module, const char* name, PyObject* base, const char* doc) {
  const std::string full = std::string("farcall.") + name;
  PyObject* made = PyErr_NewExceptionWithDoc(full.c_str(), doc, base, nullptr);
  if (!made) nb::raise_python_error();
  module.attr(name) = nb::handle(made);
  return made;
}

}  // namespace

void set_python_error() {
  try {
    throw;
  } catch (nb::python_error& raised) {
    raised.restore();
  } catch (const Error& error) {
    set_error(error);
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, kNoMemory);
  } catch (const std::length_error&) {
    PyErr_SetString(PyExc_MemoryError, kNoMemory);  // a container beyond the maximal size
  } catch (const std::bad_cast&) {
    PyErr_SetString(PyExc_TypeError, "an object has the wrong type");
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "a C++ exception of an unknown type was raised");
  }
}

void bind_errors(nb::module_& module) {
  ffi_error_class = add_class(module, "FfiError", PyExc_RuntimeError,
                              "A foreign call failed.\n\n"
                              "Attributes: code (the canonical name, such as 'INVALID_ARGUMENT'), "
                              "target_name, and message,\n"
                              "the handler's own text.");
  concretization_class =
      add_class(module, "ConcretizationTypeError", PyExc_TypeError,
                "The value of a traced array was needed while a function was recorded.");
  const auto add_conversion = [&](Conversion conversion, const char* name, const char* doc) {
    conversion_classes[static_cast<size_t>(conversion)] =
        add_class(module, name, concretization_class, doc);
  };
  add_conversion(Conversion::kBool, "TracerBoolConversionError",
                 "A traced array was used as a condition of Python's control flow.");
  add_conversion(Conversion::kIndex, "TracerIntegerConversionError",
                 "A traced array was used where Python needs an integer.");
  add_conversion(Conversion::kNumpyArray, "TracerArrayConversionError",
                 "A traced array was passed to numpy.");
  leaked_tracer_class =
      add_class(module, "UnexpectedTracerError", PyExc_RuntimeError,
                "A traced array was used outside the function that it belongs to.");
  boolean_index_class =
      add_class(module, "NonConcreteBooleanIndexError", PyExc_IndexError,
                "A traced array of bools was used as a mask while a function was recorded.");
  nb::register_exception_translator(
      [](const std::exception_ptr& pointer, void*) {
        try {
          std::rethrow_exception(pointer);
        } catch (const Error& error) {
          set_error(error);
        } catch (const std::bad_alloc&) {
          set_python_error();
        } catch (const std::length_error&) {
          set_python_error();
        } catch (const std::bad_cast&) {
          set_python_error();
        }
      },
      nullptr);
}

}  // namespace farcall::python
