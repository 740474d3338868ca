#include "lowered.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/text.h>
#include <farcall/stablehlo/stablehlo.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/mesh_layout.h>
#include <farcall/trace/placement.h>

#include "array_object.h"
#include "bind_program.h"
#include "callbacks/owned_functions.h"
#include "convert.h"
#include "shardings.h"

namespace farcall::python {
namespace {

struct Compiled {
  Lowered lowered;
  std::shared_ptr<const Executable> executable;

  nb::object operator()(nb::args args, nb::kwargs kwargs) const {
    const auto& call = lowered.call;
    const CallArguments arguments = sort_arguments(call.where, lowered.statics, args, kwargs);
    const std::vector<Array> inputs = leaves_to_arrays(call.where, arguments);
    const auto name_of = [&](size_t leaf) { return describe_leaf(arguments, leaf); };
    return unflatten_arrays(call.result, call.run(*executable, arguments.tree, inputs, name_of));
  }
};

using farcall::detail::ArgumentPlace;

ArgumentPlace place_of_leaf(nb::handle leaf) {
  if (is_array(leaf.ptr())) return farcall::detail::place_of(array_of(leaf.ptr()));
  if (!nb::isinstance<ShapeDtype>(leaf)) return {};
  const nb::object sharding = leaf.attr("sharding");
  if (sharding.is_none()) return {};
  const nb::object found = nb::module_::import_("farcall._sharding").attr("in_core")(sharding);
  if (found.is_none()) return {};
  if (nb::isinstance<nb::tuple>(found)) {
    return farcall::detail::place_over(to_sharding(nb::cast<nb::tuple>(found)));
  }
  return {{&nb::cast<const Device&>(found)}};
}

// The sharding over a mesh, in Python's form, else the device.
nb::list shardings_list(const Shardings& shardings, const Device& device) {
  nb::list list;
  for (const auto& sharding : shardings) {
    list.append(sharding ? nb::object(from_sharding(*sharding))
                         : nb::cast(&device, nb::rv_policy::reference));
  }
  return list;
}

// Shardings in Python's form, or None. Empty if all are None.
Shardings to_shardings(const nb::list& given) {
  Shardings all;
  bool is_any = false;
  for (nb::handle one : given) {
    is_any = is_any || !one.is_none();
    all.push_back(one.is_none() ? std::nullopt
                                : std::optional(to_sharding(nb::cast<nb::tuple>(one))));
  }
  return is_any ? all : Shardings();
}

// Callbacks may refer to objects that hold the program. No tp_clear: function objects break such
// cycles.
int traverse_lowered(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const HeldProgram held[] = {{nb::inst_ptr<Lowered>(self)->call.program, {}}};
  return visit_owned_functions(held, visit, arg);
}

int traverse_compiled(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const auto* compiled = nb::inst_ptr<Compiled>(self);
  const HeldProgram held[] = {{compiled->lowered.call.program, {&compiled->executable, 1}}};
  return visit_owned_functions(held, visit, arg);
}

PyType_Slot lowered_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_lowered)},
                               {0, nullptr}};
PyType_Slot compiled_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_compiled)},
                                {0, nullptr}};

std::string as_text(const Lowered& self, const std::optional<std::string>& dialect) {
  if (!dialect || *dialect == "farcall" || *dialect == "jaxpr") return to_text(*self.call.program);
  if (*dialect == "stablehlo") {
    const auto layout = mesh_layout(*self.call.program, self.call.input_shardings());
    return to_stablehlo(self.call.program, "cpu", layout ? &*layout : nullptr);
  }
  invalid_argument(
      fmt::format("as_text: dialect must be \"farcall\", \"jaxpr\" (the same), "
                  "\"stablehlo\" or None, got \"{}\"",
                  *dialect));
}

nb::object unflatten_types(const TreeDef& tree, std::span<const ShapeDtype> types) {
  std::vector<nb::object> leaves;
  for (const ShapeDtype& type : types) leaves.push_back(nb::cast(type));
  return unflatten(tree, leaves);
}

nb::list donated_list(const Lowered& self) {
  nb::list list;
  for (size_t i = 0; i < self.call.program->inputs.size(); ++i) {
    list.append(nb::bool_(!self.call.donated.empty() && self.call.donated[i]));
  }
  return list;
}

// The members that Lowered and Compiled share; `lowered` gets the Lowered of either.
template <class Class, class Get>
void bind_description(nb::class_<Class>& bound, Get lowered) {
  bound
      .def(
          "as_text",
          [lowered](const Class& self, const std::optional<std::string>& dialect) {
            return as_text(lowered(self), dialect);
          },
          nb::arg("dialect").none() = nb::none())
      .def("cost_analysis",
           [lowered](const Class& self) { return cost_dict(lowered(self).call.program->cost()); })
      .def_prop_ro("program",
                   [lowered](const Class& self) {
                     return std::const_pointer_cast<Program>(lowered(self).call.program);
                   })
      .def_prop_ro("in_tree", [=](const Class& self) { return lowered(self).call.arguments; })
      .def_prop_ro("out_tree", [=](const Class& self) { return lowered(self).call.result; })
      .def_prop_ro("in_avals",
                   [lowered](const Class& self) {
                     const auto& all = lowered(self).call;
                     return unflatten_types(all.arguments, all.program->input_types());
                   })
      .def_prop_ro("out_avals",
                   [lowered](const Class& self) {
                     const auto& all = lowered(self).call;
                     return unflatten_types(all.result, all.program->output_types());
                   })
      .def_prop_ro("_out_shardings",
                   [lowered](const Class& self) {
                     nb::list list;
                     for (const auto& sharding : lowered(self).call.out_shardings) {
                       list.append(sharding ? nb::object(from_sharding(*sharding)) : nb::none());
                     }
                     return list;
                   })
      .def_prop_ro("_donated", [lowered](const Class& self) { return donated_list(lowered(self)); })
      .def_prop_ro("_where", [lowered](const Class& self) { return lowered(self).call.where; });
}

}  // namespace

void place_for(Lowered& lowered, const nb::list& in_shardings, const CallArguments& arguments) {
  std::vector<ArgumentPlace> places;
  for (const auto& leaf : arguments.leaves) places.push_back(place_of_leaf(leaf));
  lowered.call.place(to_shardings(in_shardings), std::move(places),
                     [&](size_t leaf) { return describe_leaf(arguments, leaf); });
}

void bind_lowered(nb::module_& module) {
  nb::class_<Lowered> lowered(module, "Lowered", nb::type_slots(lowered_slots),
                              "A program recorded by jit(f).lower(...).");
  bind_description(lowered, [](const Lowered& self) -> const Lowered& { return self; });
  lowered.def("compile", [](const Lowered& self) { return Compiled{self, self.call.compile()}; });
  // Sets the requested shardings of the results.
  lowered.def("_place_results", [](Lowered& self, const nb::list& out_shardings) {
    self.call.out_shardings = to_shardings(out_shardings);
  });

  nb::class_<MemoryUse>(module, "CompiledMemoryStats", "The bytes that running a program takes.")
      .def_ro("argument_size_in_bytes", &MemoryUse::argument_bytes)
      .def_ro("output_size_in_bytes", &MemoryUse::output_bytes)
      .def_ro("alias_size_in_bytes", &MemoryUse::alias_bytes)
      .def_ro("temp_size_in_bytes", &MemoryUse::temp_bytes)
      .def_ro("constant_size_in_bytes", &MemoryUse::constant_bytes)
      .def_ro("generated_code_size_in_bytes", &MemoryUse::generated_code_bytes)
      .def("__repr__", [](const MemoryUse& self) {
        return fmt::format(
            "CompiledMemoryStats(argument_size_in_bytes={}, output_size_in_bytes={}, "
            "alias_size_in_bytes={}, temp_size_in_bytes={}, constant_size_in_bytes={}, "
            "generated_code_size_in_bytes={})",
            self.argument_bytes, self.output_bytes, self.alias_bytes, self.temp_bytes,
            self.constant_bytes, self.generated_code_bytes);
      });

  nb::class_<Compiled> compiled(module, "Compiled", nb::type_slots(compiled_slots),
                                "An executable with the structure of its arguments.");
  bind_description(compiled, [](const Compiled& self) -> const Lowered& { return self.lowered; });
  compiled.def("__call__", &Compiled::operator())
      .def("_input_shardings",
           [](const Compiled& self) {
             return shardings_list(self.lowered.call.input_shardings(), self.executable->device());
           })
      .def("_output_shardings",
           [](const Compiled& self) {
             return shardings_list(self.lowered.call.output_shardings(self.executable),
                                   self.executable->device());
           })
      .def_prop_ro("optimized_program",
                   [](const Compiled& self) {
                     const auto run = self.lowered.call.divided(self.executable);
                     return std::const_pointer_cast<Program>(run.executable->optimized_program());
                   })
      .def("memory_analysis", [](const Compiled& self) { return self.executable->memory(); })
      .def("report", [](const Compiled& self) {
        return report_object(self.lowered.call.divided(self.executable));
      });
}

}  // namespace farcall::python
