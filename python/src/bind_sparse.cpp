// farcall.scipy.sparse.linalg over pytrees. The C++ functions work on flat lists.
#include "bind.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/numpy/products.h>
#include <farcall/scipy/sparse.h>

#include "convert.h"
#include "flat_tree.h"
#include "traced_function.h"

namespace farcall::python {
namespace {

namespace solvers = scipy::sparse::linalg;

void check_is_square(nb::handle matrix, const std::string& what, std::span<const int64_t> shape) {
  if (shape.size() == 2 && shape[0] == shape[1]) return;
  invalid_argument(
      fmt::format("{} must be a function or a square matrix, got {}", what, repr_of(matrix)));
}

// The product with a function, a matrix, or an object with the operator @.
FlatFunction product_with(nb::handle linear, const char* function, const char* name,
                          const TreeDef& tree) {
  const std::string what = fmt::format("{}: {}", function, name);
  const auto over_trees = [=](nb::object call) -> FlatFunction {
    return [=](std::span<const Array> x) {
      return flatten_like(
          call_with_trees(function, call, nb::make_tuple(unflatten_arrays(tree, x))),
          fmt::format("{}: what {} returns", function, name), tree, "b");
    };
  };
  if (PyCallable_Check(linear.ptr())) return over_trees(nb::borrow(linear));
  if (const Array matrix = try_to_array(linear); !matrix.is_null()) {
    check_is_square(linear, what, matrix.shape());
    if (!tree.is_leaf()) {
      throw TypeError(
          fmt::format("{} is a matrix, so b must be an array, not {}; pass a function "
                      "of such trees",
                      what, tree.to_string()));
    }
    return
        [matrix](std::span<const Array> x) { return std::vector<Array>{numpy::dot(matrix, x[0])}; };
  }
  if (!nb::hasattr(linear, "__matmul__")) {
    throw TypeError(fmt::format("{} must be a function or a square matrix, got {} of type {}", what,
                                repr_of(linear), Py_TYPE(linear.ptr())->tp_name));
  }
  if (nb::hasattr(linear, "shape")) {
    check_is_square(linear, what, to_sizes(linear.attr("shape"), what + ".shape"));
  }
  return over_trees(linear.attr("__matmul__"));
}

// The arguments that all solvers have.
struct System {
  TreeDef tree;
  std::vector<Array> b;
  FlatFunction a;

  System(const char* function, nb::handle a, nb::handle b) {
    FlatTree right = flatten_arrays(b, fmt::format("{}: b", function));
    tree = right.tree;
    this->b = std::move(right.arrays);
    this->a = product_with(a, function, "A", tree);
  }
  void read(const char* function, nb::handle x0, nb::handle tol, nb::handle atol,
            nb::handle maxiter, nb::handle m, solvers::IterationOptions& options) const {
    if (!x0.is_none()) {
      FlatTree start = flatten_arrays(x0, fmt::format("{}: x0", function));
      if (!(start.tree == tree)) {
        invalid_argument(fmt::format("{}: x0 must have the structure of b, {}, got {}", function,
                                     tree.to_string(), start.tree.to_string()));
      }
      options.start = std::move(start.arrays);
    }
    options.tol = argument(tol, function, "tol");
    options.atol = argument(atol, function, "atol");
    if (!maxiter.is_none()) options.max_iterations = argument(maxiter, function, "maxiter");
    if (!m.is_none()) options.preconditioner = product_with(m, function, "M", tree);
  }
};

using Solver = std::vector<Array> (*)(const FlatFunction&, std::span<const Array>,
                                      const solvers::IterationOptions&);

void def_solver(nb::module_& module, const char* name, Solver solver) {
  const auto solve = [=](nb::handle a, nb::handle b, nb::handle x0, nb::handle tol, nb::handle atol,
                         nb::handle maxiter, nb::handle m) {
    const System system(name, a, b);
    solvers::IterationOptions options;
    system.read(name, x0, tol, atol, maxiter, m, options);
    return unflatten_arrays(system.tree, solver(system.a, system.b, options));
  };
  module.def(name, solve, nb::arg("a").none(), nb::arg("b").none(), nb::arg("x0").none(),
             nb::arg("tol").none(), nb::arg("atol").none(), nb::arg("maxiter").none(),
             nb::arg("m").none());
}

nb::object gmres(nb::handle a, nb::handle b, nb::handle x0, nb::handle tol, nb::handle atol,
                 int64_t restart, nb::handle maxiter, nb::handle m, bool is_incremental) {
  const System system("gmres", a, b);
  solvers::GmresOptions options{{}, restart, is_incremental};
  system.read("gmres", x0, tol, atol, maxiter, m, options);
  return unflatten_arrays(system.tree, solvers::gmres(system.a, system.b, options));
}

}  // namespace

void bind_sparse(nb::module_& module) {
  def_solver(module, "cg", solvers::cg);
  def_solver(module, "bicgstab", solvers::bicgstab);
  module.def("gmres", gmres, nb::arg("a").none(), nb::arg("b").none(), nb::arg("x0").none(),
             nb::arg("tol").none(), nb::arg("atol").none(), nb::arg("restart"),
             nb::arg("maxiter").none(), nb::arg("m").none(), nb::arg("is_incremental"));
}

}  // namespace farcall::python
