// Matrices and grids, and covariances (namespace farcall::numpy); see ops/numpy.h for common rules.
// `k` is the number of a diagonal: 0 for the main one, positive above it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// Ones on diagonal k. Default: as many columns as rows, and default floats.
FARCALL_API Array eye(int64_t rows, std::optional<int64_t> columns, int64_t k,
                      std::optional<DType> dtype = {});
// Ones on and below diagonal k.
FARCALL_API Array tri(int64_t rows, std::optional<int64_t> columns = {}, int64_t k = 0,
                      DType dtype = DType::kFloat32);
// The row and column indices of the elements on and below, or on and above, diagonal k; default
// integers.
FARCALL_API std::pair<Array, Array> tril_indices(int64_t rows, int64_t k = 0,
                                                 std::optional<int64_t> columns = {});
FARCALL_API std::pair<Array, Array> triu_indices(int64_t rows, int64_t k = 0,
                                                 std::optional<int64_t> columns = {});
// The same for a matrix of the shape of x.
FARCALL_API std::pair<Array, Array> tril_indices_from(const Array& x, int64_t k = 0);
FARCALL_API std::pair<Array, Array> triu_indices_from(const Array& x, int64_t k = 0);
// Diagonal k of a matrix, or the matrix with this vector on diagonal k and zeros elsewhere.
FARCALL_API Array diag(const Array& v, int64_t k = 0);
FARCALL_API Array diagflat(const Array& v, int64_t k = 0);
// One row of powers for each element, the highest first unless `increasing`; `count` defaults to
// the number of elements.
FARCALL_API Array vander(const Array& x, std::optional<int64_t> count = {},
                         bool increasing = false);

// Coordinate arrays of the grid that the vectors span, one for each vector. `indexing` "xy"
// exchanges the first two dimensions, "ij" does not. If `sparse`, dimensions along which an array
// is constant have size one.
FARCALL_API std::vector<Array> meshgrid(ListOf<Array> vectors, std::string_view indexing = "xy",
                                        bool sparse = false);
// For each dimension the indices along it: stacked, or (sparse) with size one in the other
// dimensions.
FARCALL_API Array indices(ListOf<int64_t> shape, std::optional<DType> dtype = {});
FARCALL_API std::vector<Array> sparse_indices(ListOf<int64_t> shape,
                                              std::optional<DType> dtype = {});

struct CovOptions {
  std::optional<Array> y = {};       // observations of further variables
  bool rowvar = true;                // rows are variables; else columns are
  bool bias = false;                 // divide by the number of observations n, not n - 1
  std::optional<int64_t> ddof = {};  // divide by n - ddof; overrides `bias`
  std::optional<Array> fweights = {}, aweights = {};  // frequencies and weights of observations
  std::optional<DType> dtype = {};
};
FARCALL_API Array cov(const Array& m, const CovOptions& options = {});
// Covariances divided by the product of the standard deviations.
FARCALL_API Array corrcoef(const Array& m, const CovOptions& options = {});

}  // namespace farcall::numpy
