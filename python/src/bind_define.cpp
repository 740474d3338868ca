// Definitions of targets with rules that are Python functions.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/define.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/interpreter.h>

#include "array_object.h"
#include "attributes.h"
#include "convert.h"
#include "float0.h"
#include "interpreter_lock.h"
#include "shardings.h"
#include "tangents.h"
#include "text.h"

namespace farcall::python {
namespace {

// A Python function held by a definition. It may be released on any thread.
using Function = std::shared_ptr<nb::object>;

Function function_or_null(nb::handle function) {
  return function.is_none() ? nullptr : share(nb::object(nb::borrow(function)));
}

// The description of the call that rules receive: a copy, so that Python may keep it.
struct Call {
  FfiCallParams params;
  std::vector<ShapeDtype> operand_types;
};

nb::object call_object(const TargetCall& call) {
  return nb::cast(Call{call.params, call.operand_types});
}

nb::tuple wrap_or_none(std::span<const Array> arrays) {
  nb::list list;
  for (const Array& array : arrays) {
    list.append(array.is_null() ? nb::none() : wrap_object(array));
  }
  return nb::tuple(list);
}

nb::object invoke(const Function& function, const nb::tuple& args) {
  nb::object result = nb::steal(PyObject_CallObject(function->ptr(), args.ptr()));
  if (!result.is_valid()) nb::raise_python_error();
  return result;
}

// The items of a tuple or list, or a single object.
std::vector<nb::object> items_of(nb::handle object) {
  if (!PyTuple_Check(object.ptr()) && !PyList_Check(object.ptr())) return {nb::borrow(object)};
  std::vector<nb::object> items;
  for (nb::handle item : object) items.push_back(nb::borrow(item));
  return items;
}

std::vector<Array> arrays_of(nb::handle object, const std::string& what) {
  std::vector<Array> arrays;
  for (const nb::object& item : items_of(object)) {
    arrays.push_back(to_array(item, fmt::format("{} {}", what, arrays.size())));
  }
  return arrays;
}

// Converts the cotangents that a rule returns for the operands; None and float0 are zero. The one
// of a single operand may stand alone, but not as None, which a rule without `return` returns too.
std::vector<Array> cotangents_of(nb::handle object, size_t num_operands, const std::string& rule) {
  const bool is_sequence = PyTuple_Check(object.ptr()) || PyList_Check(object.ptr());
  if (!is_sequence && (object.is_none() || num_operands != 1)) {
    throw TypeError(fmt::format(
        "{} must return a tuple with a cotangent, or None, for each of the {} operands; got {} of "
        "type {}",
        rule, num_operands, repr_of(object), Py_TYPE(object.ptr())->tp_name));
  }
  std::vector<Array> arrays;
  for (const nb::object& item : items_of(object)) {
    arrays.push_back(item.is_none() || is_float0(item)
                         ? Array()
                         : to_array(item, fmt::format("{}: cotangent {}", rule, arrays.size())));
  }
  return arrays;
}

void check_count(const std::string& what, size_t wanted, size_t got) {
  if (wanted == got) return;
  throw TypeError(fmt::format("{}: expected {} arrays, got {}", what, wanted, got));
}

std::pair<nb::object, nb::object> pair_of(nb::handle object, const std::string& what) {
  if (!(PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) || nb::len(object) != 2) {
    throw TypeError(fmt::format("{} must return a pair, got {} of type {}", what, repr_of(object),
                                Py_TYPE(object.ptr())->tp_name));
  }
  return {nb::object(object[0]), nb::object(object[1])};
}

struct Rules {
  Function shape, jvp, forward, backward, transpose, batch, workspace;
};

// Calls a rule of types and attributes.
nb::object invoke_on_types(const Function& rule, std::span<const ShapeDtype> operands,
                           const Attributes& attributes) {
  nb::list args;
  for (const ShapeDtype& type : operands) args.append(nb::cast(type));
  nb::object result = nb::steal(
      PyObject_Call(rule->ptr(), nb::tuple(args).ptr(), from_attributes(attributes).ptr()));
  if (!result.is_valid()) nb::raise_python_error();
  return result;
}

decltype(TargetDefinition::shape) shape_rule(const Function& rule, const std::string& target) {
  return [rule, target](std::span<const ShapeDtype> operands, const Attributes& attributes) {
    const nb::gil_scoped_acquire lock;
    std::vector<ShapeDtype> types;
    for (const nb::object& item : items_of(invoke_on_types(rule, operands, attributes))) {
      types.push_back(to_shape_dtype(
          item, fmt::format("ffi_call(\"{}\"): shape rule: result {}", target, types.size())));
    }
    return types;
  };
}

std::string rule_text(const char* rule, const std::string& target) {
  return fmt::format("the {} rule of target \"{}\"", rule, target);
}

nb::tuple cotangent_objects(const TargetCall& call, std::span<const Array> cotangents) {
  nb::list given;
  for (size_t i = 0; i < cotangents.size(); ++i) {
    given.append(tangent_object(cotangents[i], call.params.result_types[i]));
  }
  return nb::tuple(given);
}

decltype(TargetDefinition::jvp) jvp_rule(const Function& rule, const std::string& target) {
  return [rule, what = rule_text("jvp", target)](const TargetCall& call,
                                                 std::span<const Array> primals,
                                                 std::span<const Array> tangents) {
    const nb::gil_scoped_acquire lock;
    nb::list directions;
    for (size_t i = 0; i < primals.size(); ++i) {
      directions.append(tangent_object(tangents[i], primals[i].type()));
    }
    const auto [values, derivatives] = pair_of(
        invoke(rule,
               nb::make_tuple(call_object(call), wrap_or_none(primals), nb::tuple(directions))),
        what);
    JvpResults results{arrays_of(values, what + ": result"), {}};
    const std::vector<ShapeDtype>& types = call.params.result_types;
    check_count(what + ": results", types.size(), results.primals.size());
    std::vector<nb::object> given = items_of(derivatives);
    check_count(what + ": tangents of results", types.size(), given.size());
    for (size_t i = 0; i < given.size(); ++i) {
      results.tangents.push_back(given[i].is_none()
                                     ? Array()
                                     : to_tangent(given[i], types[i],
                                                  fmt::format("{}: tangent of result {}", what, i),
                                                  TangentErrors::kType));
    }
    return results;
  };
}

decltype(TargetDefinition::forward) forward_rule(const Function& rule, const std::string& target) {
  return [rule, what = rule_text("forward", target)](const TargetCall& call,
                                                     std::span<const Array> operands) {
    const nb::gil_scoped_acquire lock;
    nb::list args;
    args.append(call_object(call));
    for (const Array& operand : operands) args.append(wrap_object(operand));
    const auto [values, kept] = pair_of(invoke(rule, nb::tuple(args)), what);
    ForwardResults results{arrays_of(values, what + ": result"), {}};
    if (!kept.is_none()) results.residuals = arrays_of(kept, what + ": residual");
    return results;
  };
}

decltype(TargetDefinition::backward) backward_rule(const Function& rule,
                                                   const std::string& target) {
  return [rule, what = rule_text("backward", target)](const TargetCall& call,
                                                      std::span<const Array> residuals,
                                                      std::span<const Array> cotangents) {
    const nb::gil_scoped_acquire lock;
    return cotangents_of(invoke(rule, nb::make_tuple(call_object(call), wrap_or_none(residuals),
                                                     cotangent_objects(call, cotangents))),
                         call.operand_types.size(), what);
  };
}

decltype(TargetDefinition::transpose) transpose_rule(const Function& rule,
                                                     const std::string& target) {
  return [rule, what = rule_text("transpose", target)](const TargetCall& call,
                                                       std::span<const Array> operands,
                                                       std::span<const Array> cotangents) {
    const nb::gil_scoped_acquire lock;
    nb::list args;
    args.append(call_object(call));
    args.append(cotangent_objects(call, cotangents));
    for (nb::handle operand : wrap_or_none(operands)) args.append(operand);
    return cotangents_of(invoke(rule, nb::tuple(args)), operands.size(), what);
  };
}

// The axes that a batch rule returns for its results; one may stand for all.
std::vector<int64_t> result_axes(nb::handle places, std::span<const Array> outputs,
                                 const std::string& what) {
  std::vector<nb::object> given = items_of(places);
  if (given.size() == 1) given.resize(outputs.size(), given[0]);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].is_none()) {
      axes.push_back(kNotBatched);
      continue;
    }
    auto axis = to_option<int64_t>(given[i], what + ": axis", "an integer or None");
    // Negative axes count from the end. An axis out of range must not turn into kNotBatched.
    if (axis < 0 && i < outputs.size()) {
      axis += static_cast<int64_t>(outputs[i].rank());
      if (axis < 0) axis = std::numeric_limits<int64_t>::max();
    }
    axes.push_back(axis);
  }
  return axes;
}

decltype(TargetDefinition::batch) batch_rule(const Function& rule, const std::string& target) {
  return [rule, what = rule_text("batch", target)](
             const TargetCall& call, std::span<const Array> operands, std::span<const int64_t> axes,
             const BatchAxis& axis) {
    const nb::gil_scoped_acquire lock;
    nb::list positions;
    for (const int64_t position : axes) {
      positions.append(position == kNotBatched ? nb::none() : nb::object(nb::int_(position)));
    }
    nb::list args;
    args.append(call_object(call));
    args.append(axis.size);
    args.append(nb::tuple(positions));
    for (const Array& operand : operands) args.append(wrap_object(operand));
    const auto [values, places] = pair_of(invoke(rule, nb::tuple(args)), what);
    BatchResults results{arrays_of(values, what + ": result"), {}};
    results.axes = result_axes(places, results.outputs, what);
    return results;
  };
}

decltype(TargetDefinition::workspace) workspace_rule(const Function& rule,
                                                     const std::string& target) {
  return [rule, target](std::span<const ShapeDtype> operands, std::span<const ShapeDtype>,
                        const Attributes& attributes) {
    const nb::gil_scoped_acquire lock;
    return to_option<int64_t>(
        invoke_on_types(rule, operands, attributes),
        fmt::format("what the workspace rule of target \"{}\" returns", target),
        "a number of bytes");
  };
}

TargetDefinition make_definition(const std::string& target, const Rules& rules) {
  TargetDefinition d;
  if (rules.shape) d.shape = shape_rule(rules.shape, target);
  if (rules.jvp) d.jvp = jvp_rule(rules.jvp, target);
  if (rules.forward) d.forward = forward_rule(rules.forward, target);
  if (rules.backward) d.backward = backward_rule(rules.backward, target);
  if (rules.transpose) d.transpose = transpose_rule(rules.transpose, target);
  if (rules.batch) d.batch = batch_rule(rules.batch, target);
  if (rules.workspace) d.workspace = workspace_rule(rules.workspace, target);
  return d;
}

std::vector<std::vector<int64_t>> groups_of(nb::handle linear_in) {
  std::vector<std::vector<int64_t>> groups;
  if (linear_in.is_none()) return groups;
  for (const nb::object& item : items_of(linear_in)) {
    groups.push_back(to_sizes(item, "define: linear_in"));
  }
  return groups;
}

void define(const std::string& target, nb::dict parts) {
  const auto part = [&](const char* name) {
    return parts.contains(name) ? nb::object(parts[name]) : nb::object(nb::none());
  };
  const nb::object shape = part("shape");
  const bool is_signature = nb::isinstance<nb::str>(shape);
  const Rules rules{is_signature ? nullptr : function_or_null(shape),
                    function_or_null(part("jvp")),
                    function_or_null(part("forward")),
                    function_or_null(part("backward")),
                    function_or_null(part("transpose")),
                    function_or_null(part("batch")),
                    function_or_null(part("workspace"))};
  TargetDefinition definition = make_definition(target, rules);
  if (is_signature) definition.shape = shape_signature(to_name(shape, "define: shape"));
  if (const nb::object attributes = part("attributes"); !attributes.is_none()) {
    definition.default_attributes = to_attributes(attributes, {});
  }
  definition.linear_in = groups_of(part("linear_in"));
  if (const nb::object method = part("vmap_method"); !method.is_none()) {
    definition.vmap_method = to_name(method, "define: vmap_method");
  }
  if (const nb::object rule = part("sharding_rule"); !rule.is_none()) {
    definition.sharding_rule = nb::isinstance<nb::tuple>(rule)
                                   ? to_sharding_rule(nb::cast<nb::tuple>(rule))
                                   : ShardingRule(to_name(rule, "define: sharding_rule"));
  }
  define_target(target, std::move(definition));
}

// The names of the parts that a target's definition has.
std::vector<std::string> defined_parts(const std::string& target) {
  std::vector<std::string> names;
  const TargetDefinitionPtr d = find_definition(target);
  if (!d) return names;
  const auto add = [&](const char* name, bool is_given) {
    if (is_given) names.emplace_back(name);
  };
  add("attributes", !d->default_attributes.empty());
  add("batch", bool(d->batch));
  add("jvp", bool(d->jvp));
  add("linear_in", !d->linear_in.empty());
  add("shape", bool(d->shape));
  add("sharding_rule", d->sharding_rule.has_value());
  add("transpose", bool(d->transpose));
  add("vjp", bool(d->backward));
  add("vmap_method", d->vmap_method.has_value());
  add("workspace", bool(d->workspace));
  return names;
}

nb::object sharding_rule_of(const std::string& target) {
  const TargetDefinitionPtr d = find_definition(target);
  return d && d->sharding_rule ? nb::object(nb::cast(d->sharding_rule->text())) : nb::none();
}

nb::object call_target(const std::string& target, nb::args args, nb::kwargs kwargs) {
  std::vector<Array> operands;
  for (nb::handle arg : args) {
    operands.push_back(
        to_array(arg, fmt::format("ffi_call(\"{}\"): operand {}", target, operands.size())));
  }
  const std::vector<Array> results = call_defined(target, operands, to_attributes(kwargs, {}));
  if (results.size() == 1) return wrap_object(results[0]);
  return wrap_or_none(results);
}

}  // namespace

void bind_define(nb::module_& module) {
  nb::class_<Call>(module, "TargetCall",
                   "The call to which a rule is applied; calling it makes the same call on other "
                   "operands.")
      .def("__call__",
           [](const Call& self, nb::args args) {
             std::vector<Array> operands;
             for (nb::handle arg : args) {
               operands.push_back(
                   to_array(arg, fmt::format("ffi_call(\"{}\"): operand {}",
                                             self.params.target_name, operands.size())));
             }
             const std::vector<Array> results =
                 TargetCall{self.params, self.operand_types}(operands);
             return results.size() == 1 ? wrap_object(results[0])
                                        : nb::object(wrap_or_none(results));
           })
      .def_prop_ro("attributes",
                   [](const Call& self) { return from_attributes(self.params.attributes); })
      .def_prop_ro("target_name", [](const Call& self) { return self.params.target_name; })
      .def_prop_ro("result_shape_dtypes", [](const Call& self) {
        nb::list types;
        for (const ShapeDtype& type : self.params.result_types) types.append(nb::cast(type));
        return nb::tuple(types);
      });
  module.def("define", define, nb::arg("target_name"), nb::arg("parts"));
  module.def("defined_parts", defined_parts, nb::arg("target_name"));
  module.def("sharding_rule_of", sharding_rule_of, nb::arg("target_name"));
  module.def("call_defined", call_target);
}

}  // namespace farcall::python
