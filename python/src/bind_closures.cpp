// Closure conversion, and evaluation at recording time.
#include "bind.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/trace/compile_time.h>

#include "array_object.h"
#include "bind_program.h"
#include "convert.h"
#include "traced_function.h"

namespace farcall::python {
namespace {

// Returns the program, the structure of its result, and the traced arrays that the function closed
// over, which are the program's first inputs.
nb::tuple trace_closure(nb::handle function, const std::string& where, const std::string& name,
                        nb::tuple args) {
  const CallArguments arguments = all_arguments(args, nb::dict());
  const auto types = leaves_to_types(where, arguments);
  const farcall::detail::TracedFunction traced = trace(function, where, name, arguments, types);
  nb::list captured;
  for (const Array& array : traced.captured) captured.append(wrap_object(array));
  return nb::make_tuple(std::const_pointer_cast<Program>(traced.program), traced.result, captured);
}

thread_local std::vector<std::unique_ptr<CompileTimeEval>> compile_time;

}  // namespace

void bind_closures(nb::module_& module) {
  module.def("trace_closure", trace_closure);
  module.def("enter_compile_time_eval",
             [] { compile_time.push_back(std::make_unique<CompileTimeEval>()); });
  module.def("leave_compile_time_eval", [] {
    if (compile_time.empty()) {
      throw Error(ErrorCode::kFailedPrecondition,
                  "ensure_compile_time_eval: left on another thread than it was entered on");
    }
    compile_time.pop_back();
  });
}

}  // namespace farcall::python
