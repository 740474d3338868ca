// buffer_callback, pure_callback, io_callback and debug.callback.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/ops/callback.h>
#include <farcall/trace/interpreter.h>

#include "array_object.h"
#include "callbacks/buffer_object.h"
#include "callbacks/python_function.h"
#include "convert.h"
#include "traced_function.h"

namespace farcall::python {
namespace {

// What is known of a callback before it is called with arguments.
struct Declaration {
  CallbackKind kind;
  nb::object function;
  std::string name, what;
  TreeDef result;
  std::vector<ShapeDtype> result_types;
  CallbackOptions options;
};

Declaration declare(CallbackKind kind, nb::object function, nb::handle result_shape_dtypes,
                    CallbackOptions options) {
  const std::string_view front = callback_kind_name(kind);
  if (!PyCallable_Check(function.ptr())) {
    throw TypeError(fmt::format("{}: callback must be callable, got {} of type {}", front,
                                repr_of(function), Py_TYPE(function.ptr())->tp_name));
  }
  Declaration d{kind, std::move(function), {}, {}, {}, {}, std::move(options)};
  d.name = name_of_function(d.function);
  d.what = front;
  d.what.append(" ").append(d.name);
  std::vector<nb::object> leaves;
  d.result = flatten_tree(result_shape_dtypes, leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
    d.result_types.push_back(to_shape_dtype(
        leaves[i], fmt::format("{}: result_shape_dtypes{}", d.what, leaf_path(d.result, i))));
  }
  check_callback_options(d.what, d.result_types, d.options);
  return d;
}

PythonFunction with_arguments(const Declaration& d, TreeDef arguments) {
  PythonFunction f{d.kind,   d.function,     d.name, std::move(arguments),
                   d.result, d.result_types, {},     {}};
  f.where = current_location();
  f.is_command_buffer_compatible = d.options.command_buffer_compatible;
  return f;
}

nb::object call_declared(const Declaration& d, const CallbackPtr& callback,
                         std::span<const Array> inputs) {
  return unflatten_arrays(d.result,
                          bind_callback(d.kind, callback, inputs, d.result_types, d.options));
}

// Each call creates a new callback, so that its program is its only owner, as the cycle collector
// requires.
struct BufferCallbackFront {
  Declaration declaration;

  nb::object operator()(nb::args args, nb::kwargs kwargs) const {
    const CallArguments given = all_arguments(args, kwargs);
    const std::vector<Array> inputs = leaves_to_arrays(declaration.what, given);
    return call_declared(declaration, make_python_callback(with_arguments(declaration, given.tree)),
                         inputs);
  }
};

int traverse_front(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  Py_VISIT(nb::inst_ptr<BufferCallbackFront>(self)->declaration.function.ptr());
  return 0;
}

// No tp_clear: every cycle goes through a function object, whose tp_clear breaks it.
PyType_Slot front_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_front)},
                             {0, nullptr}};

BufferCallbackFront make_buffer_callback(nb::object function, nb::object result_shape_dtypes,
                                         bool has_side_effect,
                                         std::optional<std::string> vmap_method, nb::object aliases,
                                         bool command_buffer_compatible) {
  CallbackOptions options;
  options.has_side_effect = has_side_effect;
  options.vmap_method = std::move(vmap_method);
  options.input_output_aliases = to_aliases(aliases, "buffer_callback: input_output_aliases");
  options.command_buffer_compatible = command_buffer_compatible;
  return {
      declare(CallbackKind::kBuffer, std::move(function), result_shape_dtypes, std::move(options))};
}

nb::object call_on_arrays(CallbackKind kind, nb::object function, nb::handle result_shape_dtypes,
                          CallbackOptions options, nb::tuple args, nb::dict kwargs) {
  const Declaration d = declare(kind, std::move(function), result_shape_dtypes, std::move(options));
  const CallArguments given = all_arguments(args, kwargs);
  const std::vector<Array> inputs = leaves_to_arrays(d.what, given);
  return call_declared(d, make_python_callback(with_arguments(d, given.tree)), inputs);
}

nb::object pure_callback(nb::object function, nb::object result_shape_dtypes,
                         std::optional<std::string> vmap_method, nb::tuple args, nb::dict kwargs) {
  CallbackOptions options;
  options.vmap_method = std::move(vmap_method);
  return call_on_arrays(CallbackKind::kPure, std::move(function), result_shape_dtypes,
                        std::move(options), args, kwargs);
}

nb::object io_callback(nb::object function, nb::object result_shape_dtypes, bool ordered,
                       std::optional<std::string> vmap_method, nb::tuple args, nb::dict kwargs) {
  CallbackOptions options;
  options.is_ordered = ordered;
  options.vmap_method = std::move(vmap_method);
  return call_on_arrays(CallbackKind::kIo, std::move(function), result_shape_dtypes,
                        std::move(options), args, kwargs);
}

// Arguments that are not arrays are passed to the function unchanged.
void debug_callback(nb::object function, bool ordered, nb::tuple args, nb::dict kwargs) {
  CallbackOptions options;
  options.is_ordered = ordered;
  const Declaration d =
      declare(CallbackKind::kDebug, std::move(function), nb::none(), std::move(options));
  const CallArguments given = all_arguments(args, kwargs);
  PythonFunction f = with_arguments(d, given.tree);
  f.result = std::nullopt;
  std::vector<Array> inputs;
  for (size_t i = 0; i < given.leaves.size(); ++i) {
    Array array = try_to_array(given.leaves[i]);
    if (array.is_null()) {
      f.statics.emplace_back(i, given.leaves[i]);
    } else {
      inputs.push_back(std::move(array));
    }
  }
  bind_callback(d.kind, make_python_callback(std::move(f)), inputs, {}, d.options);
}

}  // namespace

void bind_callbacks(nb::module_& module) {
  set_interrupt_check(check_signals);
  bind_buffers(module);
  nb::class_<BufferCallbackFront>(module, "BufferCallback", nb::type_slots(front_slots),
                                  "A buffer callback with its options; call it with arrays.")
      .def("__call__", &BufferCallbackFront::operator())
      .def("__repr__", [](const BufferCallbackFront& self) {
        return fmt::format("<{}>", self.declaration.what);
      });
  module.def("make_buffer_callback", make_buffer_callback, nb::arg().none(), nb::arg().none(),
             nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg());
  module.def("pure_callback", pure_callback, nb::arg().none(), nb::arg().none(), nb::arg().none(),
             nb::arg(), nb::arg());
  module.def("io_callback", io_callback, nb::arg().none(), nb::arg().none(), nb::arg(),
             nb::arg().none(), nb::arg(), nb::arg());
  module.def("debug_callback", debug_callback, nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
}

}  // namespace farcall::python
