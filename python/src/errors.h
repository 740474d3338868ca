// Between C++ exceptions and Python's.
#pragma once

#include <nanobind/nanobind.h>

#include <type_traits>

namespace farcall::python {

namespace nb = nanobind;

// Adds the exception classes to the module and the translation of farcall::Error.
void bind_errors(nb::module_& module);

// Sets the Python error for the C++ exception that is being handled. For functions that CPython
// calls directly: `catch (...) { set_python_error(); return nullptr; }`.
void set_python_error();

// What a function for CPython returns, or with the Python error set what tells of one: null or -1.
template <class F>
auto guarded(F&& f) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (...) {
    set_python_error();
    if constexpr (std::is_pointer_v<decltype(f())>) {
      return nullptr;
    } else {
      return -1;
    }
  }
}

}  // namespace farcall::python
