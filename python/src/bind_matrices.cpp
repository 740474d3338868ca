// farcall.numpy.linalg and farcall.scipy.linalg: norms, matrices of special forms.
#include "bind.h"

#include <optional>
#include <string>

#include <farcall/numpy/norms.h>
#include <farcall/scipy/special_matrices.h>

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
  def_function(module, "hilbert", linalg::hilbert, {"n"});
  def_function(module, "hadamard", linalg::hadamard, {"n", {"dtype", "int32"}});
  def_function(
      module, "dft",
      [](int64_t n, const std::optional<std::string>& scale) { return linalg::dft(n, scale); },
      {"n", {"scale", nb::none()}});
  // The last three are for programs written for JAX; without effect.
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

}  // namespace

void bind_matrices(nb::module_& module) {
  bind_norms(module);
  bind_special_matrices(module);
}

}  // namespace farcall::python
