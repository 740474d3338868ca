// Column reductions of rows that are computed on demand. They use the loops and the order of the
// kernels "reduce_sum" etc., so that the bits are the same.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include <farcall/core/shape_dtype.h>

namespace farcall::native {

// Computes rows of an operand on demand.
class ComputedRows {
 public:
  virtual ~ComputedRows() = default;
  // Returns elements [column, column + num_columns) of the rows [row, row + num_rows), in row-major
  // order and in the compute dtype. They are valid until the next call.
  virtual const void* compute(int64_t row, int64_t num_rows, int64_t column,
                              int64_t num_columns) = 0;
};

struct ReducePlan;

class ColumnReduction {
 public:
  // A reduction of `rows` x `columns` elements of dtype `from` to `columns` elements of dtype `to`.
  // is_valid() is false if there is no kernel for it.
  ColumnReduction(std::string_view primitive, DType from, DType to, int64_t rows, int64_t columns);

  bool is_valid() const { return plan_ != nullptr; }
  // The number of columns that are requested at a time; the last request may have fewer.
  int64_t columns_at_once() const;

  // Reduces all rows into `result`. Requests `rows_at_once` rows at a time, a multiple of four.
  // Uses several threads; each has its own ComputedRows. Every element is computed once.
  void run(void* result, int64_t rows_at_once,
           const std::function<std::unique_ptr<ComputedRows>()>& make_rows) const;

 private:
  std::shared_ptr<const ReducePlan> plan_;
};

}  // namespace farcall::native
