// The families of kernels, each a list of rows in the file that computes them.
#pragma once

#include <span>
#include <string_view>

#include "engine/native/kernel.h"

namespace farcall::native {

struct KernelRow {
  std::string_view primitive;
  KernelFactory make;
  bool updates_first_input = false;  // see kernel.h
};

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
std::span<const KernelRow> scatter_rows();
std::span<const KernelRow> cumulative_rows();
std::span<const KernelRow> sort_rows();
std::span<const KernelRow> convolution_rows();
std::span<const KernelRow> fft_rows();
std::span<const KernelRow> reduce_window_rows();
std::span<const KernelRow> random_rows();

}  // namespace farcall::native
