// The families of kernels: each is a list of rows in the file that implements them.
#pragma once

#include <span>
#include <string_view>

#include "engine/native/kernel.h"

namespace farcall::native {

struct ElementwiseSpec;

// Describes an elementwise operation on operands of these types. The result is not valid if there
// is no kernel for them.
using ElementwiseFactory = ElementwiseSpec (*)(std::span<const ShapeDtype> inputs,
                                               std::span<const ShapeDtype> outputs,
                                               const Params* params);

struct KernelRow {
  constexpr KernelRow(std::string_view name, KernelFactory factory,
                      KernelTrait its_trait = KernelTrait::kNone)
      : primitive(name), make(factory), trait(its_trait) {}
  // `factory` serves types without a valid description.
  constexpr KernelRow(std::string_view name, ElementwiseFactory description,
                      KernelFactory factory = nullptr)
      : primitive(name), describe(description), make(factory) {}

  std::string_view primitive;
  ElementwiseFactory describe = nullptr;
  KernelFactory make = nullptr;
  KernelTrait trait = KernelTrait::kNone;
};

// Null for a primitive that is not elementwise.
ElementwiseFactory find_elementwise(std::string_view primitive);

std::span<const KernelRow> basic_unary_rows();
std::span<const KernelRow> math_rows();
std::span<const KernelRow> binary_rows();
std::span<const KernelRow> compare_rows();
std::span<const KernelRow> convert_rows();
std::span<const KernelRow> select_rows();
std::span<const KernelRow> ternary_rows();
std::span<const KernelRow> structural_rows();
std::span<const KernelRow> reduce_rows();
std::span<const KernelRow> arg_reduce_rows();
std::span<const KernelRow> dot_general_rows();
std::span<const KernelRow> indexing_rows();
std::span<const KernelRow> pad_rows();
std::span<const KernelRow> scatter_rows();
std::span<const KernelRow> cumulative_rows();
std::span<const KernelRow> sort_rows();
std::span<const KernelRow> top_k_rows();
std::span<const KernelRow> convolution_rows();
std::span<const KernelRow> fft_rows();
std::span<const KernelRow> reduce_window_rows();
std::span<const KernelRow> random_rows();
std::span<const KernelRow> cluster_rows();

}  // namespace farcall::native
