// The checks of farcall.testing, for Python functions over pytrees.
#include "bind.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <farcall/ops/checks.h>

#include "bound_function.h"
#include "convert.h"
#include "errors.h"
#include "python_call.h"
#include "text.h"

namespace farcall::python {
namespace {

namespace checks = farcall::testing;

// All positional arguments may vary; keyword arguments are passed unchanged.
CallArguments positional_arguments(nb::tuple args, nb::dict attributes) {
  std::vector<size_t> all(nb::len(args));
  std::iota(all.begin(), all.end(), size_t{0});
  return choose_arguments(std::move(args), std::move(attributes), all);
}

// A tolerance or a step.
std::optional<double> optional_number(nb::handle object, const std::string& where,
                                      const char* name) {
  return Argument<std::optional<double>>::from(object, {where, name});
}

// Sets the modes: "fwd", "rev", or a sequence of these.
void set_modes(checks::DerivativeChecks& options, nb::handle modes, const std::string& where) {
  const auto names = nb::isinstance<nb::str>(modes)
                         ? std::vector{nb::cast<std::string>(modes)}
                         : to_option<std::vector<std::string>>(modes, where + ": modes",
                                                               "\"fwd\", \"rev\" or both");
  options.forward = std::ranges::find(names, "fwd") != names.end();
  options.reverse = std::ranges::find(names, "rev") != names.end();
  const auto is_known = [](const std::string& name) { return name == "fwd" || name == "rev"; };
  if (!names.empty() && std::ranges::all_of(names, is_known)) return;
  invalid_argument(
      fmt::format("{}: modes must be \"fwd\", \"rev\" or both, got {}", where, repr_of(modes)));
}

void check_derivatives(nb::handle function, const std::string& where, nb::tuple args,
                       nb::dict attributes, int64_t order, nb::handle modes, nb::handle atol,
                       nb::handle rtol, nb::handle eps) {
  checks::DerivativeChecks options{.order = order,
                                   .atol = optional_number(atol, where, "atol"),
                                   .rtol = optional_number(rtol, where, "rtol"),
                                   .step = optional_number(eps, where, "eps")};
  set_modes(options, modes, where);
  const CallArguments arguments = positional_arguments(std::move(args), std::move(attributes));
  PythonCall call(function, where, arguments, leaves_to_arrays(where, arguments));
  checks::detail::check_derivatives(call, positional_tree(arguments), options);
}

// Raises AssertionError, with the exception that is being handled as its cause.
void report_error(const std::string& where) {
  set_python_error();
  nb::python_error error;
  if (!error.matches(PyExc_Exception)) {  // KeyboardInterrupt and SystemExit
    error.restore();
  } else {
    const std::string type = display(nb::str(error.type().attr("__name__")));
    const std::string text = display(nb::str(error.value()));
    nb::raise_from(error, PyExc_AssertionError, "%s raised %s: %s", where.c_str(), type.c_str(),
                   text.c_str());
  }
  nb::raise_python_error();
}

void check_batching(nb::handle function, const std::string& where, nb::tuple args,
                    nb::dict attributes, nb::handle in_axes, nb::handle sizes, nb::handle atol,
                    nb::handle rtol) {
  checks::BatchChecks options{.atol = optional_number(atol, where, "atol"),
                              .rtol = optional_number(rtol, where, "rtol")};
  if (!in_axes.is_none()) {
    options.in_axes = to_option<std::vector<std::optional<int64_t>>>(
        in_axes, where + ": in_axes", "a sequence with an int or None for each argument");
  }
  options.sizes =
      to_option<std::array<int64_t, 2>>(sizes, where + ": sizes", "a sequence of two ints");
  const CallArguments arguments = positional_arguments(std::move(args), std::move(attributes));
  PythonCall call(function, where, arguments, leaves_to_arrays(where, arguments));
  checks::detail::check_batching(call, positional_tree(arguments), options, report_error);
}

}  // namespace

void bind_testing(nb::module_& module) {
  module.def("check_derivatives", check_derivatives, nb::arg("function"), nb::arg("where"),
             nb::arg("args"), nb::arg("attributes"), nb::arg("order"), nb::arg("modes"),
             nb::arg("atol").none(), nb::arg("rtol").none(), nb::arg("eps").none());
  module.def("check_batching", check_batching, nb::arg("function"), nb::arg("where"),
             nb::arg("args"), nb::arg("attributes"), nb::arg("in_axes").none(),
             nb::arg("sizes").none(), nb::arg("atol").none(), nb::arg("rtol").none());
}

}  // namespace farcall::python
