#include "argument_errors.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include "errors.h"
#include "text.h"

namespace farcall::python {
namespace {

// Each of nanobind's function objects holds a pointer to a vectorcall function. There are only a
// few different ones. This file replaces the pointer in each object by a wrapper that calls the
// original. A wrapper gets no data of its own, so there is one for each original: an instance of a
// template, numbered like the original in `original_calls`.
constexpr size_t kMaxCalls = 8;
std::array<vectorcallfunc, kMaxCalls> original_calls{};

vectorcallfunc& call_of(PyObject* function) {
  const Py_ssize_t offset = Py_TYPE(function)->tp_vectorcall_offset;
  return *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(function) + offset);
}

// True if nanobind found that the arguments match no signature. It raises a plain TypeError, which
// only its text distinguishes from one that the function itself raised.
bool is_mismatch(const nb::python_error& error) {
  return error.type().is(PyExc_TypeError) &&
         display(nb::str(error.value())).find("(): incompatible function arguments.") !=
             std::string::npos;
}

// The error for these arguments of a function with exactly one signature.
nb::object explanation(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  nb::list positional;
  for (size_t i = 0; i < count; ++i) positional.append(nb::handle(args[i]));
  nb::dict keywords;
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
    keywords[nb::handle(PyTuple_GET_ITEM(names, i))] =
        nb::handle(args[count + static_cast<size_t>(i)]);
  }
  nb::object signature = nb::handle(function).attr("__nb_signature__")[0][0];
  return nb::module_::import_("farcall._argument_errors")
      .attr("explain")(nb::handle(function), signature, nb::tuple(positional), keywords);
}

PyObject* explain(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    nb::python_error error;
    if (!is_mismatch(error)) {
      error.restore();
      return nullptr;
    }
    nb::object raised = explanation(function, args, count, names);
    PyErr_SetObject(raised.type().ptr(), raised.ptr());
    return nullptr;
  });
}

template <size_t which>
PyObject* explained_call(PyObject* function, PyObject* const* args, size_t nargsf,
                         PyObject* names) {
  PyObject* result = original_calls[which](function, args, nargsf, names);
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
  // The upper half of nargsf holds flags of Python and of nanobind.
  return explain(function, args, static_cast<uint32_t>(nargsf), names);
}

template <size_t... which>
constexpr std::array<vectorcallfunc, kMaxCalls> explained(std::index_sequence<which...>) {
  return {explained_call<which>...};
}

void explain_function(PyObject* function) {
  static constexpr auto kExplained = explained(std::make_index_sequence<kMaxCalls>());
  vectorcallfunc& call = call_of(function);
  if (std::ranges::find(kExplained, call) != kExplained.end()) return;
  for (size_t i = 0; i < kMaxCalls; ++i) {
    if (original_calls[i] && original_calls[i] != call) continue;
    original_calls[i] = call;
    call = kExplained[i];
    return;
  }
  throw std::logic_error("more kinds of bound functions than are known");
}

bool is_bound_function(nb::handle object) {
  const std::string_view type = Py_TYPE(object.ptr())->tp_name;
  return type == "nanobind.nb_func" || type == "nanobind.nb_method";
}

void explain_all(nb::handle scope, std::string_view name) {
  for (nb::handle item : nb::list(nb::object(scope.attr("__dict__")).attr("values")())) {
    if (is_bound_function(item)) {
      explain_function(item.ptr());
    } else if (PyType_Check(item.ptr()) && nb::hasattr(item, "__module__")) {
      if (display(nb::str(nb::object(item.attr("__module__")))).starts_with(name)) {
        explain_all(item, name);
      }
    } else if (PyModule_Check(item.ptr())) {
      explain_all(item, name);
    } else if (nb::hasattr(item, "fget") && is_bound_function(nb::object(item.attr("fget")))) {
      explain_function(nb::object(item.attr("fget")).ptr());
    }
  }
}

}  // namespace

void explain_argument_errors(nb::module_& module) {
  explain_all(module, display(nb::str(nb::object(module.attr("__name__")))));
}

}  // namespace farcall::python
