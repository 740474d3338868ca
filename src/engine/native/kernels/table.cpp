#include <algorithm>
#include <vector>

#include "engine/native/kernels/rows.h"

namespace farcall::native {
namespace {

std::vector<KernelRow> sorted_rows() {
  std::vector<KernelRow> rows;
  for (const auto family :
       {basic_unary_rows(), math_rows(), binary_rows(), compare_rows(), convert_rows(),
        select_rows(), ternary_rows(), structural_rows(), reduce_rows(), arg_reduce_rows(),
        dot_general_rows(), cumulative_rows(), sort_rows(), indexing_rows(), scatter_rows(),
        convolution_rows(), fft_rows(), reduce_window_rows(), random_rows()}) {
    rows.insert(rows.end(), family.begin(), family.end());
  }
  std::ranges::sort(rows, {}, &KernelRow::primitive);
  const auto twice = std::ranges::adjacent_find(rows, {}, &KernelRow::primitive);
  FARCALL_ASSERT(twice == rows.end());
  return rows;
}

const KernelRow* find_row(std::string_view primitive) {
  // Never destroyed: threads may compile until the process has ended.
  static const auto* rows = new std::vector<KernelRow>(sorted_rows());
  const auto row = std::ranges::lower_bound(*rows, primitive, {}, &KernelRow::primitive);
  return row != rows->end() && row->primitive == primitive ? &*row : nullptr;
}

}  // namespace

KernelFactory find_kernel(std::string_view primitive) {
  const KernelRow* row = find_row(primitive);
  return row ? row->make : nullptr;
}

bool updates_first_input(std::string_view primitive) {
  const KernelRow* row = find_row(primitive);
  return row && row->updates_first_input;
}

}  // namespace farcall::native
