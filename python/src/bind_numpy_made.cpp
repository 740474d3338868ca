// farcall.numpy: windows, norms, matrices and grids.
#include "bind.h"

#include <cmath>
#include <optional>
#include <string>

#include <farcall/numpy/matrices.h>
#include <farcall/numpy/norms.h>
#include <farcall/numpy/windows.h>

#include "bound_function.h"

namespace farcall::python {

template <>
struct Argument<numpy::linalg::NormOrder> {
  static numpy::linalg::NormOrder from(nb::handle object, ArgumentPlace place) {
    if (object.is_none()) return {};
    if (PyUnicode_Check(object.ptr())) return Argument<std::string>::from(object, place);
    return Argument<double>::from(object, place);
  }
};

namespace {

using OptionalArray = std::optional<Array>;
using OptionalDType = std::optional<DType>;
using OptionalSize = std::optional<int64_t>;
using Sizes = std::vector<int64_t>;

void bind_matrices(nb::module_& module) {
  const Parameter columns = {"M", nb::none()}, k = {"k", 0}, dtype = {"dtype", nb::none()};
  using Eye = Array (*)(int64_t, OptionalSize, int64_t, OptionalDType);
  def_function(module, "eye", static_cast<Eye>(numpy::eye), {"N", columns, k, dtype});
  def_function(module, "identity",
               [](int64_t n, OptionalDType dtype) { return numpy::eye(n, n, 0, dtype); },
               {"n", dtype});
  def_function(module, "tri",
               [](int64_t rows, OptionalSize columns, int64_t k, OptionalDType dtype) {
                 return numpy::tri(rows, columns, k, dtype.value_or(DType::kFloat32));
               },
               {"N", columns, k, dtype});
  def_function(module, "tril_indices", numpy::tril_indices, {"n", k, {"m", nb::none()}});
  def_function(module, "triu_indices", numpy::triu_indices, {"n", k, {"m", nb::none()}});
  def_function(module, "diag", numpy::diag, {"v", k});
  def_function(module, "diagflat", numpy::diagflat, {"v", k});
  def_function(module, "vander", numpy::vander, {"x", {"N", nb::none()}, {"increasing", false}});
  def_function(module, "_meshgrid",
               [](const std::vector<Array>& xi, bool sparse, const std::string& indexing) {
                 return numpy::meshgrid(xi, indexing, sparse);
               },
               {"xi", "sparse", "indexing"});
  def_function(module, "indices",
               [](const Sizes& dimensions, OptionalDType dtype, bool sparse) -> nb::object {
                 if (!sparse) return to_python(numpy::indices(dimensions, dtype));
                 return nb::tuple(to_python(numpy::sparse_indices(dimensions, dtype)));
               },
               {"dimensions", dtype, {"sparse", false}});
}

void bind_windows(nb::module_& module) {
  const std::pair<const char*, Array (*)(int64_t)> windows[] = {{"bartlett", numpy::bartlett},
                                                                {"blackman", numpy::blackman},
                                                                {"hamming", numpy::hamming},
                                                                {"hanning", numpy::hanning}};
  for (const auto& [name, function] : windows) def_function(module, name, function, {"M"});
  def_function(module, "kaiser", numpy::kaiser, {"M", "beta"});
}

void bind_covariances(nb::module_& module) {
  const Parameter y = {"y", nb::none()}, rowvar = {"rowvar", true}, dtype = {"dtype", nb::none()};
  def_function(
      module, "cov",
      [](const Array& m, const OptionalArray& y, bool rowvar, bool bias, OptionalSize ddof,
         const OptionalArray& fweights, const OptionalArray& aweights, OptionalDType dtype) {
        return numpy::cov(m, {y, rowvar, bias, ddof, fweights, aweights, dtype});
      },
      {"m",
       y,
       rowvar,
       {"bias", false},
       {"ddof", nb::none()},
       {"fweights", nb::none()},
       {"aweights", nb::none()},
       dtype});
  def_function(module, "corrcoef",
               [](const Array& x, const OptionalArray& y, bool rowvar, OptionalDType dtype) {
                 return numpy::corrcoef(x, {.y = y, .rowvar = rowvar, .dtype = dtype});
               },
               {"x", y, rowvar, dtype});
}

}  // namespace

void bind_numpy_made(nb::module_& module) {
  bind_matrices(module);
  bind_windows(module);
  bind_covariances(module);
}

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
}

}  // namespace farcall::python
