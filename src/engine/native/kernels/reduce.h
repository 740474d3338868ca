// Reductions of the columns of rows that are computed on the way, by the loops and in the order of
// the kernels "reduce_sum" and so on, so that the bits are the same.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include <farcall/core/shape_dtype.h>

namespace farcall::native {

// Computes rows of an operand.
class ComputedRows {
 public:
  virtual ~ComputedRows() = default;
  // Elements [column, column + num_columns) of each of the rows [row, row + num_rows), one row
  // after the other, of the dtype computed in. They stay until the next call.
  virtual const void* compute(int64_t row, int64_t num_rows, int64_t column,
                              int64_t num_columns) = 0;
};

struct ReducePlan;

class ColumnReduction {
 public:
  // Of `rows` by `columns` elements of one dtype to `columns` of another. No plan where there is no
  // kernel for these.
  ColumnReduction(std::string_view primitive, DType from, DType to, int64_t rows, int64_t columns);

  bool is_valid() const { return plan_ != nullptr; }
  // As many columns are asked for at a time, or less in the end.
  int64_t columns_at_once() const;

  // Reduces all rows into `result`, `rows_at_once` at a time, a multiple of four; on several
  // threads, each of which makes its own ComputedRows. Every element is computed once.
  void run(void* result, int64_t rows_at_once,
           const std::function<std::unique_ptr<ComputedRows>()>& make_rows) const;

 private:
  std::shared_ptr<const ReducePlan> plan_;
};

}  // namespace farcall::native
