// Programs as Python values.
#include "bind.h"

#include <cerrno>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <farcall/core/file.h>
#include <farcall/program/draw.h>
#include <farcall/program/program.h>
#include <farcall/program/save.h>
#include <farcall/program/text.h>
#include <farcall/program/verify.h>
#include <farcall/trace/jit.h>

#include "array_object.h"
#include "attributes.h"
#include "bind_program.h"
#include "call.h"
#include "convert.h"

namespace farcall::python {
namespace {

// Runs a program without transforming it first, for programs that came from text.
nb::list run_program(const Program& self, nb::args args) {
  std::vector<Array> inputs;
  for (nb::handle arg : args) {
    inputs.push_back(to_array(arg, "program: input " + std::to_string(inputs.size())));
  }
  nb::list list;
  for (Array& output : evaluate(self, inputs)) list.append(wrap_object(std::move(output)));
  return list;
}

nb::bytes serialize(const Program& self, nb::dict metadata) {
  const std::string bytes = serialize_program(self, {to_attributes(metadata, "metadata")});
  return nb::bytes(bytes.data(), bytes.size());
}

// Returns the program, the metadata, and the problems with its foreign targets.
nb::tuple deserialize(nb::bytes bytes, bool strict) {
  LoadedProgram loaded = deserialize_program({bytes.c_str(), bytes.size()}, {strict});
  return nb::make_tuple(std::const_pointer_cast<Program>(loaded.program),
                        from_attributes(loaded.metadata), loaded.problems);
}

void replace_file_or_raise(nb::bytes path, nb::bytes data) {
  const std::error_code error =
      replace_file({path.c_str(), path.size()}, {data.c_str(), data.size()});
  if (!error) return;
  errno = error.value();
  PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
  nb::raise_python_error();
}

}  // namespace

void bind_program(nb::module_& module) {
  nb::class_<Program> program(module, "Program", nb::is_weak_referenceable(),
                              "A typed list of equations, made by recording a function.");
  program
      .def("__str__",
           [](const Program& self) { return to_text(self, {.max_constant_elements = 16}); })
      .def("__repr__",
           [](const Program& self) { return to_text(self, {.max_constant_elements = 16}); })
      .def(
          "to_text", [](const Program& self) { return to_text(self); },
          "The text from which parse_program makes an equal program.")
      .def(
          "__eq__",
          [](const Program& self, nb::handle other) {
            return nb::isinstance<Program>(other) && self == nb::cast<const Program&>(other);
          },
          nb::arg("other").none())
      .def("__reduce__",
           [](const Program& self) {
             nb::object rebuild = nb::module_::import_("farcall._program").attr("_rebuild");
             return nb::make_tuple(rebuild, nb::make_tuple(serialize(self, {})));
           })
      .def("__hash__",
           [](const Program& self) { return static_cast<Py_hash_t>(hash_of(self) >> 1); })
      .def(
          "serialize", [](const Program& self) { return serialize(self, {}); },
          "The bytes from which farcall.deserialize makes an equal program.")
      .def("_serialize", serialize)
      .def("cost_analysis", [](const Program& self) { return cost_dict(self.cost()); })
      .def(
          "to_dot",
          [](const Program& self, size_t max_equations) { return to_dot(self, {max_equations}); },
          nb::arg("max_equations") = DrawOptions().max_equations,
          "A drawing for Graphviz; nested programs are clusters.")
      .def(
          "to_svg",
          [](const Program& self, size_t max_equations) { return to_svg(self, {max_equations}); },
          nb::arg("max_equations") = DrawOptions().max_equations, "A drawing.")
      .def("_repr_svg_", [](const Program& self) { return to_svg(self); })
      .def("__call__", run_program, "Evaluates the equations; returns the list of outputs.")
      .def("verify", [](const Program& self) { verify(self); })
      .def_prop_ro("in_avals", [](const Program& self) { return type_list(self.input_types()); })
      .def_prop_ro("out_avals", [](const Program& self) { return type_list(self.output_types()); })
      .def_prop_ro("num_equations", [](const Program& self) { return self.equations.size(); })
      .def_prop_ro("primitives", [](const Program& self) {
        std::vector<std::string> names;
        for (const Equation& equation : self.equations)
          names.emplace_back(equation.primitive->name);
        return names;
      });
  bind_equations(module, program);
  module.def("_primitive_names", [] {
    std::vector<std::string> names;
    for (const Primitive* primitive : all_primitives()) names.emplace_back(primitive->name);
    return names;
  });
  module.def("replace_file", replace_file_or_raise, nb::arg("path"), nb::arg("data"));
  module.def("deserialize_program", deserialize, nb::arg("data"), nb::arg("strict"));
  module.def("parse_program", [](const std::string& text) {
    return std::const_pointer_cast<Program>(parse_program(text));
  });
}

}  // namespace farcall::python
