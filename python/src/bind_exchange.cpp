// Programs for other libraries: as handlers, and with the transformations that those libraries
// need.
#include "bind.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/exchange/export_handler.h>
#include <farcall/exchange/tvm_ffi.h>
#include <farcall/trace/derive.h>

#include "attributes.h"
#include "bind_program.h"
#include "interpreter_lock.h"

namespace farcall::python {
namespace {

using ProgramObject = std::shared_ptr<Program>;

ProgramObject object_of(const ProgramPtr& program) {
  return std::const_pointer_cast<Program>(program);
}

nb::object capsule_of(FARCALL_FFI_Handler* handler) {
  return nb::steal(PyCapsule_New(reinterpret_cast<void*>(handler), nullptr, nullptr));
}

// Converts a Python exception to Error, for callers outside Python.
[[noreturn]] void raise_as_error(const nb::python_error& error) {
  const std::pair<PyObject*, ErrorCode> codes[] = {
      {PyExc_NotImplementedError, ErrorCode::kUnimplemented},
      {PyExc_ValueError, ErrorCode::kInvalidArgument},
      {PyExc_TypeError, ErrorCode::kInvalidArgument},
      {PyExc_MemoryError, ErrorCode::kResourceExhausted},
  };
  ErrorCode code = ErrorCode::kInternal;
  for (const auto& [type, its_code] : codes) {
    if (error.matches(type)) {
      code = its_code;
      break;
    }
  }
  throw Error(code, fmt::format("{}: {}", nb::type_name(error.type()).c_str(),
                                nb::str(error.value()).c_str()));
}

// `record` returns the Program for the ShapeDtypeStructs of the operands, those of the results, and
// the call's attributes as a dict.
RecordForCall recorder(nb::callable record) {
  const auto held = share(std::move(record));
  return [held](std::span<const ShapeDtype> operands, std::span<const ShapeDtype> results,
                const Attributes& attributes) -> ProgramPtr {
    const WithLock lock;
    try {
      return nb::cast<ProgramObject>(
          (*held)(type_list(operands), type_list(results), from_attributes(attributes)));
    } catch (const nb::python_error& error) {
      raise_as_error(error);
    }
  };
}

// A compiled program that runs on raw addresses.
class Runner {
 public:
  explicit Runner(const ProgramObject& program) : executable_(compile(program, host_device())) {}

  void operator()(const std::vector<size_t>& inputs, const std::vector<size_t>& outputs) const {
    FARCALL_ASSERT(inputs.size() == executable_->input_types().size());
    FARCALL_ASSERT(outputs.size() == executable_->output_types().size());
    std::vector<const void*> sources;
    std::vector<void*> results;
    for (const size_t input : inputs) sources.push_back(reinterpret_cast<const void*>(input));
    for (const size_t output : outputs) results.push_back(reinterpret_cast<void*>(output));
    const WithoutLock without;
    run_on_memory(*executable_, sources, results);
  }

 private:
  std::shared_ptr<const Executable> executable_;
};

nb::dict handlers_of_programs() {
  const HandlerBundle bundle = program_handlers();
  nb::dict stages;
  stages["instantiate"] = capsule_of(bundle.instantiate);
  stages["execute"] = capsule_of(bundle.execute);
  return stages;
}

// Returns the program with residuals as additional outputs; the tangent program, which takes the
// residuals and the tangents of the inputs that vary; and which outputs vary.
nb::tuple linearized(const ProgramObject& program, const std::vector<bool>& varies) {
  const ProgramJvp jvp = jvp_program(program, varies);
  std::vector<bool> is_unknown(program->inputs.size(), false),
      force(program->outputs.size(), false);
  is_unknown.resize(jvp.program->inputs.size(), true);
  force.resize(jvp.program->outputs.size(), true);
  const ProgramPartialEval split = partial_eval_program(jvp.program, is_unknown, force);
  for (size_t i = 0; i < program->outputs.size(); ++i) {
    if (!split.is_unknown[i]) continue;
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("{}: result {} cannot be computed separately from its derivative",
                            program->name, i));
  }
  return nb::make_tuple(object_of(split.known), object_of(split.unknown), jvp.varies);
}

// The transpose: takes the nonlinear inputs and the present cotangents, and returns the cotangents
// of all linear inputs.
ProgramObject transposed(const ProgramObject& program, const std::vector<bool>& is_linear,
                         const std::vector<bool>& has_cotangent) {
  return object_of(transpose_program(program, is_linear, has_cotangent, is_linear).program);
}

// An axis of -1 marks an unbatched input. All outputs are batched along dimension 0.
ProgramObject batched(const ProgramObject& program, int64_t size, std::vector<int64_t> axes) {
  const std::vector<bool> all(program->outputs.size(), true);
  return object_of(batch_program(program, {size, ""}, std::move(axes), all).program);
}

}  // namespace

void bind_exchange(nb::module_& module) {
  module.def("export_program", [](const std::string& name, const ProgramObject& program) {
    return capsule_of(export_handler(name, ProgramPtr(program)));
  });
  module.def("export_recorded", [](const std::string& name, nb::callable record,
                                   std::vector<std::string> attributes) {
    return capsule_of(export_handler(name, recorder(std::move(record)), std::move(attributes)));
  });
  module.def("program_handlers", handlers_of_programs);
  nb::class_<Runner>(module, "Runner")
      .def(nb::init<const ProgramObject&>())
      .def("__call__", &Runner::operator());
  module.def("linearized", linearized);
  module.def("transposed", transposed);
  module.def("batched", batched);
  module.def("load_tvm_ffi", load_tvm_ffi);
  module.def("register_tvm_function",
             [](const std::string& name, size_t function, std::vector<std::string> arguments) {
               register_tvm_function(name, reinterpret_cast<void*>(function), std::move(arguments));
             });
  module.def("export_program_to_tvm", [](const std::string& global_name, const std::string& name,
                                         const ProgramObject& program) {
    export_to_tvm(global_name, name, ProgramPtr(program));
  });
  module.def("export_recorded_to_tvm", [](const std::string& global_name, const std::string& name,
                                          size_t num_results, nb::callable record) {
    export_to_tvm(global_name, name, num_results, recorder(std::move(record)));
  });
}

}  // namespace farcall::python
