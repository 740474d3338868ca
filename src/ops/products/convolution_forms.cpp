// Functions made of convolutions, kinds of padding, and dimension numbers given as letters.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <farcall/ops/convolution.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>

#include "ops/internal/rules.h"

namespace farcall::lax {
namespace {

using Indices = std::vector<int64_t>;

using Sizes = std::span<const int64_t>;

// The sizes of the spatial dimensions of a spec: all but the first two.
Indices spatial_sizes(Sizes shape, const Indices& spec) {
  Indices sizes;
  for (size_t i = 2; i < spec.size(); ++i) {
    if (spec[i] < 0 || spec[i] >= static_cast<int64_t>(shape.size())) {
      invalid_argument(
          fmt::format("conv_general_dilated: an operand of shape {} has no dimension "
                      "{}",
                      shape_to_string(shape), spec[i]));
    }
    sizes.push_back(shape[spec[i]]);
  }
  return sizes;
}

void or_ones(Indices& sizes, size_t count) {
  if (sizes.empty()) sizes.assign(count, 1);
}
void or_in_order(Indices& spec, size_t rank) {
  if (spec.empty()) spec = all_dimensions(rank);
}

// The position in `text` of each letter of `letters`.
Indices positions(std::string_view letters, std::string_view text, std::string_view whole) {
  std::string wanted(letters), given(text);
  std::ranges::sort(wanted);
  std::ranges::sort(given);
  if (wanted != given) {
    invalid_argument(
        fmt::format("conv_general_dilated: dimension_numbers {}: '{}' must have each of '{}' once",
                    whole, text, letters));
  }
  Indices found;
  for (const char letter : letters) found.push_back(static_cast<int64_t>(text.find(letter)));
  return found;
}

// The inverse of the permutation `spec`.
Indices inverse(const Indices& spec) {
  Indices order(spec.size());
  for (size_t i = 0; i < spec.size(); ++i) order.at(spec[i]) = static_cast<int64_t>(i);
  return order;
}

// The padding of the dilated operand in a transposed convolution.
std::pair<int64_t, int64_t> transposed(PaddingKind kind, int64_t window, int64_t stride) {
  if (kind == PaddingKind::kSame) {
    const int64_t total = window + stride - 2;
    const int64_t before = stride > window - 1 ? window - 1 : (total + 1) / 2;
    return {before, total - before};
  }
  return {window - 1, stride - 1 + std::max<int64_t>(window - stride, 0)};
}

// A transposed convolution without its padding.
struct Transposed {
  ConvParams params;
  Indices windows;  // dilated
};
Transposed transposed_convolution(Sizes lhs, Sizes rhs, ListOf<int64_t> strides,
                                  const ConvTransposeOptions& options) {
  const size_t count = num_spatial(lhs.size());
  if (strides.size() != count || rhs.size() != lhs.size()) {
    invalid_argument(fmt::format(
        "conv_transpose: operands of {} spatial dimensions take as many strides, got {} for shapes "
        "{} and {}",
        count, strides.size(), shape_to_string(lhs), shape_to_string(rhs)));
  }
  ConvSpecs specs;
  if (options.specs) {
    specs = *options.specs;
  } else {
    constexpr std::string_view kLetters = "DHW";
    if (count > kLetters.size()) {
      invalid_argument("conv_transpose: dimension_numbers must be given for four dimensions");
    }
    const std::string spatial(kLetters.substr(kLetters.size() - count));
    specs = conv_specs("N" + spatial + "C", spatial + "IO", "N" + spatial + "C");
  }
  return {{.lhs_dilation = Indices(strides.begin(), strides.end()),
           .lhs_spec = specs.lhs,
           .out_spec = specs.out,
           .rhs_dilation = options.rhs_dilation,
           .rhs_spec = specs.rhs},
          dilated_sizes(spatial_sizes(rhs, specs.rhs), options.rhs_dilation)};
}

ConvParams with_padding(Transposed made, PaddingKind padding, const ConvTransposeOptions&) {
  if (padding == PaddingKind::kSameLower) {
    invalid_argument("conv_transpose: padding must be 'SAME' or 'VALID', got 'SAME_LOWER'");
  }
  for (size_t i = 0; i < made.windows.size(); ++i) {
    made.params.padding.push_back(
        transposed(padding, made.windows[i], made.params.lhs_dilation[i]));
  }
  return std::move(made.params);
}

ConvParams with_padding(Transposed made, const Padding& padding,
                        const ConvTransposeOptions& options) {
  made.params.padding = padding;
  if (options.use_consistent_padding) {
    for (size_t i = 0; i < std::min(padding.size(), made.windows.size()); ++i) {
      const auto [before, behind] = padding[i];
      made.params.padding[i] = {checked_difference(made.windows[i] - 1, before),
                                checked_difference(made.windows[i] - 1, behind)};
    }
  }
  return std::move(made.params);
}

template <class AnyPadding>
Array transpose_by(const AnyPadding& padding, const Array& lhs, const Array& rhs,
                   ListOf<int64_t> strides, const ConvTransposeOptions& options) {
  ConvParams params = with_padding(
      transposed_convolution(lhs.shape(), rhs.shape(), strides, options), padding, options);
  if (!options.transpose_kernel) return conv_general_dilated(lhs, rhs, std::move(params));
  const Indices& spec = params.rhs_spec;
  Indices spatial(spec.begin() + 2, spec.end());
  std::ranges::sort(spatial);
  const Array turned = numpy::swapaxes(rev(rhs, spatial), spec[0], spec[1]);
  return conv_general_dilated(lhs, turned, std::move(params));
}

}  // namespace

Padding padding_for(PaddingKind kind, ListOf<int64_t> sizes, ListOf<int64_t> windows,
                    ListOf<int64_t> strides) {
  Padding result;
  if (windows.size() != sizes.size() || strides.size() != sizes.size()) {
    invalid_argument(fmt::format("padding: {} sizes, {} windows and {} strides differ in number",
                                 sizes.size(), windows.size(), strides.size()));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (strides[i] < 1) {
      invalid_argument(fmt::format("window_strides {} must be {} positive numbers",
                                   shape_to_string(strides), sizes.size()));
    }
    int64_t total = 0;
    if (kind != PaddingKind::kValid) {
      const int64_t steps = sizes[i] == 0 ? -1 : (sizes[i] - 1) / strides[i];
      total = std::max<int64_t>(
          checked_difference(checked_sum(steps * strides[i], windows[i]), sizes[i]), 0);
    }
    const int64_t small = total / 2;
    if (kind == PaddingKind::kSameLower) {
      result.emplace_back(total - small, small);
    } else {
      result.emplace_back(small, total - small);
    }
  }
  return result;
}

Padding padding_for(PaddingKind kind, const Array& lhs, ListOf<int64_t> filter_shape,
                    const ConvParams& params) {
  Indices spec = params.lhs_spec, strides = params.window_strides;
  or_in_order(spec, lhs.rank());
  or_ones(strides, num_spatial(lhs.rank()));
  return padding_for(kind, dilated_sizes(spatial_sizes(lhs.shape(), spec), params.lhs_dilation),
                     dilated_sizes(filter_shape, params.rhs_dilation), strides);
}

Array conv_general_dilated(const Array& lhs, const Array& rhs, PaddingKind padding,
                           ConvParams params) {
  or_in_order(params.rhs_spec, rhs.rank());
  params.padding = padding_for(padding, lhs, spatial_sizes(rhs.shape(), params.rhs_spec), params);
  return conv_general_dilated(lhs, rhs, std::move(params));
}

Shape conv_shape_tuple(ListOf<int64_t> lhs_shape, ListOf<int64_t> rhs_shape, ConvParams params) {
  or_in_order(params.lhs_spec, lhs_shape.size());
  or_in_order(params.rhs_spec, rhs_shape.size());
  Indices lhs(lhs_shape.begin(), lhs_shape.end());
  if (lhs_shape.size() == rhs_shape.size() && lhs_shape.size() >= 2) {
    lhs.at(static_cast<size_t>(params.lhs_spec.at(1))) =
        rhs_shape[static_cast<size_t>(params.rhs_spec.at(1))];
  }
  return conv_general_dilated_shape(lhs, rhs_shape, std::move(params));
}
Shape conv_shape_tuple(ListOf<int64_t> lhs_shape, ListOf<int64_t> rhs_shape, PaddingKind padding,
                       ConvParams params) {
  or_in_order(params.lhs_spec, lhs_shape.size());
  or_in_order(params.rhs_spec, rhs_shape.size());
  or_ones(params.window_strides, num_spatial(lhs_shape.size()));
  params.padding = padding_for(
      padding, dilated_sizes(spatial_sizes(lhs_shape, params.lhs_spec), params.lhs_dilation),
      dilated_sizes(spatial_sizes(rhs_shape, params.rhs_spec), params.rhs_dilation),
      params.window_strides);
  return conv_shape_tuple(lhs_shape, rhs_shape, std::move(params));
}

ConvSpecs conv_specs(std::string_view lhs, std::string_view rhs, std::string_view out) {
  const std::string whole = fmt::format("('{}', '{}', '{}')", lhs, rhs, out);
  std::string spatial;
  for (const char letter : rhs) {
    if (letter != 'O' && letter != 'I') spatial += letter;
  }
  return {positions("NC" + spatial, lhs, whole), positions("OI" + spatial, rhs, whole),
          positions("NC" + spatial, out, whole)};
}

Array conv_transpose(const Array& lhs, const Array& rhs, ListOf<int64_t> strides,
                     PaddingKind padding, const ConvTransposeOptions& options) {
  return transpose_by(padding, lhs, rhs, strides, options);
}
Array conv_transpose(const Array& lhs, const Array& rhs, ListOf<int64_t> strides,
                     const Padding& padding, const ConvTransposeOptions& options) {
  return transpose_by(padding, lhs, rhs, strides, options);
}

Shape conv_transpose_shape(ListOf<int64_t> lhs_shape, ListOf<int64_t> rhs_shape,
                           ListOf<int64_t> strides, PaddingKind padding,
                           const ConvTransposeOptions& options) {
  return conv_general_dilated_shape(
      lhs_shape, rhs_shape,
      with_padding(transposed_convolution(lhs_shape, rhs_shape, strides, options), padding,
                   options));
}
Shape conv_transpose_shape(ListOf<int64_t> lhs_shape, ListOf<int64_t> rhs_shape,
                           ListOf<int64_t> strides, const Padding& padding,
                           const ConvTransposeOptions& options) {
  return conv_general_dilated_shape(
      lhs_shape, rhs_shape,
      with_padding(transposed_convolution(lhs_shape, rhs_shape, strides, options), padding,
                   options));
}

Array conv_general_dilated_patches(const Array& lhs, ListOf<int64_t> filter_shape,
                                   ConvParams params) {
  if (lhs.rank() < 2 || filter_shape.size() != lhs.rank() - 2) {
    invalid_argument(fmt::format(
        "conv_general_dilated_patches: filter_shape must have a size for each of the {} spatial "
        "dimensions of lhs, got {}",
        num_spatial(lhs.rank()), shape_to_string(filter_shape)));
  }
  or_in_order(params.lhs_spec, lhs.rank());
  or_in_order(params.rhs_spec, lhs.rank());
  int64_t places = 1;
  for (const int64_t size : filter_shape) {
    if (size < 0) {
      invalid_argument(
          fmt::format("conv_general_dilated_patches: sizes must not be negative, got {}",
                      shape_to_string(filter_shape)));
    }
    places = checked_product(places, size);
  }
  const int64_t features = lhs.shape()[params.lhs_spec.at(1)];
  // For each feature and each position in a patch: weights that are one at this position and zero
  // elsewhere.
  Shape shape = {places, 1};
  shape.insert(shape.end(), filter_shape.begin(), filter_shape.end());
  const Array each = numpy::reshape(numpy::eye(places, {}, lhs.dtype()), shape);
  Shape copies(shape.size(), 1);
  copies[0] = features;
  params.feature_group_count = features;
  const Array weights = numpy::transpose(numpy::tile(each, copies), inverse(params.rhs_spec));
  return conv_general_dilated(lhs, weights, std::move(params));
}

Array conv_general_dilated_local(const Array& lhs, const Array& rhs, ListOf<int64_t> filter_shape,
                                 ConvParams params) {
  or_in_order(params.rhs_spec, rhs.rank());
  or_in_order(params.out_spec, lhs.rank());
  const Array patches =
      numpy::transpose(conv_general_dilated_patches(lhs, filter_shape, params), params.out_spec);
  const Array weights = numpy::transpose(rhs, params.rhs_spec);
  // y: batch; x: features of the result; z: features of patches; a, b, …: spatial dimensions.
  std::string spatial;
  for (size_t i = 0; i < num_spatial(lhs.rank()); ++i) spatial += static_cast<char>('a' + i);
  const Array made = numpy::einsum(fmt::format("yz{0},xz{0}->yx{0}", spatial), {patches, weights});
  return numpy::transpose(made, inverse(params.out_spec));
}

}  // namespace farcall::lax
