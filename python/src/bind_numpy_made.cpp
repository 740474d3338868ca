// farcall.numpy: windows, matrices, grids and polynomials.
#include "bind.h"

#include <optional>
#include <string>

#include <farcall/numpy/matrices.h>
#include <farcall/numpy/polynomials.h>
#include <farcall/numpy/windows.h>

#include "bound_function.h"

namespace farcall::python {

namespace {

using OptionalArray = std::optional<Array>;
using OptionalDType = std::optional<DType>;
using OptionalSize = std::optional<int64_t>;
using Sizes = std::vector<int64_t>;

void bind_grids(nb::module_& module) {
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

void bind_polynomials(nb::module_& module) {
  def_function<1>(module, "polyval",
                  [](const Array& p, const Array& x, nb::handle) { return numpy::polyval(p, x); },
                  {"p", "x", {"unroll", 16}});
  const std::pair<const char*, Array (*)(const Array&, const Array&)> sums[] = {
      {"polyadd", numpy::polyadd}, {"polysub", numpy::polysub}};
  for (const auto& [name, function] : sums) {
    def_function(module, name,
                 [function = function](const ListedArray& a1, const ListedArray& a2) {
                   return function(a1, a2);
                 },
                 {"a1", "a2"});
  }
  def_function(module, "polyder",
               [](const ListedArray& p, int64_t order) { return numpy::polyder(p, order); },
               {"p", {"m", 1}});
  def_function(module, "polyint",
               [](const ListedArray& p, int64_t order, const std::optional<ListedArray>& k) {
                 return numpy::polyint(p, order, k ? OptionalArray(k->array) : std::nullopt);
               },
               {"p", {"m", 1}, {"k", nb::none()}});
  def_function(module, "poly", numpy::poly, {"seq_of_zeros"});
}

}  // namespace

void bind_numpy_made(nb::module_& module) {
  bind_polynomials(module);
  bind_grids(module);
  bind_windows(module);
  bind_covariances(module);
}

}  // namespace farcall::python
