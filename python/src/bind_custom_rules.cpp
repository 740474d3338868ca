// custom_jvp, custom_vjp and custom_vmap: Python functions with rules written in Python.
#include "bind.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/custom.h>
#include <farcall/trace/custom_rules.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/interpreter.h>

#include "array_object.h"
#include "convert.h"
#include "interpreter_lock.h"
#include "python_call.h"
#include "tangents.h"
#include "traced_function.h"
#include "tree.h"

namespace farcall::python {
namespace {

// One call of a function with custom rules.
struct CustomFunction {
  std::string name;  // for messages
  farcall::detail::RuleChecks checks;
  nb::object function;
  nb::object rule;      // the jvp, fwd or batching rule
  nb::object backward;  // for custom_vjp
  std::string backward_name;
  bool symbolic_zeros = false;
  CallArguments arguments;  // non-differentiable arguments are static
  TreeDef argument_tree;
  TreeDef result_tree;  // of the last run of the function or the rule
};
using CustomFunctionPtr = std::shared_ptr<CustomFunction>;

nb::object call_with_list(nb::handle function, const nb::list& args) {
  nb::object result = nb::steal(PyObject_CallObject(function.ptr(), nb::tuple(args).ptr()));
  if (!result.is_valid()) nb::raise_python_error();
  return result;
}

nb::list static_arguments(const CallArguments& arguments) {
  nb::list list;
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    if (arguments.is_static[i]) list.append(arguments.positional[i]);
  }
  return list;
}

bool is_pair(nb::handle object) {
  return (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) && nb::len(object) == 2;
}

std::vector<Array> call_undifferentiated(CustomFunction& custom, std::span<const Array> inputs) {
  const nb::gil_scoped_acquire lock;
  FlatResult result =
      flatten_result(custom.name, call_function(custom.function, custom.arguments, inputs));
  custom.checks.set_function(result.tree, types_of(result.arrays));
  custom.result_tree = std::move(result.tree);
  return std::move(result.arrays);
}

nb::object zero_or_array(const CustomFunction& custom, const Array& tangent, ShapeDtype type) {
  return custom.symbolic_zeros ? symbolic_tangent_object(tangent, type)
                               : tangent_object(tangent, type);
}

// ---- custom_jvp ----

JvpResults call_jvp_rule(CustomFunction& custom, std::span<const Array> primals,
                         std::span<const Array> tangents) {
  const nb::gil_scoped_acquire lock;
  const std::string& rule = custom.checks.rule();
  std::vector<nb::object> tangent_leaves;
  for (size_t i = 0; i < primals.size(); ++i) {
    tangent_leaves.push_back(zero_or_array(custom, tangents[i], primals[i].type()));
  }
  nb::list args = static_arguments(custom.arguments);
  args.append(unflatten_arrays(custom.argument_tree, primals));
  args.append(unflatten(custom.argument_tree, tangent_leaves));
  nb::object pair = call_with_list(custom.rule, args);
  if (!is_pair(pair)) {
    throw TypeError(
        fmt::format("{} must return a pair (primal results, tangent results), got {} of type {}",
                    rule, repr_of(pair), Py_TYPE(pair.ptr())->tp_name));
  }
  FlatResult result = flatten_result(rule, pair[0]);
  const std::vector<ShapeDtype> types = types_of(result.arrays);
  custom.checks.check_results(result.tree, types);
  std::vector<nb::object> leaves;
  const TreeDef tangent_tree = flatten_tree(pair[1], leaves);
  if (!(tangent_tree == result.tree)) {
    throw TypeError(
        fmt::format("{} must return primal and tangent results of the same structure; primal "
                    "results have {}, tangent results have {}",
                    rule, text_of(result.tree), text_of(tangent_tree)));
  }
  JvpResults results{std::move(result.arrays), {}};
  for (size_t i = 0; i < leaves.size(); ++i) {
    results.tangents.push_back(to_tangent(
        leaves[i], types[i], fmt::format("{}: tangent result{}", rule, leaf_path(tangent_tree, i)),
        TangentErrors::kType));
  }
  custom.result_tree = std::move(result.tree);
  return results;
}

// ---- custom_vjp ----

// Flattens a cotangent that the rule returned for one argument; None stands for zeros.
void flatten_cotangent(const TreeDef& argument, nb::handle given, const std::string& what,
                       std::vector<nb::object>& leaves) {
  if (given.is_none()) {
    leaves.insert(leaves.end(), argument.num_leaves(), nb::none());
    return;
  }
  if (argument.is_leaf()) {
    leaves.push_back(nb::borrow(given));
    return;
  }
  std::vector<nb::object> children;
  if (!argument.has_root_of(flatten_one_level(given, children))) {
    throw TypeError(
        fmt::format("{} must have the structure of its argument, {}, or be None; got {}", what,
                    text_of(argument), repr_of(given)));
  }
  for (size_t i = 0; i < children.size(); ++i) {
    flatten_cotangent(argument.children()[i], children[i], what, leaves);
  }
}

// The backward pass that belongs to one run of the forward pass.
struct Backward {
  CustomFunctionPtr custom;
  TreeDef residual_tree, result_tree;
  std::vector<ShapeDtype> input_types, result_types;

  std::vector<Array> operator()(std::span<const Array> residuals,
                                std::span<const Array> cotangents) const {
    const nb::gil_scoped_acquire lock;
    std::vector<nb::object> leaves;
    for (size_t i = 0; i < cotangents.size(); ++i) {
      leaves.push_back(zero_or_array(*custom, cotangents[i], result_types[i]));
    }
    nb::list args = static_arguments(custom->arguments);
    args.append(unflatten_arrays(residual_tree, residuals));
    args.append(unflatten(result_tree, leaves));
    return to_cotangents(call_with_list(custom->backward, args));
  }

 private:
  std::vector<Array> to_cotangents(nb::handle given) const {
    const std::string rule = fmt::format("the bwd rule {} of custom_vjp function {}",
                                         custom->backward_name, custom->name);
    const TreeDef& arguments = custom->argument_tree;
    const bool is_sequence = PyTuple_Check(given.ptr()) || PyList_Check(given.ptr());
    if (!is_sequence || nb::len(given) != arguments.children().size()) {
      throw TypeError(fmt::format(
          "{} must return a tuple with a cotangent, or None, for each of the {} differentiable "
          "arguments; got {} of type {}",
          rule, arguments.children().size(), repr_of(given), Py_TYPE(given.ptr())->tp_name));
    }
    std::vector<nb::object> leaves;
    for (size_t i = 0; i < arguments.children().size(); ++i) {
      flatten_cotangent(arguments.children()[i], given[i], fmt::format("{}: cotangent {}", rule, i),
                        leaves);
    }
    std::vector<Array> cotangents;
    for (size_t i = 0; i < leaves.size(); ++i) {
      cotangents.push_back(leaves[i].is_none()
                               ? Array()
                               : to_cotangent(leaves[i], input_types[i],
                                              fmt::format("{}: cotangent{}", rule,
                                                          leaf_path(custom->argument_tree, i))));
    }
    return cotangents;
  }
};

ForwardResults call_forward_rule(const CustomFunctionPtr& custom, std::span<const Array> inputs,
                                 const std::vector<bool>& varies) {
  const nb::gil_scoped_acquire lock;
  const std::string& rule = custom->checks.rule();
  std::vector<nb::object> leaves;
  for (const Array& input : inputs) leaves.push_back(wrap_object(input));
  if (custom->symbolic_zeros) {
    nb::object record = nb::module_::import_("farcall._custom_rules").attr("CustomVJPPrimal");
    for (size_t i = 0; i < leaves.size(); ++i) leaves[i] = record(leaves[i], bool(varies[i]));
  }
  nb::object pair = call_with_leaves(custom->rule, custom->arguments, leaves);
  if (!is_pair(pair)) {
    throw TypeError(fmt::format("{} must return a pair (results, residuals), got {} of type {}",
                                rule, repr_of(pair), Py_TYPE(pair.ptr())->tp_name));
  }
  FlatResult result = flatten_result(rule, pair[0]);
  std::vector<ShapeDtype> types = types_of(result.arrays);
  custom->checks.check_results(result.tree, types);
  FlatResult residuals = flatten_result(rule + ": residuals", pair[1]);
  custom->result_tree = result.tree;
  const auto backward = share(Backward{custom, std::move(residuals.tree), std::move(result.tree),
                                       types_of(inputs), std::move(types)});
  return {
      std::move(result.arrays), std::move(residuals.arrays),
      [backward](std::span<const Array> r, std::span<const Array> c) { return (*backward)(r, c); }};
}

// ---- custom_vmap ----

BatchResults call_batch_rule(CustomFunction& custom, std::span<const Array> inputs,
                             std::span<const int64_t> axes, const BatchAxis& axis) {
  const nb::gil_scoped_acquire lock;
  const std::string& rule = custom.checks.rule();
  std::vector<nb::object> leaves, flags;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_batched = axes[i] != kNotBatched;
    flags.push_back(nb::bool_(is_batched));
    leaves.push_back(
        wrap_object(is_batched ? move_axis(inputs[i], axes[i], 0, axis.size) : inputs[i]));
  }
  nb::list args;
  args.append(axis.size);
  args.append(nb::list(unflatten(custom.argument_tree, flags)));
  for (nb::handle arg : unflatten(custom.argument_tree, leaves)) args.append(arg);
  nb::object pair = call_with_list(custom.rule, args);
  if (!is_pair(pair)) {
    throw TypeError(
        fmt::format("{} must return a pair (results, which of them are batched), got {} of type {}",
                    rule, repr_of(pair), Py_TYPE(pair.ptr())->tp_name));
  }
  FlatResult result = flatten_result(rule, pair[0]);
  std::vector<nb::object> batched;
  const TreeDef batched_tree = flatten_tree(pair[1], batched);
  if (!(batched_tree == result.tree)) {
    invalid_argument(
        fmt::format("{} must say for each result whether it is batched; results have "
                    "structure {}, the flags have {}",
                    rule, text_of(result.tree), text_of(batched_tree)));
  }
  std::vector<std::optional<int64_t>> result_axes;
  for (const nb::object& flag : batched) {
    result_axes.push_back(nb::cast<bool>(nb::bool_(flag)) ? std::optional<int64_t>(0)
                                                          : std::nullopt);
  }
  BatchResults results =
      custom.checks.check_batch(result.tree, std::move(result.arrays), result_axes, axis.size);
  custom.result_tree = std::move(result.tree);
  return results;
}

// ---- calls ----

// `kind` is a format with a placeholder for the rule's name: "jvp rule {} of custom_jvp".
CustomFunctionPtr make_custom(fmt::format_string<std::string&> kind, std::string name,
                              std::string rule_name, nb::object function, nb::object rule,
                              nb::tuple args, const std::vector<size_t>& dynamic,
                              std::vector<Array>& inputs) {
  farcall::detail::RuleChecks checks(
      fmt::format("the {} function {}", fmt::format(kind, rule_name), name));
  CustomFunction custom{std::move(name), std::move(checks), std::move(function), std::move(rule)};
  custom.arguments = choose_arguments(args, nb::dict(), dynamic);
  custom.argument_tree = positional_tree(custom.arguments);
  inputs = leaves_to_arrays(custom.name, custom.arguments,
                            ". Add it to nondiff_argnums to pass it unchanged");
  custom.arguments.leaves.clear();  // arrays of this call; programs must not keep them alive
  return share(std::move(custom));
}

nb::object finish(const CustomFunctionPtr& custom, CustomCall call, std::span<const Array> inputs) {
  call.name = custom->name;
  call.function = [custom](std::span<const Array> arrays) {
    return call_undifferentiated(*custom, arrays);
  };
  const auto results = call_custom(std::make_shared<const CustomCall>(std::move(call)), inputs);
  return unflatten_arrays(custom->result_tree, results);
}

// Without a transformation, calls the function itself.
nb::object call_itself(nb::handle function, nb::tuple args) {
  nb::object result = nb::steal(PyObject_CallObject(function.ptr(), args.ptr()));
  if (!result.is_valid()) nb::raise_python_error();
  return result;
}

nb::object call_custom_jvp(nb::object function, nb::object rule, std::string name,
                           std::string rule_name, const std::vector<size_t>& dynamic,
                           bool symbolic_zeros, nb::tuple args) {
  if (is_evaluating()) return call_itself(function, args);
  std::vector<Array> inputs;
  const auto custom =
      make_custom("jvp rule {} of custom_jvp", std::move(name), std::move(rule_name),
                  std::move(function), std::move(rule), args, dynamic, inputs);
  custom->symbolic_zeros = symbolic_zeros;
  CustomCall call;
  call.jvp = [custom](std::span<const Array> primals, std::span<const Array> tangents) {
    return call_jvp_rule(*custom, primals, tangents);
  };
  return finish(custom, std::move(call), inputs);
}

nb::object call_custom_vjp(nb::object function, nb::object forward, nb::object backward,
                           std::string name, std::string forward_name, std::string backward_name,
                           const std::vector<size_t>& dynamic, bool symbolic_zeros,
                           nb::tuple args) {
  if (is_evaluating()) return call_itself(function, args);
  std::vector<Array> inputs;
  const auto custom =
      make_custom("fwd rule {} of custom_vjp", std::move(name), std::move(forward_name),
                  std::move(function), std::move(forward), args, dynamic, inputs);
  custom->backward_name = std::move(backward_name);
  custom->backward = std::move(backward);
  custom->symbolic_zeros = symbolic_zeros;
  for (size_t i = 0; i < custom->arguments.positional.size(); ++i) {
    if (!custom->arguments.is_static[i]) continue;
    std::vector<nb::object> leaves;
    flatten_tree(custom->arguments.positional[i], leaves);
    for (const nb::object& leaf : leaves) {
      if (!is_array(leaf.ptr()) || array_of(leaf.ptr()).is_concrete()) continue;
      throw LeakedTracerError(fmt::format(
          "{}: argument {} is a traced array, but nondiff_argnums says that it is not to be "
          "differentiated; such arguments are kept as they are, and must not depend on what is "
          "traced. Pass it as an ordinary argument, with None for its cotangent",
          custom->name, i));
    }
  }
  CustomCall call;
  call.forward = [custom](std::span<const Array> arrays, const std::vector<bool>& varies) {
    return call_forward_rule(custom, arrays, varies);
  };
  return finish(custom, std::move(call), inputs);
}

nb::object call_custom_vmap(nb::object function, nb::object rule, std::string name,
                            std::string rule_name, nb::tuple args) {
  if (is_evaluating()) return call_itself(function, args);
  std::vector<Array> inputs;
  std::vector<size_t> all(nb::len(args));
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const auto custom =
      make_custom("vmap rule {} of custom_vmap", std::move(name), std::move(rule_name),
                  std::move(function), std::move(rule), args, all, inputs);
  CustomCall call;
  call.batch = [custom](std::span<const Array> arrays, std::span<const int64_t> axes,
                        const BatchAxis& axis) {
    return call_batch_rule(*custom, arrays, axes, axis);
  };
  return finish(custom, std::move(call), inputs);
}

}  // namespace

void bind_custom_rules(nb::module_& module) {
  module.def("custom_jvp", call_custom_jvp);
  module.def("custom_vjp", call_custom_vjp);
  module.def("custom_vmap", call_custom_vmap);
}

}  // namespace farcall::python
