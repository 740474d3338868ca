#include <string_view>
#include <unordered_map>

#include <farcall/core/environment.h>
#include <farcall/core/error.h>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/meshes/collectives.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/vector/targets.h"

namespace farcall::native {
namespace {

using KernelRows = std::unordered_map<std::string_view, const KernelRow*>;

KernelRows all_rows() {
  check_environment();
  choose_instruction_set();
  KernelRows rows;
  for (const auto family :
       {basic_unary_rows(), math_rows(),          binary_rows(),      compare_rows(),
        convert_rows(),     select_rows(),        ternary_rows(),     structural_rows(),
        reduce_rows(),      arg_reduce_rows(),    dot_general_rows(), cumulative_rows(),
        sort_rows(),        indexing_rows(),      scatter_rows(),     convolution_rows(),
        fft_rows(),         reduce_window_rows(), random_rows(),      cluster_rows(),
        collective_rows(),  top_k_rows()}) {
    for (const KernelRow& row : family) {
      const bool is_new = rows.emplace(row.primitive, &row).second;
      FARCALL_ASSERT(is_new);
    }
  }
  return rows;
}

const KernelRow* find_row(std::string_view primitive) {
  // Never destroyed: threads may compile until the process ends.
  static const auto* rows = new KernelRows(all_rows());
  const auto found = rows->find(primitive);
  return found != rows->end() ? found->second : nullptr;
}

}  // namespace

FoundKernel find_kernel(std::string_view primitive) { return FoundKernel(find_row(primitive)); }

Kernel FoundKernel::operator()(std::span<const ShapeDtype> inputs,
                               std::span<const ShapeDtype> outputs, const Params* params) const {
  FARCALL_ASSERT(row_);
  if (row_->describe) {
    const ElementwiseSpec spec = row_->describe(inputs, outputs, params);
    if (spec.is_valid() || !row_->make) return make_elementwise(inputs, outputs[0], spec);
  }
  return row_->make(inputs, outputs, params);
}

ElementwiseFactory find_elementwise(std::string_view primitive) {
  const KernelRow* row = find_row(primitive);
  return row ? row->describe : nullptr;
}

bool updates_first_input(std::string_view primitive) {
  const KernelRow* row = find_row(primitive);
  return row && row->updates_first_input;
}

}  // namespace farcall::native
