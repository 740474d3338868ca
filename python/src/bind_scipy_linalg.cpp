// farcall.scipy.linalg. Arguments bound as nb::handle (overwrite_a, check_finite and the like) are
// ignored.
#include "bind.h"

#include <optional>
#include <string>

#include <farcall/core/error.h>
#include <farcall/numpy/linalg.h>
#include <farcall/scipy/linalg.h>
#include <farcall/scipy/special_matrices.h>

#include "bound_function.h"
#include "convert.h"

namespace farcall::python {

// 0 or "N", 1 or "T", 2 or "C".
template <>
struct Argument<scipy::linalg::Op> {
  static scipy::linalg::Op from(nb::handle object, ArgumentPlace place) {
    if (PyUnicode_Check(object.ptr())) {
      return static_cast<scipy::linalg::Op>(index_of_word(object, place, {"N", "T", "C"}));
    }
    const bool is_whole = PyIndex_Check(object.ptr());
    const int64_t number = is_whole ? Argument<int64_t>::from(object, place) : -1;
    if (number >= 0 && number <= 2) return static_cast<scipy::linalg::Op>(number);
    invalid_argument(fmt::format("{}: {} must be 0, 1, 2, 'N', 'T' or 'C', got {}", place.function,
                                 place.name, repr_of(object)));
  }
};

// "gen", "sym", "her", or "pos" (Hermitian positive definite).
struct Assumption {
  bool is_positive;
};
template <>
struct Argument<Assumption> {
  static Assumption from(nb::handle object, ArgumentPlace place) {
    return {index_of_word(object, place, {"gen", "sym", "her", "pos"}) == 3};
  }
};

enum class ScipyQrMode { kFull, kEconomic, kR };
template <>
struct Argument<ScipyQrMode> {
  static ScipyQrMode from(nb::handle object, ArgumentPlace place) {
    return static_cast<ScipyQrMode>(index_of_word(object, place, {"full", "economic", "r"}));
  }
};

// Only one driver is available.
struct LapackDriver {};
template <>
struct Argument<LapackDriver> {
  static LapackDriver from(nb::handle object, ArgumentPlace place) {
    index_of_word(object, place, {"gesdd"});
    return {};
  }
};

// JAX's methods; both use the same implementation.
struct SylvesterMethod {};
template <>
struct Argument<SylvesterMethod> {
  static SylvesterMethod from(nb::handle object, ArgumentPlace place) {
    index_of_word(object, place, {"schur", "eigen"});
    return {};
  }
};

enum class SchurOutput { kReal, kComplex };
template <>
struct Argument<SchurOutput> {
  static SchurOutput from(nb::handle object, ArgumentPlace place) {
    return static_cast<SchurOutput>(index_of_word(object, place, {"real", "complex"}));
  }
};

// The eigenvalues to compute: "a": all, "i": a range of indices, "v": a range of values.
enum class Selection { kAll, kIndices, kValues };

template <>
struct Argument<Selection> {
  static Selection from(nb::handle object, ArgumentPlace place) {
    return static_cast<Selection>(index_of_word(object, place, {"a", "i", "v"}));
  }
};

enum class MultipliedSide { kRight, kLeft };
template <>
struct Argument<MultipliedSide> {
  static MultipliedSide from(nb::handle object, ArgumentPlace place) {
    return static_cast<MultipliedSide>(index_of_word(object, place, {"right", "left"}));
  }
};

namespace {

using FactorAndLower = std::pair<Array, bool>;
using FactorsAndPivots = std::pair<Array, Array>;

void bind_special_matrices(nb::module_& module) {
  using OptionalListed = std::optional<ListedArray>;
  using Banded = Array (*)(const Array&, const std::optional<Array>&);
  const std::pair<const char*, Banded> banded[] = {{"toeplitz", linalg::toeplitz},
                                                   {"hankel", linalg::hankel}};
  for (const auto& [name, function] : banded) {
    def_function(module, name,
                 [function = function](const ListedArray& c, const OptionalListed& r) {
                   return function(c, r ? std::optional(r->array) : std::nullopt);
                 },
                 {"c", {"r", nb::none()}});
  }
  def_function(module, "circulant", [](const ListedArray& c) { return linalg::circulant(c); },
               {"c"});
  def_function(module, "companion", [](const ListedArray& a) { return linalg::companion(a); },
               {"a"});
  def_function(module, "fiedler_companion", linalg::fiedler_companion, {"a"});
  def_function(module, "leslie", linalg::leslie, {"f", "s"});
  def_function(module, "convolution_matrix",
               [](const Array& a, int64_t n, const std::string& mode) {
                 return linalg::convolution_matrix(a, n, mode);
               },
               {"a", "n", {"mode", "full"}});
  def_function(module, "sqrtm",
               [](const Array& a, int64_t blocksize) {
                 if (blocksize > 1) {
                   throw Error(ErrorCode::kUnimplemented,
                               fmt::format("sqrtm: blocksize must be 1, got {}", blocksize));
                 }
                 return scipy::linalg::sqrtm(a);
               },
               {"A", {"blocksize", 1}});
  def_function<2>(module, "solve_sylvester",
                  [](const Array& a, const Array& b, const Array& c, SylvesterMethod, double tol) {
                    return scipy::linalg::solve_sylvester(a, b, c, tol);
                  },
                  {"A", "B", "C", {"method", "schur"}, {"tol", 1e-8}});
  def_function(module, "fiedler", [](const ListedArray& a) { return linalg::fiedler(a); }, {"a"});
  using OfKind = Array (*)(int64_t, std::string_view);
  const std::pair<const char*, OfKind> of_kinds[] = {{"pascal", linalg::pascal},
                                                     {"invpascal", linalg::invpascal}};
  for (const auto& [name, function] : of_kinds) {
    def_function(module, name,
                 [function = function](int64_t n, const std::optional<std::string>& kind) {
                   return function(n, kind.value_or("symmetric"));
                 },
                 {"n", {"kind", nb::none()}});
  }
  def_function(module, "hilbert", linalg::hilbert, {"n"});
  def_function(module, "invhilbert", linalg::invhilbert, {"n"});
  def_function(module, "helmert", linalg::helmert, {"n", {"full", false}});
  def_function(module, "hadamard", linalg::hadamard, {"n", {"dtype", "int32"}});
  def_function<1>(
      module, "dft",
      [](int64_t n, const std::optional<std::string>& scale, std::optional<DType> dtype) {
        const Array found = linalg::dft(n, scale);
        return dtype ? numpy::astype(found, *dtype) : found;
      },
      {"n", {"scale", nb::none()}, {"dtype", nb::none()}});
  // The last three arguments exist for compatibility with JAX and are ignored.
  def_function<3>(module, "polar",
                  [](const Array& a, const std::string& side, nb::handle, nb::handle, nb::handle) {
                    const linalg::Polar found = linalg::polar(a, side);
                    return std::pair(found.u, found.p);
                  },
                  {"a",
                   {"side", "right"},
                   {"method", "svd"},
                   {"eps", nb::none()},
                   {"max_iterations", nb::none()}});
  def_function(module, "_block_diag",
               [](const std::vector<Array>& blocks) { return linalg::block_diag(blocks); },
               {"arrs"});
}

void bind_triangular_systems(nb::module_& module) {
  const Parameter lower = {"lower", false}, overwrite_a = {"overwrite_a", false},
                  overwrite_b = {"overwrite_b", false}, check = {"check_finite", true},
                  trans = {"trans", 0};
  def_function(module, "cholesky",
               [](const Array& a, bool lower, nb::handle, nb::handle) {
                 return numpy::linalg::cholesky(a, /*upper=*/!lower);
               },
               {"a", lower, overwrite_a, check});
  def_function(module, "cho_factor",
               [](const Array& a, bool lower, nb::handle, nb::handle) {
                 return std::pair(numpy::linalg::cholesky(a, /*upper=*/!lower), lower);
               },
               {"a", lower, overwrite_a, check});
  def_function(module, "cho_solve",
               [](const FactorAndLower& c, const Array& b, nb::handle, nb::handle) {
                 return scipy::linalg::cho_solve(c.first, c.second, b);
               },
               {"c_and_lower", "b", overwrite_b, check});
  def_function(module, "solve_triangular",
               [](const Array& a, const Array& b, scipy::linalg::Op trans, bool lower,
                  bool unit_diagonal, nb::handle, nb::handle, nb::handle) {
                 return scipy::linalg::solve_triangular(
                     a, b, {.op = trans, .lower = lower, .unit_diagonal = unit_diagonal});
               },
               {"a",
                "b",
                trans,
                lower,
                {"unit_diagonal", false},
                overwrite_b,
                {"debug", nb::none()},
                check});
  def_function(module, "lu_solve",
               [](const FactorsAndPivots& lu, const Array& b, scipy::linalg::Op trans, nb::handle,
                  nb::handle) { return scipy::linalg::lu_solve(lu.first, lu.second, b, trans); },
               {"lu_and_piv", "b", trans, overwrite_b, check});
  def_function(
      module, "solve",
      [](const Array& a, const Array& b, bool lower, nb::handle, nb::handle, nb::handle, nb::handle,
         Assumption assumed) {
        if (!assumed.is_positive) return numpy::linalg::solve(a, b);
        return scipy::linalg::cho_solve(numpy::linalg::cholesky(a, !lower), lower, b);
      },
      {"a", "b", lower, overwrite_a, overwrite_b, {"debug", false}, check, {"assume_a", "gen"}});
}

void bind_scipy_factorizations(nb::module_& module) {
  const Parameter overwrite_a = {"overwrite_a", false}, check = {"check_finite", true};
  def_function(module, "lu_factor",
               [](const Array& a, nb::handle, nb::handle) {
                 const auto [factors, pivots, permutation] = scipy::linalg::lu_factor(a);
                 return std::pair(factors, pivots);
               },
               {"a", overwrite_a, check});
  def_function(module, "lu",
               [](const Array& a, bool permute_l, nb::handle, nb::handle) {
                 const auto [p, l, u] = scipy::linalg::lu(a);
                 if (!permute_l) return to_python(std::tuple(p, l, u));
                 return to_python(std::pair(numpy::matmul(numpy::astype(p, l.dtype()), l), u));
               },
               {"a", {"permute_l", false}, overwrite_a, check});
  def_function(
      module, "qr",
      [](const Array& a, nb::handle, nb::handle, ScipyQrMode mode, bool pivoting, nb::handle) {
        const bool is_full = mode != ScipyQrMode::kEconomic;
        const auto [q, r, order] = scipy::linalg::qr(a, {is_full, pivoting});
        nb::list made;
        if (mode != ScipyQrMode::kR) made.append(to_python(q));
        made.append(to_python(r));
        if (pivoting) made.append(to_python(order));
        return nb::tuple(made);
      },
      {"a", overwrite_a, {"lwork", nb::none()}, {"mode", "full"}, {"pivoting", false}, check});
  def_function(module, "svd",
               [](const Array& a, bool full_matrices, bool compute_uv, nb::handle, nb::handle,
                  LapackDriver) {
                 if (!compute_uv) return to_python(numpy::linalg::svdvals(a));
                 const auto [u, s, vh] = numpy::linalg::svd(a, {.full_matrices = full_matrices});
                 return to_python(std::tuple(u, s, vh));
               },
               {"a",
                {"full_matrices", true},
                {"compute_uv", true},
                overwrite_a,
                check,
                {"lapack_driver", "gesdd"}});
  def_function(module, "eigh",
               [](const Array& a, nb::handle b, nb::handle, bool eigvals_only, nb::handle,
                  nb::handle, nb::handle, nb::handle eigvals, int64_t type, nb::handle) {
                 if (!b.is_none() || !eigvals.is_none() || type != 1) {
                   throw Error(ErrorCode::kUnimplemented,
                               "eigh: b, eigvals and type other than 1 are not supported");
                 }
                 const auto [v, w] = numpy::linalg::eigh(a);
                 return eigvals_only ? to_python(w) : to_python(std::pair(w, v));
               },
               {"a",
                {"b", nb::none()},
                {"lower", true},
                {"eigvals_only", false},
                overwrite_a,
                {"overwrite_b", false},
                {"turbo", true},
                {"eigvals", nb::none()},
                {"type", 1},
                check});
  def_function<3>(module, "hessenberg",
                  [](const Array& a, bool calc_q, nb::handle, nb::handle) {
                    const auto [h, q] = scipy::linalg::hessenberg(a);
                    return calc_q ? to_python(std::pair(h, q)) : to_python(h);
                  },
                  {"a", {"calc_q", false}, overwrite_a, check});
  def_function(module, "rsf2csf",
               [](const Array& t, const Array& z, nb::handle) {
                 const auto [form, vectors] = scipy::linalg::rsf2csf(t, z);
                 return std::pair(form, vectors);
               },
               {"T", "Z", check});
  def_function(module, "schur",
               [](const Array& a, SchurOutput output) {
                 const auto [t, z] = scipy::linalg::schur(a, output == SchurOutput::kComplex);
                 return std::pair(t, z);
               },
               {"a", {"output", "real"}});
}

linalg::Subset indices_selected(Selection selection, nb::handle range) {
  if (selection == Selection::kAll) return {};
  if (selection == Selection::kValues) {
    throw Error(ErrorCode::kUnimplemented, "eigh_tridiagonal: select='v' is not supported");
  }
  const std::string function = "eigh_tridiagonal";
  const auto bounds =
      Argument<std::optional<std::vector<int64_t>>>::from(range, {function, "select_range"});
  if (!bounds || bounds->size() != 2) {
    invalid_argument(
        fmt::format("eigh_tridiagonal: select='i' needs select_range, the first and "
                    "the last index; got {}",
                    repr_of(range)));
  }
  return std::pair((*bounds)[0], (*bounds)[1] + 1);
}

void bind_more_factorizations(nb::module_& module) {
  const Parameter overwrite_a = {"overwrite_a", false};
  // `tol` and `key` exist for compatibility with JAX and are ignored.
  def_function<5>(module, "eigh_tridiagonal",
                  [](const Array& d, const Array& e, bool eigvals_only, Selection select,
                     nb::handle range, nb::handle, nb::handle) {
                    const auto [v, w] =
                        scipy::linalg::eigh_tridiagonal(d, e, indices_selected(select, range));
                    return eigvals_only ? to_python(w) : to_python(std::pair(w, v));
                  },
                  {"d",
                   "e",
                   {"eigvals_only", false},
                   {"select", "a"},
                   {"select_range", nb::none()},
                   {"tol", nb::none()},
                   {"key", nb::none()}});
  def_function(module, "qr_multiply",
               [](const Array& a, const Array& c, MultipliedSide side, bool pivoting,
                  bool conjugate, nb::handle, nb::handle) {
                 const auto [product, r, order] = scipy::linalg::qr_multiply(
                     a, c, {side == MultipliedSide::kLeft, pivoting, conjugate});
                 return pivoting ? to_python(std::tuple(product, r, order))
                                 : to_python(std::pair(product, r));
               },
               {"a",
                "c",
                {"mode", "right"},
                {"pivoting", false},
                {"conjugate", false},
                overwrite_a,
                {"overwrite_c", false}});
  def_function(module, "_funm",
               [](const Array& t, const Array& z, const Array& values) {
                 const auto [value, error] = scipy::linalg::funm(t, z, values);
                 return std::pair(value, error);
               },
               {"T", "Z", "values"});
}

void bind_functions_of_matrices(nb::module_& module) {
  const Parameter overwrite_a = {"overwrite_a", false}, check = {"check_finite", true};
  const std::pair<const char*, Array (*)(const Array&)> unary[] = {{"inv", numpy::linalg::inv},
                                                                   {"det", numpy::linalg::det}};
  for (const auto& [name, function] : unary) {
    def_function(
        module, name,
        [function = function](const Array& a, nb::handle, nb::handle) { return function(a); },
        {"a", overwrite_a, check});
  }
  def_function<2>(module, "expm",
                  [](const Array& a, bool upper_triangular, int64_t max_squarings) {
                    return scipy::linalg::expm(a, {upper_triangular, max_squarings});
                  },
                  {"A", {"upper_triangular", false}, {"max_squarings", 16}});
  // `method` exists for compatibility with JAX and is ignored.
  def_function<2>(module, "expm_frechet",
                  [](const Array& a, const Array& e, nb::handle, bool compute_expm) {
                    const auto [value, derivative] = scipy::linalg::expm_frechet(a, e);
                    return compute_expm ? to_python(std::pair(value, derivative))
                                        : to_python(derivative);
                  },
                  {"A", "E", {"method", nb::none()}, {"compute_expm", true}});
}

}  // namespace

void bind_scipy_linalg(nb::module_& module) {
  bind_special_matrices(module);
  bind_triangular_systems(module);
  bind_scipy_factorizations(module);
  bind_more_factorizations(module);
  bind_functions_of_matrices(module);
}

}  // namespace farcall::python
