#include "linalg/internal/arrays.h"

#include <algorithm>
#include <complex>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>

namespace farcall::linalg {
namespace {

bool is_lapack_dtype(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kComplex64 ||
         dtype == DType::kComplex128;
}

Array block(const Array& x, size_t dimension, int64_t start, int64_t end) {
  std::vector<int64_t> starts(x.rank(), 0), ends(x.shape().begin(), x.shape().end());
  starts[dimension] = start;
  ends[dimension] = end;
  return lax::slice(x, starts, ends);
}

Array with_dimension(const Array& x, int64_t axis) {
  return numpy::expand_dims(x, std::span(&axis, 1));
}

}  // namespace

void check_matrices(std::string_view function, const Array& x) {
  if (x.rank() < 2) {
    invalid_argument(
        fmt::format("{}: takes matrices, which may be stacked along leading dimensions; got {}",
                    function, x.type().to_string()));
  }
  if (!is_lapack_dtype(x.dtype())) {
    invalid_argument(fmt::format(
        "{}: takes float32, float64, complex64 or complex128; got {}. Convert it with astype",
        function, x.type().to_string()));
  }
}

void check_square(std::string_view function, const Array& x) {
  check_matrices(function, x);
  if (rows(x) != columns(x)) {
    invalid_argument(
        fmt::format("{}: takes square matrices, got {}", function, x.type().to_string()));
  }
}

void check_alike(std::string_view function, const Array& a, const Array& b) {
  const bool alike = a.dtype() == b.dtype() && a.rank() == b.rank() &&
                     std::equal(a.shape().begin(), a.shape().end() - 2, b.shape().begin());
  if (!alike) {
    invalid_argument(
        fmt::format("{}: operands must have one dtype and the same leading dimensions; got {}, {}",
                    function, a.type().to_string(), b.type().to_string()));
  }
}

void check_sizes(std::string_view function, const Array& a, const Array& b, int64_t size) {
  if (rows(a) != size) {
    invalid_argument(fmt::format("{}: right-hand sides {} do not fit matrices {}", function,
                                 b.type().to_string(), a.type().to_string()));
  }
}

Shape with_last(ShapeDtype type, size_t dropped, std::initializer_list<int64_t> last) {
  Shape shape(type.shape().begin(), type.shape().end() - static_cast<std::ptrdiff_t>(dropped));
  shape.insert(shape.end(), last);
  return shape;
}

Array last_part(std::string_view function, const Array& x, const Subset& part) {
  if (!part) return x;
  const auto [first, end] = *part;
  if (first < 0 || end < first || end > columns(x)) {
    invalid_argument(
        fmt::format("{}: subset_by_index ({}, {}) must be (first, end) in 0 <= first <= "
                    "end <= {}",
                    function, first, end, columns(x)));
  }
  return block(x, x.rank() - 1, first, end);
}

Array conj(const Array& x) { return is_complex(x.dtype()) ? lax::conj(x) : x; }
Array transposed(const Array& x) { return numpy::swapaxes(x, -1, -2); }
Array adjoint(const Array& x) { return conj(transposed(x)); }
Array symmetrized(const Array& x) {
  return lax::mul(lax::add(x, adjoint(x)), number(0.5, x.dtype()));
}

Array diagonal(const Array& x) { return numpy::diagonal(x, 0, -2, -1); }

Array eye(int64_t size, DType dtype) { return numpy::eye(size, size, dtype); }

Array row_block(const Array& x, int64_t start, int64_t end) {
  return block(x, x.rank() - 2, start, end);
}
Array column_block(const Array& x, int64_t start, int64_t end) {
  return block(x, x.rank() - 1, start, end);
}

Array as_column(const Array& x) { return with_dimension(x, -1); }
Array as_row(const Array& x) { return with_dimension(x, -2); }

Array number(double value, DType dtype) {
  switch (dtype) {
    case DType::kInt32:
      return Array::scalar(static_cast<int32_t>(value));
    case DType::kFloat32:
      return Array::scalar(static_cast<float>(value));
    case DType::kComplex64:
      return Array::scalar(std::complex<float>(static_cast<float>(value)));
    case DType::kComplex128:
      return Array::scalar(std::complex<double>(value));
    default:
      return Array::scalar(value);
  }
}

}  // namespace farcall::linalg
