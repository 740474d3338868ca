// linear_call, custom_linear_solve and custom_root over pytrees.
#include "bind.h"

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/linear_functions.h>
#include <farcall/ops/roots.h>

#include "array_object.h"
#include "convert.h"
#include "flat_tree.h"
#include "interpreter_lock.h"
#include "tangents.h"
#include "traced_function.h"

namespace farcall::python {
namespace {

using Arrays = std::span<const Array>;

nb::object linear_call(nb::handle fun, nb::handle fun_transpose, nb::handle residual_args,
                       nb::handle linear_args) {
  check_callable(fun, "linear_call: fun");
  check_callable(fun_transpose, "linear_call: fun_transpose");
  const FlatTree residuals = flatten_arrays(residual_args, "linear_call: residual_args");
  const FlatTree linear = flatten_arrays(linear_args, "linear_call: linear_args");
  TreeDef tree;
  const LinearFunction forward = [&](Arrays r, Arrays x) {
    nb::object y = call_with_trees(
        "linear_call", fun,
        nb::make_tuple(unflatten_arrays(residuals.tree, r), unflatten_arrays(linear.tree, x)));
    FlatTree result = flatten_arrays(y, "linear_call: what fun returns");
    tree = result.tree;
    return std::move(result.arrays);
  };
  const LinearFunction backward = [&](Arrays r, Arrays y) {
    return flatten_like(call_with_trees("linear_call", fun_transpose,
                                        nb::make_tuple(unflatten_arrays(residuals.tree, r),
                                                       unflatten_arrays(tree, y))),
                        "linear_call: what fun_transpose returns", linear.tree, "linear_args");
  };
  const auto results = farcall::linear_call(forward, backward, residuals.arrays, linear.arrays);
  return unflatten_arrays(tree, results);
}

// ---- solvers ----

// A call of a Python solver.
struct SolverCall {
  const char* function;  // the function that takes the solver
  const char* solver;
  const char* whose;  // the argument whose structure x has
  bool has_aux;

  std::string what() const { return fmt::format("{}: what {} returns", function, solver); }
  std::string argument(const char* name) const {
    return fmt::format("{}: the argument of {}", function, name);
  }

  // Calls solve(solved, start). Returns the leaves of its result, and its structure in `result`.
  std::vector<Array> run(nb::handle solve, nb::object solved, nb::object start, const TreeDef& tree,
                         TreeDef& result) const {
    nb::object found =
        call_with_trees(function, solve, nb::make_tuple(std::move(solved), std::move(start)));
    nb::object x = found;
    if (has_aux) {
      if (!PyTuple_Check(found.ptr()) || nb::len(found) != 2) {
        throw TypeError(
            fmt::format("{} must be a pair (x, aux), as has_aux is set; got {} of type {}", what(),
                        repr_of(found), Py_TYPE(found.ptr())->tp_name));
      }
      x = nb::object(found[0]);
    }
    flatten_like(x, has_aux ? what() + " as x" : what(), tree, whose);
    FlatTree all = flatten_arrays(found, what());
    result = all.tree;
    return std::move(all.arrays);
  }
};

nb::object custom_linear_solve(nb::handle matvec, nb::handle b, nb::handle solve,
                               nb::handle transpose_solve, bool symmetric, bool has_aux) {
  check_callable(matvec, "custom_linear_solve: matvec");
  check_callable(solve, "custom_linear_solve: solve");
  const FlatTree right = flatten_arrays(b, "custom_linear_solve: b");
  TreeDef result, transposed_result;
  const FlatFunction flat_matvec = [&](Arrays x) {
    return flatten_like(call_with_trees("custom_linear_solve", matvec,
                                        nb::make_tuple(unflatten_arrays(right.tree, x))),
                        "custom_linear_solve: what matvec returns", right.tree, "b");
  };
  const lax::LinearSolver flat_solve = [&](const FlatFunction&, Arrays inputs) {
    return SolverCall{"custom_linear_solve", "solve", "b", has_aux}.run(
        solve, nb::borrow(matvec), unflatten_arrays(right.tree, inputs), right.tree, result);
  };
  lax::LinearSolveOptions options{.is_symmetric = symmetric};
  if (!transpose_solve.is_none()) {
    check_callable(transpose_solve, "custom_linear_solve: transpose_solve");
    options.transpose_solve = [&](const FlatFunction& function, Arrays inputs) {
      const SolverCall call{"custom_linear_solve", "transpose_solve", "b", has_aux};
      const auto apply = [call, function, tree = right.tree](nb::object x) {
        return unflatten_arrays(
            tree, function(flatten_like(x, call.argument("vecmat"), tree, call.whose)));
      };
      nb::object vecmat = nb::cpp_function(apply, nb::name("vecmat"));
      return call.run(transpose_solve, std::move(vecmat), unflatten_arrays(right.tree, inputs),
                      right.tree, transposed_result);
    };
  }
  const auto results = lax::custom_linear_solve(flat_matvec, right.arrays, flat_solve, options);
  return unflatten_arrays(result, results);
}

// ---- custom_root ----

// One call of custom_root.
struct RootCall {
  SolverCall call;
  TreeDef tree;                            // of the initial guess, of x, and of what f returns
  TreeDef result = {};                     // of what `solve` returned
  std::vector<ShapeDtype> x = {}, y = {};  // the types of x and of what f returns

  std::vector<Array> tangents(nb::handle object, const std::string& what) const {
    std::vector<nb::object> leaves;
    check_structure(flatten_tree(object, leaves), what, tree, call.whose);
    std::vector<Array> arrays;
    for (size_t i = 0; i < leaves.size(); ++i) {
      arrays.push_back(
          to_tangent(leaves[i], x[i], what + leaf_path(tree, i), TangentErrors::kType));
    }
    return arrays;
  }
};

nb::object custom_root(nb::handle f, nb::handle initial_guess, nb::handle solve,
                       nb::handle tangent_solve, bool has_aux) {
  check_callable(f, "custom_root: f");
  check_callable(solve, "custom_root: solve");
  check_callable(tangent_solve, "custom_root: tangent_solve");
  const FlatTree guess = flatten_arrays(initial_guess, "custom_root: initial_guess");
  // The solvers may keep the functions that they receive.
  const auto root =
      share(RootCall{SolverCall{"custom_root", "solve", "initial_guess", has_aux}, guess.tree});
  const FlatFunction flat_f = [&](Arrays x) {
    std::vector<Array> y = flatten_like(
        call_with_trees("custom_root", f, nb::make_tuple(unflatten_arrays(guess.tree, x))),
        "custom_root: what f returns", guess.tree, "initial_guess");
    root->y = types_of(y);
    return y;
  };
  const auto flat_solve = [&](const FlatFunction& function, Arrays start) {
    const auto apply = [root, function](nb::object x) {
      return unflatten_arrays(root->tree, function(flatten_like(x, root->call.argument("f"),
                                                                root->tree, root->call.whose)));
    };
    std::vector<Array> found =
        root->call.run(solve, nb::cpp_function(apply, nb::name("f")),
                       unflatten_arrays(root->tree, start), root->tree, root->result);
    root->x = types_of(std::span(found).first(start.size()));
    return found;
  };
  const auto flat_tangent_solve = [&](const FlatFunction& g, Arrays y) {
    const auto apply = [root, g](nb::object dx) {
      return unflatten_tangents(root->tree, g(root->tangents(dx, root->call.argument("g"))),
                                root->y);
    };
    nb::object found = call_with_trees("custom_root", tangent_solve,
                                       nb::make_tuple(nb::cpp_function(apply, nb::name("g")),
                                                      unflatten_tangents(root->tree, y, root->y)));
    return root->tangents(found, "custom_root: what tangent_solve returns");
  };
  const auto results = lax::custom_root(flat_f, guess.arrays, flat_solve, flat_tangent_solve);
  return unflatten_arrays(root->result, results);
}

}  // namespace

void bind_linear_functions(nb::module_& module) {
  module.def("linear_call", linear_call, nb::arg("fun").none(), nb::arg("fun_transpose").none(),
             nb::arg("residual_args").none(), nb::arg("linear_args").none());
  module.def("custom_linear_solve", custom_linear_solve, nb::arg("matvec").none(),
             nb::arg("b").none(), nb::arg("solve").none(), nb::arg("transpose_solve").none(),
             nb::arg("symmetric"), nb::arg("has_aux"));
  module.def("custom_root", custom_root, nb::arg("f").none(), nb::arg("initial_guess").none(),
             nb::arg("solve").none(), nb::arg("tangent_solve").none(), nb::arg("has_aux"));
}

}  // namespace farcall::python
