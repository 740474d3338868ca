// farcall.lax: convolutions. Names with an underscore are for farcall's own Python.
#include "bind.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <variant>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/convolution.h>

#include "array_object.h"
#include "bound_function.h"
#include "convert.h"

namespace farcall::python {

// "SAME", "SAME_LOWER" or "VALID".
template <>
struct Argument<lax::PaddingKind> {
  static lax::PaddingKind from(nb::handle object, ArgumentPlace) {
    using lax::PaddingKind;
    const std::string name = PyUnicode_Check(object.ptr())
                                 ? nb::cast<std::string>(object.attr("upper")())
                                 : std::string();
    for (const auto& [word, kind] :
         {std::pair("SAME", PaddingKind::kSame), std::pair("SAME_LOWER", PaddingKind::kSameLower),
          std::pair("VALID", PaddingKind::kValid)}) {
      if (name == word) return kind;
    }
    invalid_argument(
        fmt::format("padding must be 'SAME', 'SAME_LOWER' or 'VALID', got {}", repr_of(object)));
  }
};

// A pair for each dimension.
template <>
struct Argument<Padding> {
  static Padding from(nb::handle object, ArgumentPlace place) {
    Padding result;
    for (nb::handle pair : nb::iter(object)) {
      result.push_back(Argument<std::pair<int64_t, int64_t>>::from(pair, place));
    }
    return result;
  }
};

// The orders of dimensions of both operands and of the result.
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

using AnyPadding = std::variant<lax::PaddingKind, Padding>;
AnyPadding to_padding(nb::handle padding, const std::string& where) {
  const ArgumentPlace place = {where, "padding"};
  if (PyUnicode_Check(padding.ptr())) return Argument<lax::PaddingKind>::from(padding, place);
  return Argument<Padding>::from(padding, place);
}

ConvParams conv_params(const Sizes& strides, const Sizes& lhs_dilation, const Sizes& rhs_dilation,
                       const lax::ConvSpecs& specs) {
  return {.lhs_dilation = lhs_dilation,
          .lhs_spec = specs.lhs,
          .out_spec = specs.out,
          .rhs_dilation = rhs_dilation,
          .rhs_spec = specs.rhs,
          .window_strides = strides};
}

// With the padding of a convolution with weights of these spatial sizes.
ConvParams patch_params(const Array& lhs, const Sizes& filter_shape, nb::handle padding,
                        ConvParams params) {
  AnyPadding found = to_padding(padding, "conv_general_dilated_patches");
  const auto* kind = std::get_if<lax::PaddingKind>(&found);
  params.padding = kind ? lax::padding_for(*kind, lhs, filter_shape, params)
                        : std::get<Padding>(std::move(found));
  return params;
}

}  // namespace

void bind_convolutions(nb::module_& module) {
  def_function(module, "_conv_general_dilated",
               [](const Array& lhs, const Array& rhs, const Sizes& strides, nb::handle padding,
                  const Sizes& lhs_dilation, const Sizes& rhs_dilation, const lax::ConvSpecs& specs,
                  int64_t feature_groups, int64_t batch_groups) {
                 ConvParams params = conv_params(strides, lhs_dilation, rhs_dilation, specs);
                 params.feature_group_count = feature_groups;
                 params.batch_group_count = batch_groups;
                 AnyPadding found = to_padding(padding, "conv_general_dilated");
                 if (const auto* kind = std::get_if<lax::PaddingKind>(&found)) {
                   return lax::conv_general_dilated(lhs, rhs, *kind, std::move(params));
                 }
                 params.padding = std::get<Padding>(std::move(found));
                 return lax::conv_general_dilated(lhs, rhs, std::move(params));
               },
               {"lhs", "rhs", "window_strides", "padding", "lhs_dilation", "rhs_dilation",
                "dimension_numbers", "feature_group_count", "batch_group_count"});
  def_function(module, "_conv_transpose",
               [](const Array& lhs, const Array& rhs, const Sizes& strides, nb::handle padding,
                  const Sizes& rhs_dilation, const std::optional<lax::ConvSpecs>& specs,
                  bool transpose, bool consistent) {
                 return std::visit(
                     [&](const auto& known) {
                       return lax::conv_transpose(lhs, rhs, strides, known,
                                                  {rhs_dilation, specs, transpose, consistent});
                     },
                     to_padding(padding, "conv_transpose"));
               },
               {"lhs", "rhs", "strides", "padding", "rhs_dilation", "dimension_numbers",
                "transpose_kernel", "use_consistent_padding"});
  def_function(
      module, "_conv_general_dilated_patches",
      [](const Array& lhs, const Sizes& filter_shape, const Sizes& strides, nb::handle padding,
         const Sizes& lhs_dilation, const Sizes& rhs_dilation, const lax::ConvSpecs& specs) {
        return lax::conv_general_dilated_patches(
            lhs, filter_shape,
            patch_params(lhs, filter_shape, padding,
                         conv_params(strides, lhs_dilation, rhs_dilation, specs)));
      },
      {"lhs", "filter_shape", "window_strides", "padding", "lhs_dilation", "rhs_dilation",
       "dimension_numbers"});
  def_function(module, "_conv_general_dilated_local",
               [](const Array& lhs, const Array& rhs, const Sizes& strides, nb::handle padding,
                  const Sizes& filter_shape, const Sizes& lhs_dilation, const Sizes& rhs_dilation,
                  const lax::ConvSpecs& specs) {
                 return lax::conv_general_dilated_local(
                     lhs, rhs, filter_shape,
                     patch_params(lhs, filter_shape, padding,
                                  conv_params(strides, lhs_dilation, rhs_dilation, specs)));
               },
               {"lhs", "rhs", "window_strides", "padding", "filter_shape", "lhs_dilation",
                "rhs_dilation", "dimension_numbers"});
  module.def("_conv_specs",
             [](const std::string& lhs, const std::string& rhs, const std::string& out) {
               const lax::ConvSpecs specs = lax::conv_specs(lhs, rhs, out);
               return std::tuple(specs.lhs, specs.rhs, specs.out);
             });
  module.def("_padding_for",
             [](nb::handle kind, const Sizes& sizes, const Sizes& windows, const Sizes& strides) {
               return lax::padding_for(Argument<lax::PaddingKind>::from(kind, {"", ""}), sizes,
                                       windows, strides);
             });
}

}  // namespace farcall::python
