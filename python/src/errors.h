// Translation between C++ and Python exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <type_traits>

#include <farcall/core/error.h>

namespace farcall::python {

namespace nb = nanobind;

// Conversions by Python that need known values.
enum class Conversion { kBool, kIndex, kNumpyArray };

// A traced array was converted. Each conversion has its own exception class in Python, as in JAX.
class TracerConversionError : public ConcretizationError {
 public:
  TracerConversionError(Conversion conversion, std::string message)
      : ConcretizationError(std::move(message)), conversion_(conversion) {}
  Conversion conversion() const { return conversion_; }
  [[noreturn]] void raise_with(std::string message) const override {
    throw TracerConversionError(conversion_, std::move(message));
  }

 private:
  Conversion conversion_;
};

// Adds the exception classes, and the translation of farcall::Error, to the module.
void bind_errors(nb::module_& module);

// Sets the Python error for the C++ exception that is being handled, for functions that CPython
// calls directly: `catch (...) { set_python_error(); return nullptr; }`.
void set_python_error();

// Returns f() to CPython; on an exception sets the Python error and returns null or -1.
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
