// farcall.numpy.linalg, and helpers of its functions that return named tuples.
#include "bind.h"

#include <optional>
#include <string>

#include <farcall/numpy/linalg.h>
#include <farcall/numpy/norms.h>
#include <farcall/numpy/products.h>

#include "bound_function.h"
#include "convert.h"

namespace farcall::python {

template <>
struct Argument<numpy::linalg::NormOrder> {
  static numpy::linalg::NormOrder from(nb::handle object, ArgumentPlace place) {
    if (object.is_none()) return {};
    if (PyUnicode_Check(object.ptr())) return Argument<std::string>::from(object, place);
    return Argument<double>::from(object, place);
  }
};

// "L" or "U": which triangle to read.
struct Triangle {
  bool lower;
};
template <>
struct Argument<Triangle> {
  static Triangle from(nb::handle object, ArgumentPlace place) {
    return {object.is_none() || index_of_word(object, place, {"U", "L"}) == 1};
  }
};

enum class QrMode { kReduced, kComplete, kR, kRaw };
template <>
struct Argument<QrMode> {
  static QrMode from(nb::handle object, ArgumentPlace place) {
    return static_cast<QrMode>(index_of_word(object, place, {"reduced", "complete", "r", "raw"}));
  }
};

namespace {

using OptionalArray = std::optional<Array>;
using OptionalDType = std::optional<DType>;

void bind_norms(nb::module_& module) {
  using numpy::Axes;
  using numpy::linalg::NormOrder;
  const Parameter axis = {"axis", nb::none()}, keepdims = {"keepdims", false};
  def_function<3>(module, "vector_norm",
                  [](const Array& x, const Axes& axes, bool keepdims, const NormOrder& order) {
                    return numpy::linalg::vector_norm(x, axes, keepdims, order);
                  },
                  {"x", axis, keepdims, {"ord", 2}});
  def_function<2>(module, "matrix_norm", numpy::linalg::matrix_norm,
                  {"x", keepdims, {"ord", "fro"}});
  def_function(module, "norm", numpy::linalg::norm, {"x", {"ord", nb::none()}, axis, keepdims});
  def_function(module, "cond", numpy::linalg::cond, {"x", {"p", nb::none()}});
}

void bind_numpy_factorizations(nb::module_& module) {
  const Parameter symmetrize = {"symmetrize_input", true}, hermitian = {"hermitian", false},
                  subset = {"subset_by_index", nb::none()};
  def_function<2>(module, "cholesky", numpy::linalg::cholesky, {"a", {"upper", false}, symmetrize});
  def_function(module, "_qr",
               [](const Array& a, QrMode mode) {
                 if (mode == QrMode::kRaw) {
                   const auto [factors, taus] = numpy::linalg::raw_qr(a);
                   return to_python(std::pair(factors, taus));
                 }
                 const auto [q, r] = numpy::linalg::qr(a, mode == QrMode::kComplete);
                 return mode == QrMode::kR ? to_python(r) : to_python(std::pair(q, r));
               },
               {"a", "mode"});
  def_function(module, "_svd",
               [](const Array& a, bool full_matrices, bool compute_uv, bool hermitian,
                  const std::optional<std::pair<int64_t, int64_t>>& subset) {
                 const numpy::linalg::SvdOptions options = {full_matrices, hermitian, subset};
                 if (!compute_uv) return to_python(numpy::linalg::svdvals(a, options));
                 const auto [u, s, vh] = numpy::linalg::svd(a, options);
                 return to_python(std::tuple(u, s, vh));
               },
               {"a", "full_matrices", "compute_uv", hermitian, subset});
  def_function(module, "svdvals", [](const Array& x) { return numpy::linalg::svdvals(x); }, {"x"});
  def_function(module, "_eigh",
               [](const Array& a, Triangle uplo, bool symmetrize) {
                 const auto [v, w] = numpy::linalg::eigh(a, uplo.lower, symmetrize);
                 return std::pair(w, v);
               },
               {"a", "UPLO", "symmetrize_input"});
  def_function<1>(module, "eigvalsh",
                  [](const Array& a, Triangle uplo, bool symmetrize) {
                    return numpy::linalg::eigh(a, uplo.lower, symmetrize).w;
                  },
                  {"a", {"UPLO", "L"}, symmetrize});
  def_function(module, "_eig",
               [](const Array& a) {
                 const auto [w, left, v] = numpy::linalg::eig(a);
                 return std::pair(w, v);
               },
               {"a"});
  def_function(module, "eigvals", numpy::linalg::eigvals, {"a"});
  def_function(module, "_slogdet",
               [](const Array& a) {
                 const auto [sign, logabsdet] = numpy::linalg::slogdet(a);
                 return std::pair(sign, logabsdet);
               },
               {"a"});
}

void bind_numpy_systems(nb::module_& module) {
  const Parameter hermitian = {"hermitian", false}, rtol = {"rtol", nb::none()};
  def_function(module, "solve", numpy::linalg::solve, {"a", "b"});
  def_function(module, "inv", numpy::linalg::inv, {"a"});
  def_function(module, "det", numpy::linalg::det, {"a"});
  def_function<1>(
      module, "pinv",
      [](const Array& a, const OptionalArray& rtol, bool hermitian, const OptionalArray& rcond) {
        if (rtol && rcond) {
          invalid_argument("pinv: rtol and rcond are the same thing; give one");
        }
        return numpy::linalg::pinv(a, rtol ? rtol : rcond, hermitian);
      },
      {"a", rtol, hermitian, {"rcond", nb::none()}});
  def_function<1>(
      module, "lstsq",
      [](const Array& a, const Array& b, std::optional<double> rcond, bool numpy_resid) {
        const auto [x, residuals, rank, s] = numpy::linalg::lstsq(a, b, {rcond, numpy_resid});
        return std::tuple(x, residuals, rank, s);
      },
      {"a", "b", {"rcond", nb::none()}, {"numpy_resid", false}});
  def_function(module, "tensorinv", numpy::linalg::tensorinv, {"a", {"ind", 2}});
  def_function(module, "tensorsolve",
               [](const Array& a, const Array& b, const std::optional<std::vector<int64_t>>& axes) {
                 return numpy::linalg::tensorsolve(a, b, axes.value_or(std::vector<int64_t>()));
               },
               {"a", "b", {"axes", nb::none()}});
  def_function<2>(
      module, "matrix_rank",
      [](const Array& m, const OptionalArray& rtol, bool hermitian, const OptionalArray& tol) {
        return numpy::linalg::matrix_rank(m, rtol ? rtol : tol, hermitian);
      },
      {"M", rtol, hermitian, {"tol", nb::none()}});
}

void bind_numpy_matrices(nb::module_& module) {
  const Parameter offset = {"offset", 0};
  def_function(module, "matrix_power", numpy::linalg::matrix_power, {"a", "n"});
  def_function<1>(module, "multi_dot",
                  [](const std::vector<Array>& arrays, AnyPrecision precision) {
                    const PrecisionScope scope(precision);
                    return numpy::linalg::multi_dot(arrays);
                  },
                  {"arrays", {"precision", nb::none()}});
  def_function<1>(module, "cross", numpy::linalg::cross, {"x1", "x2", {"axis", -1}});
  def_function(module, "matrix_transpose", numpy::linalg::matrix_transpose, {"x"});
  def_function<1>(module, "diagonal", numpy::linalg::diagonal, {"x", offset});
  def_function<2>(module, "trace", numpy::linalg::trace, {"x", offset, {"dtype", nb::none()}});
}

}  // namespace

void bind_numpy_linalg(nb::module_& module) {
  bind_norms(module);
  bind_numpy_factorizations(module);
  bind_numpy_systems(module);
  bind_numpy_matrices(module);
}

}  // namespace farcall::python
