// Convolution (namespace farcall::lax).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/primitives/convolution.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// Strides and dilations that are left out are 1, paddings 0; specs that are left out put batch (or
// output features) first, features second, then the spatial dimensions. Raises INVALID_ARGUMENT
// when the operands do not fit.
FARCALL_API Array conv_general_dilated(const Array& lhs, const Array& rhs, ConvParams params = {});

// The shape of the result for operands of these shapes.
FARCALL_API Shape conv_general_dilated_shape(ListOf<int64_t> lhs_shape, ListOf<int64_t> rhs_shape,
                                             ConvParams params = {});

// ---- paddings and orders of dimensions ----
// kSame: as many results as there are steps in the dimension, zeros on both sides, the odd one
// behind; kSameLower: the odd one before; kValid: no zeros.
enum class PaddingKind { kSame, kSameLower, kValid };
// The zeros before and behind each dimension, along which windows of these sizes move.
FARCALL_API Padding padding_for(PaddingKind kind, ListOf<int64_t> sizes, ListOf<int64_t> windows,
                                ListOf<int64_t> strides);
// The same for a convolution of lhs with weights of these spatial sizes.
FARCALL_API Padding padding_for(PaddingKind kind, const Array& lhs, ListOf<int64_t> filter_shape,
                                const ConvParams& params);
// With such a padding in place of that of `params`.
FARCALL_API Array conv_general_dilated(const Array& lhs, const Array& rhs, PaddingKind padding,
                                       ConvParams params = {});

// The specs of ConvParams. As letters: N (batch) and C (features) of the left operand and the
// result, O and I (features of the result and of the left operand) of the right one, and one letter
// for each spatial dimension, as in {"NHWC", "HWIO", "NHWC"}.
struct ConvSpecs {
  std::vector<int64_t> lhs, rhs, out;
};
FARCALL_API ConvSpecs conv_specs(std::string_view lhs, std::string_view rhs, std::string_view out);

// ---- made of convolutions ----
struct ConvTransposeOptions {
  std::vector<int64_t> rhs_dilation = {};
  std::optional<ConvSpecs> specs = {};  // left out: batch first, features last, I before O
  // The weights are reversed along spatial dimensions, and their features exchanged.
  bool transpose_kernel = false;
  // A padding given as numbers is that of the convolution that is transposed; else that of the
  // dilated operand.
  bool use_consistent_padding = false;
};
// The transpose of a convolution in its left operand, up to padding: it makes lhs larger by
// `strides`, the distances between its elements. kSame gives size * stride, kValid all sums.
// kSameLower is refused.
FARCALL_API Array conv_transpose(const Array& lhs, const Array& rhs, ListOf<int64_t> strides,
                                 PaddingKind padding, const ConvTransposeOptions& options = {});
FARCALL_API Array conv_transpose(const Array& lhs, const Array& rhs, ListOf<int64_t> strides,
                                 const Padding& padding, const ConvTransposeOptions& options = {});
FARCALL_API Shape conv_transpose_shape(ListOf<int64_t> lhs_shape, ListOf<int64_t> rhs_shape,
                                       ListOf<int64_t> strides, PaddingKind padding,
                                       const ConvTransposeOptions& options = {});
FARCALL_API Shape conv_transpose_shape(ListOf<int64_t> lhs_shape, ListOf<int64_t> rhs_shape,
                                       ListOf<int64_t> strides, const Padding& padding,
                                       const ConvTransposeOptions& options = {});

// The patches of lhs that a convolution with weights of these spatial sizes sees, as features of
// the result: the features of lhs, and within each the places of a patch in row-major order.
FARCALL_API Array conv_general_dilated_patches(const Array& lhs, ListOf<int64_t> filter_shape,
                                               ConvParams params = {});
// A convolution with weights of their own for each place of the result: rhs has features of the
// result, features of patches, and the spatial dimensions of the result.
FARCALL_API Array conv_general_dilated_local(const Array& lhs, const Array& rhs,
                                             ListOf<int64_t> filter_shape, ConvParams params = {});

}  // namespace farcall::lax
