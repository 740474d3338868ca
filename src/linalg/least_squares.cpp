// pinv: the Moore-Penrose inverse.
#include <limits>

#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/custom.h>
#include <farcall/trace/differentiate.h>

#include "linalg/internal/arrays.h"
#include "linalg/internal/epsilon.h"

namespace farcall::linalg {
namespace {

// Factors x = u diag(s) vh, with s in descending order of modulus.
Svd factors_of(const Array& x, bool hermitian) {
  if (!hermitian) return svd(x, false);
  const auto [v, w] = eigh(x);
  return {v, w, adjoint(v)};
}

Array invert(const Array& x, const Array& rcond, bool hermitian) {
  const auto [u, s, vh] = factors_of(x, hermitian);
  const Array size = lax::abs(s);
  const Array largest = numpy::max(size, std::vector<int64_t>{-1}, /*keepdims=*/true);
  const Array limit = as_column(numpy::broadcast_to(rcond, with_last(s.type(), 1, {}))) * largest;
  const Array is_kept = numpy::greater(size, limit);
  const Array one = number(1, s.dtype());
  const Array inverse = numpy::where(is_kept, numpy::divide(one, numpy::where(is_kept, s, one)),
                                     number(0, s.dtype()));
  return matmul(adjoint(vh) * as_row(lax::convert_element_type(inverse, x.dtype())), adjoint(u));
}

// dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P, for constant rank (G. Golub, V.
// Pereyra, The differentiation of pseudo-inverses, 1973).
Array tangent_of(const Array& a, const Array& p, const Array& da) {
  const Array dah = adjoint(da), ph = adjoint(p);
  const Array left = matmul(matmul(p, ph), dah), right = matmul(dah, matmul(ph, p));
  const Array in_range = matmul(p, matmul(da, p));
  return lax::sub(left - matmul(matmul(left, a), p) + right - matmul(p, matmul(a, right)),
                  in_range);
}

}  // namespace

double epsilon(DType dtype) {
  return real_dtype(dtype) == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                              : std::numeric_limits<double>::epsilon();
}

Array pinv(const Array& a, const std::optional<Array>& rcond, bool hermitian) {
  check_matrices("pinv", a);
  if (rows(a) == 0 || columns(a) == 0) {
    return numpy::zeros(with_last(a.type(), 2, {columns(a), rows(a)}), a.dtype());
  }
  const DType real = real_dtype(a.dtype());
  const auto largest = static_cast<double>(std::max(rows(a), columns(a)));
  const Array limit = rcond ? lax::convert_element_type(*rcond, real)
                            : number(10 * largest * epsilon(a.dtype()), real);
  auto call = std::make_shared<CustomCall>();
  call->name = "pinv";
  call->function = [hermitian](std::span<const Array> inputs) {
    return std::vector<Array>{invert(inputs[0], inputs[1], hermitian)};
  };
  call->jvp = [hermitian](std::span<const Array> primals, std::span<const Array> tangents) {
    const Array p = pinv(primals[0], primals[1], hermitian);
    if (tangents[0].is_null()) return JvpResults{{p}, {Array()}};
    return JvpResults{{p}, {tangent_of(primals[0], p, tangents[0])}};
  };
  const Array inputs[] = {a, limit};
  return call_custom(call, inputs)[0];
}

}  // namespace farcall::linalg
