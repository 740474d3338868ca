// jacfwd and jacrev of Python functions over pytrees.
#include "bind.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <farcall/trace/jacobians.h>

#include "argument_choice.h"
#include "python_call.h"
#include "tangents.h"

namespace farcall::python {
namespace {

nb::object jacobian(bool is_forward, nb::handle function, const std::string& where,
                    const std::vector<int64_t>& argnums, bool is_single, bool has_aux,
                    bool holomorphic, bool allow_int, nb::tuple args, nb::dict kwargs) {
  const ArgumentChoice choice(where, argnums, args, kwargs);
  Differentiable call(function, where, choice.arguments(), has_aux);
  const GradOptions options{.holomorphic = holomorphic, .allow_int = allow_int};
  const farcall::detail::JacobianRows rows =
      is_forward ? farcall::detail::call_jacfwd(call, call.varies(), options)
                 : farcall::detail::call_jacrev(call, call.varies(), options);
  const TreeDef inner = positional_tree(choice.arguments());
  std::vector<nb::object> parts;
  for (const farcall::detail::JacobianRow& row : rows) {
    parts.push_back(choice.in_order(unflatten_tangents(inner, row.blocks, row.types), is_single));
  }
  return call.with_aux(unflatten(call.result_tree(), parts));
}

}  // namespace

void bind_jacobians(nb::module_& module) { module.def("jacobian", jacobian); }

}  // namespace farcall::python
