// jvp, vjp, linearize, linear_transpose and grad of Python functions over pytrees.
#include "bind.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/varying.h>

#include "argument_choice.h"
#include "array_object.h"
#include "convert.h"
#include "python_call.h"
#include "tangents.h"

namespace farcall::python {
namespace {

// Unflattens tangents of values of these types, which vary over these axes.
nb::object unflatten_whole(const TreeDef& tree, std::vector<Array> tangents,
                           std::span<const ShapeDtype> types, const AxisSets& axes) {
  return unflatten_tangents(tree, farcall::detail::instantiated(std::move(tangents), types, axes),
                            types);
}

// ---- jvp ----

nb::object call_jvp(nb::handle function, const std::string& where, nb::handle primals,
                    nb::handle tangents, bool has_aux) {
  const auto is_sequence = [](nb::handle object) {
    return PyTuple_Check(object.ptr()) || PyList_Check(object.ptr());
  };
  if (!is_sequence(primals) || !is_sequence(tangents)) {
    throw TypeError(
        fmt::format("{}: primals and tangents must be tuples or lists with one entry for each "
                    "argument, got {} and {}",
                    where, Py_TYPE(primals.ptr())->tp_name, Py_TYPE(tangents.ptr())->tp_name));
  }
  std::vector<nb::object> primal_leaves, tangent_leaves;
  const TreeDef primal_tree = flatten_tree(primals, primal_leaves);
  const TreeDef tangent_tree = flatten_tree(tangents, tangent_leaves);
  if (!(primal_tree == tangent_tree)) {
    throw TypeError(fmt::format(
        "{}: primals and tangents must have one structure; primals have {}, tangents have {}",
        where, text_of(primal_tree), text_of(tangent_tree)));
  }
  const CallArguments arguments = all_arguments(nb::tuple(primals), nb::dict());
  if (arguments.leaves.size() != tangent_leaves.size()) {
    // A user's flatten function returned other leaves the second time.
    throw Error(ErrorCode::kFailedPrecondition,
                fmt::format("{}: the primals changed while they were read", where));
  }
  Differentiable differentiable(function, where, arguments, has_aux);
  const std::vector<Array>& inputs = differentiable.leaves();
  std::vector<Array> directions;
  for (size_t i = 0; i < inputs.size(); ++i) {
    directions.push_back(
        to_tangent(tangent_leaves[i], inputs[i].type(),
                   fmt::format("{}: tangents{}", where, leaf_path(tangent_tree, i)),
                   TangentErrors::kTypeForDtype));
  }
  const JvpResults results = jvp(differentiable.as_function(), inputs, directions);
  const TreeDef& tree = differentiable.result_tree();
  return differentiable.with_aux(unflatten_arrays(tree, results.primals),
                                 unflatten_whole(tree, results.tangents, types_of(results.primals),
                                                 varying_axes(results.primals)));
}

// ---- linear functions ----

// The argument of a linear function: tangents or cotangents for values of these types, with this
// structure.
struct LinearInput {
  std::string what;  // "vjp(f): the cotangent"
  const TreeDef& tree;
  std::span<const ShapeDtype> types;
};

std::vector<nb::object> linear_leaves(const LinearInput& input, nb::handle given,
                                      TangentErrors errors) {
  std::vector<nb::object> leaves;
  const TreeDef found = flatten_tree(given, leaves);
  if (found == input.tree) return leaves;
  std::string text = fmt::format("{} should have structure {}, got {}", input.what,
                                 text_of(input.tree), text_of(found));
  if (errors == TangentErrors::kType) throw TypeError(std::move(text));
  invalid_argument(std::move(text));
}

std::string leaf_name(const LinearInput& input, size_t leaf) {
  return input.what + leaf_path(input.tree, leaf);
}

std::vector<Array> tangent_inputs(const LinearInput& input, nb::handle given) {
  const auto leaves = linear_leaves(input, given, TangentErrors::kType);
  std::vector<Array> arrays;
  for (size_t i = 0; i < leaves.size(); ++i) {
    arrays.push_back(
        to_tangent(leaves[i], input.types[i], leaf_name(input, i), TangentErrors::kValue));
  }
  return arrays;
}

std::vector<Array> cotangent_inputs(const LinearInput& input, nb::handle given,
                                    TangentErrors errors) {
  const auto leaves = linear_leaves(input, given, errors);
  std::vector<Array> arrays;
  for (size_t i = 0; i < leaves.size(); ++i) {
    arrays.push_back(to_cotangent(leaves[i], input.types[i], leaf_name(input, i), errors));
  }
  return arrays;
}

// A derivative without the captured values.
struct LinearStructure {
  std::string where;  // "vjp(f)"
  LinearMap map;      // captures no values
  TreeDef argument_tree, result_tree;
  AxisSets argument_axes, result_axes;

  bool operator==(const LinearStructure& other) const {
    return map.has_same_program(other.map) && argument_tree == other.argument_tree &&
           result_tree == other.result_tree && argument_axes == other.argument_axes &&
           result_axes == other.result_axes;
  }
};
using LinearStructurePtr = std::shared_ptr<LinearStructure>;

// As a pytree, its leaves are the captured values; they may be arbitrary objects until it is
// called.
struct LinearFunction {
  LinearStructurePtr structure;
  std::vector<nb::object> values;

  LinearMap map() const {
    std::vector<Array> captured;
    for (const nb::object& value : values) {
      captured.push_back(to_array(value, structure->where + ": a value of the derivative"));
    }
    return structure->map.with_captured(std::move(captured));
  }
};

struct Pushforward : LinearFunction {
  nb::object operator()(nb::args tangents) const {
    const LinearMap map = this->map();
    const std::vector<Array> inputs = tangent_inputs(
        {structure->where + ": tangents", structure->argument_tree, map.input_types()}, tangents);
    return unflatten_whole(structure->result_tree, map(inputs), map.output_types(),
                           structure->result_axes);
  }
};

struct Pullback : LinearFunction {
  nb::object operator()(nb::handle cotangent) const {
    const LinearMap map = this->map();
    const std::vector<Array> inputs = cotangent_inputs(
        {structure->where + ": cotangent", structure->result_tree, map.output_types()}, cotangent,
        TangentErrors::kValue);
    return unflatten_whole(structure->argument_tree, map.transpose(inputs), map.input_types(),
                           structure->argument_axes);
  }
};

template <class Function>
nb::class_<Function> bind_linear_function(nb::module_& module, const char* name, const char* doc) {
  return nb::class_<Function>(module, name, doc)
      .def("_flatten",
           [](const Function& self) {
             nb::list values;
             for (const nb::object& value : self.values) values.append(value);
             return nb::make_tuple(values, self.structure);
           })
      .def_static("_unflatten", [](LinearStructurePtr structure, nb::iterable values) {
        Function function{{std::move(structure), {}}};
        for (nb::handle value : values) function.values.push_back(nb::borrow(value));
        return function;
      });
}

// vjp and linearize: returns the results and the derivative, as the class `Function`.
template <class Function>
nb::object call_linearize(nb::handle function, const std::string& where, nb::tuple primals,
                          bool has_aux) {
  const CallArguments arguments = all_arguments(primals, nb::dict());
  Differentiable differentiable(function, where, arguments, has_aux);
  const Linearized results =
      linearize(differentiable.as_function(), differentiable.leaves(), differentiable.varies());
  const TreeDef& tree = differentiable.result_tree();
  std::vector<nb::object> values;
  for (const Array& value : results.derivative->captured()) values.push_back(wrap_object(value));
  auto structure = std::make_shared<LinearStructure>(
      LinearStructure{where, results.derivative->with_captured({}), positional_tree(arguments),
                      tree, varying_axes(differentiable.leaves()), varying_axes(results.outputs)});
  return differentiable.with_aux(unflatten_arrays(tree, results.outputs),
                                 nb::cast(Function{{std::move(structure), std::move(values)}}));
}

// ---- linear_transpose ----

struct Transposed {
  std::string where;
  LinearMap map;
  TreeDef argument_tree, result_tree;
  AxisSets argument_axes;

  nb::object operator()(nb::handle cotangent) const {
    const std::vector<Array> inputs = cotangent_inputs(
        {where + ": cotangent", result_tree, map.output_types()}, cotangent, TangentErrors::kType);
    return unflatten_whole(argument_tree, map.transpose(inputs), map.input_types(), argument_axes);
  }
};

Transposed linear_transpose(nb::handle function, const std::string& where, nb::tuple primals) {
  const CallArguments arguments = all_arguments(primals, nb::dict());
  PythonCall call(function, where, arguments, {});
  AxisSets axes = axes_of_leaves(arguments);
  LinearMap map = farcall::detail::linear_map_of(call, leaves_to_types(where, arguments), axes);
  return {where, std::move(map), positional_tree(arguments), call.result_tree(), std::move(axes)};
}

// ---- grad ----

class ScalarFunction final : public Differentiable {
 public:
  using Differentiable::Differentiable;

 protected:
  std::vector<Array> run(std::span<const Array> inputs) override {
    std::vector<Array> results = Differentiable::run(inputs);
    if (result_tree().is_leaf()) return results;
    throw TypeError(fmt::format(
        "{}: the function must return a scalar; its result has structure {}. For several results "
        "use vjp or jacrev, for auxiliary data has_aux=True",
        where(), text_of(result_tree())));
  }
};

// Returns (value, gradient) or (value, gradient, auxiliary data).
nb::object value_and_grad(nb::handle function, const std::string& where,
                          const std::vector<int64_t>& argnums, bool is_single, bool has_aux,
                          bool holomorphic, bool allow_int, nb::tuple args, nb::dict kwargs) {
  const ArgumentChoice choice(where, argnums, args, kwargs);
  ScalarFunction call(function, where, choice.arguments(), has_aux);
  const farcall::detail::Gradient found = farcall::detail::call_grad(
      call, call.varies(), {.holomorphic = holomorphic, .allow_int = allow_int});
  nb::object gradient = unflatten_tangents(positional_tree(choice.arguments()), found.cotangents,
                                           types_of(call.leaves()));
  return call.with_aux(wrap_object(found.value), choice.in_order(gradient, is_single));
}

}  // namespace

void bind_derivatives(nb::module_& module) {
  nb::class_<LinearStructure>(module, "LinearStructure", "A derivative without its values.")
      .def("__eq__",
           [](const LinearStructure& self, nb::handle other) {
             return nb::isinstance<LinearStructure>(other) &&
                    self == nb::cast<const LinearStructure&>(other);
           })
      .def("__hash__",
           [](const LinearStructure& self) { return hash_of_program(self.map.program()); })
      .def("__repr__", [](const LinearStructure& self) { return self.where; });
  bind_linear_function<Pushforward>(
      module, "LinearFunction",
      "The derivative of a function at a point, from linearize: takes tangents of the arguments, "
      "returns those of the results.")
      .def("__call__", &Pushforward::operator());
  bind_linear_function<Pullback>(
      module, "PullbackFunction",
      "The derivative of a function at a point, from vjp: takes a cotangent of the result, returns "
      "the tuple of those of the arguments.")
      .def("__call__", &Pullback::operator(), nb::arg("cotangent").none());
  nb::class_<Transposed>(module, "TransposedFunction",
                         "The transpose of a linear function, from linear_transpose.")
      .def("__call__", &Transposed::operator(), nb::arg("cotangent").none());
  module.def("jvp", call_jvp, nb::arg("function"), nb::arg("where"), nb::arg("primals").none(),
             nb::arg("tangents").none(), nb::arg("has_aux"));
  module.def("vjp", call_linearize<Pullback>);
  module.def("linearize", call_linearize<Pushforward>);
  module.def("linear_transpose", linear_transpose);
  module.def("value_and_grad", value_and_grad);
}

}  // namespace farcall::python
