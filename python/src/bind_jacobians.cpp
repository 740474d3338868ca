// jacfwd and jacrev: derivatives in all unit directions at once.
#include "bind.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <farcall/core/error.h>
#include <farcall/ops/jacobians.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>

#include "array_object.h"
#include "convert.h"
#include "differentiable.h"
#include "differentiation.h"
#include "tangents.h"

namespace farcall::python {
namespace {

using detail::joined;
using detail::unit_rows;

// A structure with the leaves of one structure in place of the leaves of another.
nb::object nested(const TreeDef& outer, const TreeDef& inner, std::span<const Array> blocks,
                  const ArgumentChoice& choice, bool is_single) {
  std::vector<nb::object> parts;
  for (size_t i = 0; i < outer.num_leaves(); ++i) {
    parts.push_back(choice.in_order(
        unflatten_arrays(inner, blocks.subspan(i * inner.num_leaves(), inner.num_leaves())),
        is_single));
  }
  return outer.unflatten(parts);
}

nb::object result(const Differentiable& function, nb::object jacobian) {
  return function.has_aux() ? nb::make_tuple(jacobian, function.aux()) : jacobian;
}

nb::object jacfwd(nb::handle function, const std::string& where,
                  const std::vector<int64_t>& argnums, bool is_single, bool has_aux,
                  bool holomorphic, nb::tuple args, nb::dict kwargs) {
  const ArgumentChoice choice(where, argnums, args, kwargs);
  const CallArguments& arguments = choice.arguments();
  const std::vector<Array> inputs = leaves_to_arrays(where, arguments);
  check_inputs(where, arguments, inputs, {.holomorphic = holomorphic});
  int64_t rows = 0;
  for (const Array& input : inputs) rows += input.size();
  std::vector<Array> directions;
  for (int64_t first = 0; const Array& input : inputs) {
    directions.push_back(unit_rows(input.type(), rows, first));
    first += input.size();
  }
  Differentiable differentiable(function, where, arguments, inputs, has_aux);
  std::vector<Array> values;
  BatchResults found = batch(
      [&](std::span<const Array> tangents) {
        JvpResults results = jvp(differentiable.as_function(), inputs, tangents);
        for (size_t i = 0; i < results.primals.size(); ++i) {
          results.tangents[i] = instantiate(results.tangents[i], results.primals[i].type());
        }
        values = std::move(results.primals);
        return std::move(results.tangents);
      },
      directions, std::vector<int64_t>(directions.size(), 0), {rows, {}});
  const TreeDef& tree = *differentiable.result_tree();
  if (holomorphic) check_outputs(where, tree, values, holomorphic);
  std::vector<Array> blocks;
  for (size_t j = 0; j < values.size(); ++j) {
    const auto rank = static_cast<int64_t>(values[j].rank());
    const Array columns = move_axis(found.outputs[j], found.axes[j], rank, rows);
    int64_t first = 0;
    for (const Array& input : inputs) {
      Shape start(values[j].rank() + 1, 0), limit(columns.shape().begin(), columns.shape().end());
      start.back() = first;
      limit.back() = first += input.size();
      blocks.push_back(lax::reshape(lax::slice(columns, start, limit),
                                    joined(values[j].shape(), input.shape())));
    }
  }
  return result(differentiable,
                nested(tree, *positional_tree(arguments), blocks, choice, is_single));
}

nb::object jacrev(nb::handle function, const std::string& where,
                  const std::vector<int64_t>& argnums, bool is_single, bool has_aux,
                  bool holomorphic, bool allow_int, nb::tuple args, nb::dict kwargs) {
  const ArgumentChoice choice(where, argnums, args, kwargs);
  const CallArguments& arguments = choice.arguments();
  const std::vector<Array> inputs = leaves_to_arrays(where, arguments);
  check_inputs(where, arguments, inputs,
               {.holomorphic = holomorphic, .allow_int = allow_int, .allow_complex = true});
  Differentiable differentiable(function, where, arguments, inputs, has_aux);
  const Linearized results =
      linearize(differentiable.as_function(), inputs, std::vector<bool>(inputs.size(), true));
  const TreeDef& tree = *differentiable.result_tree();
  const TreeDefPtr argument_tree = positional_tree(arguments);
  check_outputs(where, tree, results.outputs, holomorphic);
  std::vector<nb::object> parts;
  for (size_t j = 0; j < results.outputs.size(); ++j) {
    const Array& output = results.outputs[j];
    const Array directions[] = {unit_rows(output.type(), output.size(), 0)};
    const int64_t axes[] = {0};
    BatchResults found = batch(
        [&](std::span<const Array> rows) {
          std::vector<Array> cotangents(results.outputs.size());
          cotangents[j] = rows[0];
          return results.derivative->transpose(cotangents);
        },
        directions, axes, {output.size(), {}});
    std::vector<Array> blocks;
    std::vector<ShapeDtype> types;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ShapeDtype type = inputs[i].type();
      types.push_back(type.with_shape(joined(output.shape(), type.shape())));
      blocks.emplace_back();
      if (found.outputs[i].is_null()) continue;
      const Array rows = move_axis(found.outputs[i], found.axes[i], 0, output.size());
      blocks.back() = lax::reshape(rows, types.back().shape());
    }
    parts.push_back(choice.in_order(unflatten_tangents(*argument_tree, blocks, types), is_single));
  }
  return result(differentiable, tree.unflatten(parts));
}

}  // namespace

void bind_jacobians(nb::module_& module) {
  module.def("jacfwd", jacfwd);
  module.def("jacrev", jacrev);
}

}  // namespace farcall::python
