// farcall.lax: convolutions. Names with an underscore are private to farcall's Python package.
#include "bind.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <variant>

#include <farcall/ops/convolution.h>
#include <farcall/ops/lax.h>

#include "bound_function.h"
#include "convert.h"
#include "window_arguments.h"

namespace farcall::python {

// The dimension numbers of both operands and of the result.
template <>
struct Argument<lax::ConvSpecs> {
  static lax::ConvSpecs from(nb::handle object, ArgumentPlace place) {
    using Sizes = Argument<std::vector<int64_t>>;
    const nb::object lhs(object[0]), rhs(object[1]), out(object[2]);
    return {Sizes::from(lhs, place), Sizes::from(rhs, place), Sizes::from(out, place)};
  }
};

namespace {

using Sizes = std::vector<int64_t>;

struct Window {
  OptionalSizes strides, lhs_dilation, rhs_dilation;
};
ConvParams conv_params(size_t rank, const Window& window, const lax::ConvSpecs& specs) {
  const size_t count = num_spatial(rank);
  return {.lhs_dilation = sizes_or_ones(window.lhs_dilation, count, "lhs_dilation"),
          .lhs_spec = specs.lhs,
          .out_spec = specs.out,
          .rhs_dilation = sizes_or_ones(window.rhs_dilation, count, "rhs_dilation"),
          .rhs_spec = specs.rhs,
          .window_strides = sizes_or_ones(window.strides, count, "window_strides")};
}

// Sets the padding for a convolution with weights of these spatial sizes.
ConvParams patch_params(const Array& lhs, const Sizes& filter_shape, const AnyPadding& padding,
                        ConvParams params) {
  const auto* kind = std::get_if<lax::PaddingKind>(&padding);
  params.padding =
      kind ? lax::padding_for(*kind, lhs, filter_shape, params) : std::get<Padding>(padding);
  return params;
}

// Converts the result to `dtype`, if given.
Array wanted(const Array& x, std::optional<DType> dtype) {
  return dtype ? lax::convert_element_type(x, *dtype) : x;
}

}  // namespace

void bind_convolutions(nb::module_& module) {
  def_function(
      module, "_conv_general_dilated",
      [](const Array& lhs, const Array& rhs, const OptionalSizes& strides,
         const AnyPadding& padding, const OptionalSizes& lhs_dilation,
         const OptionalSizes& rhs_dilation, const lax::ConvSpecs& specs, int64_t feature_groups,
         int64_t batch_groups, AnyPrecision precision, std::optional<DType> dtype) {
        const PrecisionScope scope(precision);
        ConvParams params = conv_params(lhs.rank(), {strides, lhs_dilation, rhs_dilation}, specs);
        params.feature_group_count = feature_groups;
        params.batch_group_count = batch_groups;
        const Array x = wanted(lhs, dtype), y = wanted(rhs, dtype);
        if (const auto* kind = std::get_if<lax::PaddingKind>(&padding)) {
          return lax::conv_general_dilated(x, y, *kind, std::move(params));
        }
        params.padding = std::get<Padding>(padding);
        return lax::conv_general_dilated(x, y, std::move(params));
      },
      {"lhs", "rhs", "window_strides", "padding", "lhs_dilation", "rhs_dilation",
       "dimension_numbers", "feature_group_count", "batch_group_count", "precision",
       "preferred_element_type"});
  def_function(
      module, "_conv_transpose",
      [](const Array& lhs, const Array& rhs, const Sizes& strides, const AnyPadding& padding,
         const OptionalSizes& rhs_dilation, const std::optional<lax::ConvSpecs>& specs,
         bool transpose, AnyPrecision precision, std::optional<DType> dtype, bool consistent) {
        const PrecisionScope scope(precision);
        const lax::ConvTransposeOptions options = {
            sizes_or_ones(rhs_dilation, num_spatial(lhs.rank()), "rhs_dilation"), specs, transpose,
            consistent};
        const auto transposed = [&](const auto& known) {
          return lax::conv_transpose(wanted(lhs, dtype), wanted(rhs, dtype), strides, known,
                                     options);
        };
        return std::visit(transposed, padding);
      },
      {"lhs", "rhs", "strides", "padding", "rhs_dilation", "dimension_numbers", "transpose_kernel",
       "precision", "preferred_element_type", "use_consistent_padding"});
  def_function(
      module, "_conv_general_dilated_patches",
      [](const Array& lhs, const Sizes& filter_shape, const OptionalSizes& strides,
         const AnyPadding& padding, const OptionalSizes& lhs_dilation,
         const OptionalSizes& rhs_dilation, const lax::ConvSpecs& specs, AnyPrecision precision,
         std::optional<DType> dtype) {
        const PrecisionScope scope(precision);
        const Array x = wanted(lhs, dtype);
        return lax::conv_general_dilated_patches(
            x, filter_shape,
            patch_params(x, filter_shape, padding,
                         conv_params(x.rank(), {strides, lhs_dilation, rhs_dilation}, specs)));
      },
      {"lhs", "filter_shape", "window_strides", "padding", "lhs_dilation", "rhs_dilation",
       "dimension_numbers", "precision", "preferred_element_type"});
  def_function(
      module, "_conv_general_dilated_local",
      [](const Array& lhs, const Array& rhs, const OptionalSizes& strides,
         const AnyPadding& padding, const Sizes& filter_shape, const OptionalSizes& lhs_dilation,
         const OptionalSizes& rhs_dilation, const lax::ConvSpecs& specs, AnyPrecision precision) {
        const PrecisionScope scope(precision);
        return lax::conv_general_dilated_local(
            lhs, rhs, filter_shape,
            patch_params(lhs, filter_shape, padding,
                         conv_params(lhs.rank(), {strides, lhs_dilation, rhs_dilation}, specs)));
      },
      {"lhs", "rhs", "window_strides", "padding", "filter_shape", "lhs_dilation", "rhs_dilation",
       "dimension_numbers", "precision"});
  module.def("_conv_specs",
             [](const std::string& lhs, const std::string& rhs, const std::string& out) {
               const lax::ConvSpecs specs = lax::conv_specs(lhs, rhs, out);
               return std::tuple(specs.lhs, specs.rhs, specs.out);
             });
  def_function(
      module, "_padding_for",
      [](const Sizes& sizes, const Sizes& windows, const Sizes& strides, lax::PaddingKind kind) {
        return nb::cast(lax::padding_for(kind, sizes, windows, strides));
      },
      {"in_shape", "window_shape", "window_strides", "padding"});
  def_function(
      module, "_conv_shape",
      [](const Sizes& lhs, const Sizes& rhs, const lax::ConvSpecs& specs, const Sizes& strides,
         const AnyPadding& padding, int64_t batch_groups) {
        ConvParams params = conv_params(lhs.size(), {strides, {}, {}}, specs);
        params.batch_group_count = batch_groups;
        if (const auto* kind = std::get_if<lax::PaddingKind>(&padding)) {
          return nb::tuple(nb::cast(lax::conv_shape_tuple(lhs, rhs, *kind, std::move(params))));
        }
        params.padding = std::get<Padding>(padding);
        return nb::tuple(nb::cast(lax::conv_shape_tuple(lhs, rhs, std::move(params))));
      },
      {"lhs_shape", "rhs_shape", "dimension_numbers", "window_strides", "padding",
       "batch_group_count"});
  def_function(module, "_conv_transpose_shape",
               [](const Sizes& lhs, const Sizes& rhs, const Sizes& strides,
                  const AnyPadding& padding, const lax::ConvSpecs& specs) {
                 const auto shape = [&](const auto& known) {
                   return lax::conv_transpose_shape(lhs, rhs, strides, known, {.specs = specs});
                 };
                 return nb::tuple(nb::cast(std::visit(shape, padding)));
               },
               {"lhs_shape", "rhs_shape", "window_strides", "padding", "dimension_numbers"});
}

}  // namespace farcall::python
