// Equations, variables and literals of programs as Python values.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/type_text.h>
#include <farcall/program/walk.h>
#include <farcall/trace/record.h>

#include "array_object.h"
#include "attributes.h"
#include "bind.h"
#include "bind_program.h"
#include "convert.h"

namespace farcall::python {
namespace {

// Each of these keeps its program alive.
struct ProgramEquation {
  ProgramPtr program;
  const Equation* equation;
};
struct Variable {
  ProgramPtr program;
  uint32_t index;
};
struct ProgramLiteral {
  ProgramPtr program;
  uint32_t index;
};

nb::object program_object(const ProgramPtr& program) {
  return nb::cast(std::const_pointer_cast<Program>(program));
}

nb::object atom_object(const ProgramPtr& program, Atom atom) {
  return atom.is_variable() ? nb::cast(Variable{program, atom.index})
                            : nb::cast(ProgramLiteral{program, atom.index});
}

nb::list variable_list(const ProgramPtr& program, const std::vector<uint32_t>& variables) {
  nb::list list;
  for (const uint32_t variable : variables) list.append(nb::cast(Variable{program, variable}));
  return list;
}

nb::list atom_list(const ProgramPtr& program, const std::vector<Atom>& atoms) {
  nb::list list;
  for (const Atom atom : atoms) list.append(atom_object(program, atom));
  return list;
}

nb::object value_object(const Value& value) {
  struct Convert {
    nb::object operator()(std::monostate) const { return nb::none(); }
    nb::object operator()(bool v) const { return nb::bool_(v); }
    nb::object operator()(int64_t v) const { return nb::int_(v); }
    nb::object operator()(double v) const { return nb::float_(v); }
    // Names may contain any bytes.
    nb::object operator()(const std::string& v) const { return from_attribute(Attribute(v)); }
    nb::object operator()(ShapeDtype v) const { return nb::cast(v); }
    nb::object operator()(const Attributes& v) const { return from_attributes(v); }
    nb::object operator()(const ProgramPtr& v) const { return v ? program_object(v) : nb::none(); }
    nb::object operator()(const ValueList& v) const {
      nb::list list;
      for (const Value& item : v) list.append(value_object(item));
      return nb::tuple(list);
    }
  };
  return std::visit(Convert(), static_cast<const Value::variant&>(value));
}

nb::dict params_dict(const ProgramEquation& self) {
  nb::dict dict;
  if (!self.equation->params) return dict;
  for (const NamedValue& field : self.equation->params->fields()) {
    dict[field.name.c_str()] = value_object(field.value);
  }
  return dict;
}

nb::object effects_set(Effects effects) {
  nb::list names;
  const auto holds = [&](Effects one) {
    return (static_cast<int>(effects) & static_cast<int>(one)) != 0;
  };
  if (holds(Effects::kSideEffect)) names.append("side_effect");
  if (holds(Effects::kOrdered)) names.append("ordered");
  return nb::steal(PyFrozenSet_New(names.ptr()));
}

std::string equation_text(const ProgramEquation& self) {
  std::vector<ShapeDtype> inputs, outputs;
  for (const Atom atom : self.equation->inputs) inputs.push_back(self.program->type_of(atom));
  for (const uint32_t each : self.equation->outputs) {
    outputs.push_back(self.program->variable_types[each]);
  }
  return fmt::format("Equation({}: ({}) -> ({}))", self.equation->primitive->name,
                     types_to_string(inputs), types_to_string(outputs));
}

nb::list equation_list(const ProgramPtr& program) {
  nb::list list;
  for (const Equation& equation : program->equations) {
    list.append(nb::cast(ProgramEquation{program, &equation}));
  }
  return list;
}

void add_walk(const ProgramPtr& program, size_t depth, nb::list& list) {
  for (const Equation& equation : program->equations) {
    list.append(nb::make_tuple(nb::cast(ProgramEquation{program, &equation}), depth));
    for (const NamedProgram& nested : nested_programs(equation)) {
      add_walk(nested.program, depth + 1, list);
    }
  }
}

const Variable& own_variable(const ProgramPtr& program, const Variable& variable,
                             const char* where) {
  if (variable.program.get() == program.get()) return variable;
  invalid_argument(fmt::format("{}: the variable belongs to another program", where));
}

// The equations that use a variable; None stands for the program's outputs.
nb::list users(const ProgramPtr& program, const Variable& variable) {
  own_variable(program, variable, "users");
  nb::list list;
  const Equation* last = nullptr;
  bool is_output = false;
  const std::vector<std::vector<Use>> uses = find_users(*program);
  for (const Use& use : uses[variable.index]) {
    if (use.is_output()) {
      is_output = true;
      continue;
    }
    const Equation* equation = &program->equations[use.equation];
    if (equation != last) list.append(nb::cast(ProgramEquation{program, equation}));
    last = equation;
  }
  if (is_output) list.append(nb::none());
  return list;
}

// The replacement of a variable: another variable, or a number of its type.
Atom replacement(Program& program, const ProgramPtr& original, const Variable& variable,
                 nb::handle value) {
  if (nb::isinstance<Variable>(value)) {
    const auto& other = nb::cast<const Variable&>(value);
    return Atom::variable(own_variable(original, other, "substitute").index);
  }
  if (nb::isinstance<ProgramLiteral>(value)) {
    const auto& literal = nb::cast<const ProgramLiteral&>(value);
    program.literals.push_back(literal.program->literals[literal.index]);
  } else {
    const ShapeDtype type = program.variable_types[variable.index];
    const Array array = to_array(value, "substitute: the value");
    if (!array.is_concrete() || array.type().strengthened() != type.strengthened() ||
        type.rank() != 0) {
      invalid_argument(
          fmt::format("substitute: a variable of type {} cannot become {} of type {}; give "
                      "another variable, or for a scalar a number of its dtype",
                      type.to_string(), repr_of(value), array.type().to_string()));
    }
    Literal literal{type, {}};
    std::memcpy(literal.bytes.data(), array.storage().data(), type.nbytes());
    program.literals.push_back(literal);
  }
  return Atom::literal(static_cast<uint32_t>(program.literals.size() - 1));
}

std::shared_ptr<Program> substitute_variables(const ProgramPtr& self, nb::dict replacements) {
  Program program = *self;
  std::unordered_map<uint32_t, Atom> atoms;
  for (auto [key, value] : replacements) {
    if (!nb::isinstance<Variable>(key)) {
      throw TypeError(fmt::format("substitute: the keys must be variables of the program, got {}",
                                  repr_of(key)));
    }
    const Variable& variable = own_variable(self, nb::cast<const Variable&>(key), "substitute");
    atoms[variable.index] = replacement(program, self, variable, value);
  }
  return std::const_pointer_cast<Program>(substitute(program, atoms));
}

std::string variable_text(const Variable& self) {
  return self.program->variable_types[self.index].to_string();
}

void bind_atoms(nb::module_& module) {
  nb::class_<Variable>(module, "Var", "A variable of a program.")
      .def_prop_ro("aval",
                   [](const Variable& self) { return self.program->variable_types[self.index]; })
      .def_prop_ro("index", [](const Variable& self) { return self.index; })
      .def(
          "__eq__",
          [](const Variable& self, nb::handle other) {
            if (!nb::isinstance<Variable>(other)) return false;
            const auto& variable = nb::cast<const Variable&>(other);
            return self.program.get() == variable.program.get() && self.index == variable.index;
          },
          nb::arg("other").none())
      .def("__hash__",
           [](const Variable& self) {
             const auto address = reinterpret_cast<uintptr_t>(self.program.get());
             return static_cast<Py_hash_t>((address >> 4) + self.index);
           })
      .def("__repr__", [](const Variable& self) {
        return fmt::format("Var({}:{})", self.index, variable_text(self));
      });
  nb::class_<ProgramLiteral>(module, "Literal", "A number written into an equation.")
      .def_prop_ro(
          "aval",
          [](const ProgramLiteral& self) { return self.program->literals[self.index].type; })
      .def_prop_ro("val",
                   [](const ProgramLiteral& self) {
                     return wrap_object(to_array(self.program->literals[self.index]));
                   })
      .def("__repr__", [](const ProgramLiteral& self) {
        nb::object value = wrap_object(to_array(self.program->literals[self.index]));
        return fmt::format("Literal({})", display(nb::str(value)));
      });
}

}  // namespace

void bind_equations(nb::module_& module, nb::class_<Program>& program) {
  bind_atoms(module);
  nb::class_<Primitive>(module, "Primitive", "An operation.")
      .def_prop_ro("name", [](const Primitive& self) { return std::string(self.name); })
      .def(
          "__eq__",
          [](const Primitive& self, nb::handle other) {
            return nb::isinstance<Primitive>(other) && &self == &nb::cast<const Primitive&>(other);
          },
          nb::arg("other").none())
      .def("__hash__",
           [](const Primitive& self) {
             return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(&self) >> 4);
           })
      .def("__str__", [](const Primitive& self) { return std::string(self.name); })
      .def("__repr__", [](const Primitive& self) { return std::string(self.name); });

  nb::class_<ProgramEquation>(module, "Equation", "One operation of a program.")
      .def_prop_ro(
          "primitive",
          [](const ProgramEquation& self) -> const Primitive& { return *self.equation->primitive; },
          nb::rv_policy::reference)
      .def_prop_ro("params", params_dict)
      .def_prop_ro("invars",
                   [](const ProgramEquation& self) {
                     return atom_list(self.program, self.equation->inputs);
                   })
      .def_prop_ro("outvars",
                   [](const ProgramEquation& self) {
                     return variable_list(self.program, self.equation->outputs);
                   })
      .def_prop_ro("effects",
                   [](const ProgramEquation& self) { return effects_set(self.equation->effects); })
      .def_prop_ro("location",
                   [](const ProgramEquation& self) { return location_tuple(self.equation->where); })
      .def_prop_ro("programs",
                   [](const ProgramEquation& self) {
                     nb::dict dict;
                     for (const NamedProgram& nested : nested_programs(*self.equation)) {
                       dict[nested.name.c_str()] = program_object(nested.program);
                     }
                     return dict;
                   })
      .def(
          "cost_analysis",
          [](const ProgramEquation& self) { return cost_dict(self.program->cost(*self.equation)); })
      .def("__repr__", equation_text);

  program
      .def_prop_ro("equations", [](std::shared_ptr<Program> self) { return equation_list(self); })
      .def_prop_ro("eqns", [](std::shared_ptr<Program> self) { return equation_list(self); })
      .def_prop_ro("jaxpr", [](std::shared_ptr<Program> self) { return self; })
      .def_prop_ro("invars",
                   [](std::shared_ptr<Program> self) { return variable_list(self, self->inputs); })
      .def_prop_ro("outvars",
                   [](std::shared_ptr<Program> self) { return atom_list(self, self->outputs); })
      .def_prop_ro("constvars",
                   [](std::shared_ptr<Program> self) {
                     std::vector<uint32_t> variables;
                     for (const Constant& each : self->constants) {
                       variables.push_back(each.variable);
                     }
                     return variable_list(self, variables);
                   })
      .def_prop_ro(
          "consts",
          [](const Program& self) {
            nb::list list;
            for (const Constant& each : self.constants) {
              list.append(wrap_object(Array(self.variable_types[each.variable], each.storage)));
            }
            return list;
          })
      .def_prop_ro("effects", [](const Program& self) { return effects_set(self.effects()); })
      .def("walk",
           [](std::shared_ptr<Program> self) {
             nb::list list;
             add_walk(self, 0, list);
             return list;
           })
      .def("users", [](std::shared_ptr<Program> self,
                       const Variable& variable) { return users(self, variable); })
      .def("substitute", [](std::shared_ptr<Program> self, nb::dict replacements) {
        return substitute_variables(self, replacements);
      });
}

}  // namespace farcall::python
