// farcall.lax.linalg.
#include "bind.h"

#include <nanobind/stl/string.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/linalg/linalg.h>

#include "array_object.h"
#include "bound_function.h"
#include "convert.h"

namespace farcall::python {
namespace {

// Skips null arrays.
nb::tuple wrap_present(std::initializer_list<Array> arrays) {
  nb::list result;
  for (const Array& array : arrays) {
    if (!array.is_null()) result.append(wrap_object(array));
  }
  return nb::tuple(result);
}

void bind_factorizations(nb::module_& module) {
  module.def(
      "cholesky",
      [](nb::handle x, bool symmetrize_input) {
        return wrap_object(linalg::cholesky(argument(x, "cholesky", "x"), symmetrize_input));
      },
      nb::arg("x").none(), nb::kw_only(), nb::arg("symmetrize_input") = true);
  module.def(
      "lu",
      [](nb::handle x) {
        const auto [lu, pivots, permutation] = linalg::lu(argument(x, "lu", "x"));
        return wrap_present({lu, pivots, permutation});
      },
      nb::arg("x").none());
  module.def(
      "lu_pivots_to_permutation",
      [](nb::handle pivots, int64_t size) {
        return wrap_object(linalg::lu_pivots_to_permutation(
            argument(pivots, "lu_pivots_to_permutation", "pivots"), size));
      },
      nb::arg("pivots").none(), nb::arg("permutation_size"));
  def_function(module, "_qr",
               [](const Array& x, bool pivoting, bool full_matrices) {
                 if (pivoting) {
                   const auto [q, r, order] = linalg::pivoted_qr(x, full_matrices);
                   return wrap_present({q, r, order});
                 }
                 const auto [q, r] = linalg::qr(x, full_matrices);
                 return wrap_present({q, r});
               },
               {"x", "pivoting", "full_matrices"});
  module.def(
      "householder_product",
      [](nb::handle a, nb::handle taus) {
        return wrap_object(
            linalg::householder_product(argument(a, "householder_product", "a"),
                                        argument(taus, "householder_product", "taus")));
      },
      nb::arg("a").none(), nb::arg("taus").none());
  module.def(
      "schur",
      [](nb::handle x, bool vectors) {
        const auto [t, q] = linalg::schur(argument(x, "schur", "x"), vectors);
        return wrap_present({t, q});
      },
      nb::arg("x").none(), nb::arg("vectors"));
}

void bind_condensed_forms(nb::module_& module) {
  def_function(module, "hessenberg",
               [](const Array& a) {
                 const auto [h, taus] = linalg::hessenberg(a);
                 return wrap_present({h, taus});
               },
               {"a"});
  def_function<1>(module, "tridiagonal",
                  [](const Array& a, bool lower) {
                    const auto [t, d, e, taus] = linalg::tridiagonal(a, lower);
                    return wrap_present({t, d, e, taus});
                  },
                  {"a", {"lower", true}});
}

void bind_matrix_products(nb::module_& module) {
  def_function<2>(module, "ormqr",
                  [](const Array& a, const Array& taus, const Array& c, bool left, bool transpose) {
                    return linalg::ormqr(a, taus, c, {left, transpose});
                  },
                  {"a", "taus", "c", {"left", true}, {"transpose", false}});
  def_function<3>(
      module, "symmetric_product",
      [](const Array& a, const Array& c, double alpha, double beta, bool symmetrize_output) {
        return linalg::symmetric_product(a, c, {alpha, beta, symmetrize_output});
      },
      {"a_matrix", "c_matrix", {"alpha", 1.0}, {"beta", 0.0}, {"symmetrize_output", false}});
  def_function(module, "cholesky_update", linalg::cholesky_update, {"r_matrix", "w_vector"});
  // is_hermitian exists for compatibility with JAX and is ignored.
  def_function<4>(
      module, "qdwh",
      [](const Array& x, nb::handle, std::optional<int64_t> max_iterations,
         std::optional<double> eps, nb::handle dynamic_shape) {
        if (!dynamic_shape.is_none()) {
          throw Error(ErrorCode::kUnimplemented,
                      "qdwh: dynamic_shape must be None; slice x to its true shape");
        }
        const auto [u, h, iterations, is_converged] = linalg::qdwh(x, {max_iterations, eps});
        return wrap_present({u, h, iterations, is_converged});
      },
      {"x",
       {"is_hermitian", false},
       {"max_iterations", nb::none()},
       {"eps", nb::none()},
       {"dynamic_shape", nb::none()}});
}

void bind_spectra(nb::module_& module) {
  def_function(module, "_eigh",
               [](const Array& x, bool lower, bool symmetrize_input, const linalg::Subset& subset) {
                 const auto [v, w] = linalg::eigh(x, lower, symmetrize_input, subset);
                 return wrap_present({v, w});
               },
               {"x", "lower", "symmetrize_input", "subset_by_index"});
  def_function(module, "_svd",
               [](const Array& x, bool full_matrices, const linalg::Subset& subset) {
                 const auto [u, s, vh] = linalg::svd(x, full_matrices, subset);
                 return wrap_present({u, s, vh});
               },
               {"x", "full_matrices", "subset_by_index"});
  def_function(module, "_singular_values", linalg::singular_values, {"x", "subset_by_index"});
  module.def(
      "eig",
      [](nb::handle x, bool left, bool right, bool enable_eigvec_derivs) {
        const auto [w, vl, vr] =
            linalg::eig(argument(x, "eig", "x"), left, right, enable_eigvec_derivs);
        return wrap_present({w, vl, vr});
      },
      nb::arg("x").none(), nb::arg("left"), nb::arg("right"), nb::arg("enable_eigvec_derivs"));
}

void bind_systems(nb::module_& module) {
  def_function<1>(module, "tridiagonal_solve", linalg::tridiagonal_solve,
                  {"dl", "d", "du", "b", {"perturb_singular", false}});
  module.def(
      "triangular_solve",
      [](nb::handle a, nb::handle b, bool left_side, bool lower, bool transpose_a, bool conjugate_a,
         bool unit_diagonal) {
        return wrap_object(linalg::triangular_solve(
            argument(a, "triangular_solve", "a"), argument(b, "triangular_solve", "b"),
            {left_side, lower, transpose_a, conjugate_a, unit_diagonal}));
      },
      nb::arg("a").none(), nb::arg("b").none(), nb::kw_only(), nb::arg("left_side") = false,
      nb::arg("lower") = false, nb::arg("transpose_a") = false, nb::arg("conjugate_a") = false,
      nb::arg("unit_diagonal") = false);
}

}  // namespace

void bind_linalg(nb::module_& module) {
  bind_factorizations(module);
  bind_condensed_forms(module);
  bind_matrix_products(module);
  bind_spectra(module);
  bind_systems(module);
}

}  // namespace farcall::python
