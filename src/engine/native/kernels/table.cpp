#include <array>
#include <string_view>

#include <farcall/core/environment.h>
#include <farcall/core/error.h>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/meshes/collectives.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/vector/targets.h"

namespace farcall::native {
namespace {

// The rows by name. A hash table without nodes, because the first program of a process waits until
// it is filled.
class KernelRows {
 public:
  // False if a row of that name is there already.
  bool add(const KernelRow& row) {
    const size_t slot = slot_of(row.primitive);
    if (slots_[slot]) return false;
    slots_[slot] = &row;
    ++size_;
    FARCALL_ASSERT(size_ <= kSlots / 2);
    return true;
  }
  const KernelRow* find(std::string_view primitive) const { return slots_[slot_of(primitive)]; }

 private:
  static constexpr size_t kSlots = 1024;

  // The slot of the row, or the empty one for it.
  size_t slot_of(std::string_view primitive) const {
    size_t slot = primitive.size();
    for (const char c : primitive) slot = slot * 31 + static_cast<unsigned char>(c);
    slot %= kSlots;
    while (slots_[slot] && slots_[slot]->primitive != primitive) slot = (slot + 1) % kSlots;
    return slot;
  }

  std::array<const KernelRow*, kSlots> slots_{};
  size_t size_ = 0;
};

const KernelRows& make_rows() {
  check_environment();
  choose_instruction_set();
  static KernelRows rows;
  for (const auto family :
       {basic_unary_rows(), math_rows(),          binary_rows(),      compare_rows(),
        convert_rows(),     select_rows(),        ternary_rows(),     structural_rows(),
        reduce_rows(),      arg_reduce_rows(),    dot_general_rows(), cumulative_rows(),
        sort_rows(),        indexing_rows(),      scatter_rows(),     convolution_rows(),
        fft_rows(),         reduce_window_rows(), random_rows(),      cluster_rows(),
        collective_rows(),  top_k_rows(),         pad_rows()}) {
    for (const KernelRow& row : family) {
      const bool is_new = rows.add(row);
      FARCALL_ASSERT(is_new);
    }
  }
  return rows;
}

const KernelRow* find_row(std::string_view primitive) {
  static const KernelRows& rows = make_rows();
  return rows.find(primitive);
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

KernelTrait trait_of_kernel(std::string_view primitive) {
  const KernelRow* row = find_row(primitive);
  return row ? row->trait : KernelTrait::kNone;
}

}  // namespace farcall::native
