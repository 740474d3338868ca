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

// Omitted strides and dilations are 1, omitted paddings 0. Omitted specs mean: batch (for weights:
// output features) first, features second, then the spatial dimensions. An omitted precision is
// that of the PrecisionScope (core/precision.h). Raises INVALID_ARGUMENT if the operands do not
// fit.
FARCALL_API Array conv_general_dilated(const Array& lhs, const Array& rhs, ConvParams params = {});

// The shape of the result for operands of these shapes.
FARCALL_API Shape conv_general_dilated_shape(ListOf<int64_t> lhs_shape, ListOf<int64_t> rhs_shape,
                                             ConvParams params = {});
// The same for operands whose feature sizes may differ.
FARCALL_API Shape conv_shape_tuple(ListOf<int64_t> lhs_shape, ListOf<int64_t> rhs_shape,
                                   ConvParams params = {});

// ---- paddings and orders of dimensions ----
// kSame: the result size is the input size over the stride, rounded up; zeros are added on both
// sides, an odd one at the end. kSameLower: an odd one at the beginning. kValid: no zeros.
enum class PaddingKind { kSame, kSameLower, kValid };
// The padding before and after each dimension of these sizes, for windows with these sizes and
// strides.
FARCALL_API Padding padding_for(PaddingKind kind, ListOf<int64_t> sizes, ListOf<int64_t> windows,
                                ListOf<int64_t> strides);
// The same for a convolution of lhs with weights of these spatial sizes.
FARCALL_API Padding padding_for(PaddingKind kind, const Array& lhs, ListOf<int64_t> filter_shape,
                                const ConvParams& params);
// Replaces the padding of `params`.
FARCALL_API Array conv_general_dilated(const Array& lhs, const Array& rhs, PaddingKind padding,
                                       ConvParams params = {});
FARCALL_API Shape conv_shape_tuple(ListOf<int64_t> lhs_shape, ListOf<int64_t> rhs_shape,
                                   PaddingKind padding, ConvParams params = {});

// The specs of ConvParams, from letters: N (batch) and C (features) for the left operand and the
// result, O and I (output and input features) for the right operand, and one letter for each
// spatial dimension, as in {"NHWC", "HWIO", "NHWC"}.
struct ConvSpecs {
  std::vector<int64_t> lhs, rhs, out;
};
FARCALL_API ConvSpecs conv_specs(std::string_view lhs, std::string_view rhs, std::string_view out);

// ---- based on convolution ----
struct ConvTransposeOptions {
  std::vector<int64_t> rhs_dilation = {};
  std::optional<ConvSpecs> specs = {};  // default: batch first, features last, I before O
  // Reverses the weights along the spatial dimensions and exchanges their features.
  bool transpose_kernel = false;
  // If true, explicit padding numbers are those of the convolution that is transposed. If false,
  // they pad the dilated operand.
  bool use_consistent_padding = false;
};
// The transpose of a convolution with respect to its left operand, up to padding: lhs is dilated by
// `strides`, padded, and convolved with rhs. With kSame, a spatial dimension of the result has size
// n * stride, with kValid n * stride + max(window - stride, 0), where n is its size in lhs. Raises
// for kSameLower.
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

// The patches of lhs that a convolution with weights of these spatial sizes reads, as features of
// the result: first the features of lhs, then the positions within a patch in row-major order.
FARCALL_API Array conv_general_dilated_patches(const Array& lhs, ListOf<int64_t> filter_shape,
                                               ConvParams params = {});
// A convolution with separate weights for each position of the result. The dimensions of rhs are
// the features of the result, the features of patches, and the spatial dimensions of the result.
FARCALL_API Array conv_general_dilated_local(const Array& lhs, const Array& rhs,
                                             ListOf<int64_t> filter_shape, ConvParams params = {});

}  // namespace farcall::lax
