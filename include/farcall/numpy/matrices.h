// Matrices and grids made from few numbers, and covariances (namespace farcall::numpy); see
// ops/numpy.h for what all of its functions share. `k` counts diagonals, from the main one upward.
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

// Ones on diagonal k; as many columns as rows, and default floats, where they are left out.
FARCALL_API Array eye(int64_t rows, std::optional<int64_t> columns, int64_t k,
                      std::optional<DType> dtype = {});
// Ones on and below diagonal k.
FARCALL_API Array tri(int64_t rows, std::optional<int64_t> columns = {}, int64_t k = 0,
                      DType dtype = DType::kFloat32);
// Rows and columns of the places on and below, or on and above, diagonal k; default integers.
FARCALL_API std::pair<Array, Array> tril_indices(int64_t rows, int64_t k = 0,
                                                 std::optional<int64_t> columns = {});
FARCALL_API std::pair<Array, Array> triu_indices(int64_t rows, int64_t k = 0,
                                                 std::optional<int64_t> columns = {});
// The same for a matrix of the shape of x.
FARCALL_API std::pair<Array, Array> tril_indices_from(const Array& x, int64_t k = 0);
FARCALL_API std::pair<Array, Array> triu_indices_from(const Array& x, int64_t k = 0);
// Diagonal k of a matrix; or the matrix that has a vector there, zeros elsewhere.
FARCALL_API Array diag(const Array& v, int64_t k = 0);
FARCALL_API Array diagflat(const Array& v, int64_t k = 0);
// The powers of the elements, a row for each, the highest first; as many as elements by default.
FARCALL_API Array vander(const Array& x, std::optional<int64_t> count = {},
                         bool increasing = false);

// Vectors as the coordinates of a grid, an array for each. `indexing` "xy" exchanges the first two
// dimensions, "ij" does not. Dimensions in which nothing changes have size one if `sparse`.
FARCALL_API std::vector<Array> meshgrid(ListOf<Array> vectors, std::string_view indexing = "xy",
                                        bool sparse = false);
// For each dimension the indices along it: stacked, or with size one in the other dimensions.
FARCALL_API Array indices(ListOf<int64_t> shape, std::optional<DType> dtype = {});
FARCALL_API std::vector<Array> sparse_indices(ListOf<int64_t> shape,
                                              std::optional<DType> dtype = {});

struct CovOptions {
  std::optional<Array> y = {};       // the observations of more variables
  bool rowvar = true;                // rows are variables; else columns
  bool bias = false;                 // divides by the number of observations, not by one less
  std::optional<int64_t> ddof = {};  // what is subtracted from that number; overrides `bias`
  std::optional<Array> fweights = {}, aweights = {};  // how often, and how much, each counts
  std::optional<DType> dtype = {};
};
FARCALL_API Array cov(const Array& m, const CovOptions& options = {});
// Covariances divided by the standard deviations.
FARCALL_API Array corrcoef(const Array& m, const CovOptions& options = {});

}  // namespace farcall::numpy
