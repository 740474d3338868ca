// farcall.lax: operations along dimensions, over windows and on shapes. Names with an underscore
// are private to farcall's Python package.
#include "bind.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <span>
#include <variant>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/cumulative.h>
#include <farcall/ops/fft.h>
#include <farcall/ops/products.h>
#include <farcall/ops/reduce.h>
#include <farcall/ops/reduce_window.h>
#include <farcall/ops/structure.h>

#include "array_object.h"
#include "bound_function.h"
#include "convert.h"
#include "window_arguments.h"

namespace farcall::python {

template <>
struct Argument<lax::WindowReduction> {
  static lax::WindowReduction from(nb::handle object, ArgumentPlace place) {
    using enum lax::WindowReduction;
    constexpr lax::WindowReduction kReductions[] = {kSum, kProd, kMax, kMin};
    return kReductions[index_of_word(object, place, {"sum", "prod", "max", "min"})];
  }
};

// A function that takes two lists of scalars and returns such a list.
template <>
struct Argument<lax::Combine> {
  static lax::Combine from(nb::handle object, ArgumentPlace place) {
    return [object, place](std::span<const Array> a, std::span<const Array> b) {
      return Argument<std::vector<Array>>::from(object(wrap_all(a), wrap_all(b)), place);
    };
  }
};

namespace {

// Counts a negative axis from the end. An axis out of range is returned unchanged, for the error
// message.
int64_t to_axis(int64_t axis, const Array& x) {
  const auto rank = static_cast<int64_t>(x.rank());
  return axis < 0 && axis >= -rank ? axis + rank : axis;
}

void bind_cumulative(nb::module_& module) {
  using Cumulative = Array (*)(const Array&, int64_t, bool);
  const std::pair<const char*, Cumulative> functions[] = {
      {"cumsum", lax::cumsum}, {"cumprod", lax::cumprod},           {"cummax", lax::cummax},
      {"cummin", lax::cummin}, {"cumlogsumexp", lax::cumlogsumexp},
  };
  for (const auto& [name, function] : functions) {
    module.def(
        name,
        [name = std::string(name), function = function](nb::handle x, int64_t axis, bool reverse) {
          const Array operand = argument(x, name, "operand");
          return wrap_object(function(operand, to_axis(axis, operand), reverse));
        },
        nb::arg("operand").none(), nb::arg("axis") = 0, nb::arg("reverse") = false);
  }
}

void bind_sort(nb::module_& module) {
  module.def(
      "_sort_operands",
      [](nb::sequence operands, int64_t dimension, bool is_stable, int64_t num_keys) {
        std::vector<Array> arrays;
        for (nb::handle operand : operands) arrays.push_back(argument(operand, "sort", "operand"));
        const int64_t axis = arrays.empty() ? dimension : to_axis(dimension, arrays[0]);
        return wrap_all(lax::sort(arrays, axis, is_stable, num_keys));
      },
      nb::arg("operands").none(), nb::arg("dimension"), nb::arg("is_stable"), nb::arg("num_keys"));
  module.def(
      "top_k",
      [](nb::handle x, int64_t k, int64_t axis) {
        const Array operand = argument(x, "top_k", "operand");
        const auto [values, indices] = lax::top_k(operand, k, to_axis(axis, operand));
        return wrap_all(std::vector<Array>{values, indices});
      },
      nb::arg("operand").none(), nb::arg("k"), nb::arg("axis") = -1);
}

using Sizes = std::vector<int64_t>;

struct WindowArguments {
  Sizes dimensions;
  OptionalSizes strides;
  AnyPadding padding;
  OptionalSizes base_dilation, window_dilation;
};
ReduceWindowParams window_params(ListOf<int64_t> shape, const WindowArguments& window) {
  ReduceWindowParams p = {
      .base_dilation = sizes_or_ones(window.base_dilation, shape.size(), "base_dilation"),
      .padding = {},
      .window_dilation = sizes_or_ones(window.window_dilation, shape.size(), "window_dilation"),
      .window_dimensions = sizes_or_ones(window.dimensions, shape.size(), "window_dimensions"),
      .window_strides = sizes_or_ones(window.strides, shape.size(), "window_strides")};
  const auto* kind = std::get_if<lax::PaddingKind>(&window.padding);
  p.padding = kind ? lax::padding_for(*kind, shape, p) : std::get<Padding>(window.padding);
  return p;
}

void bind_windows(nb::module_& module) {
  def_function(
      module, "_reduce_window",
      [](const Array& x, const Array& init_value, lax::WindowReduction reduction,
         const Sizes& window, const OptionalSizes& strides, const AnyPadding& padding,
         const OptionalSizes& base_dilation, const OptionalSizes& window_dilation) {
        return lax::reduce_window(
            x, init_value, reduction,
            window_params(x.shape(), {window, strides, padding, base_dilation, window_dilation}));
      },
      {"operand", "init_value", "computation", "window_dimensions", "window_strides", "padding",
       "base_dilation", "window_dilation"});
  def_function(
      module, "_reduce_window_by",
      [](const std::vector<Array>& operands, const std::vector<Array>& inits,
         const lax::Combine& combine, const Sizes& window, const OptionalSizes& strides,
         const AnyPadding& padding, const OptionalSizes& base_dilation,
         const OptionalSizes& window_dilation) {
        const auto shape = operands.empty() ? std::span<const int64_t>() : operands.front().shape();
        return lax::reduce_window(
            operands, inits, combine,
            window_params(shape, {window, strides, padding, base_dilation, window_dilation}));
      },
      {"operands", "init_values", "computation", "window_dimensions", "window_strides", "padding",
       "base_dilation", "window_dilation"});
  def_function(module, "_reduce_window_shape",
               [](const Sizes& shape, const Sizes& window, const OptionalSizes& strides,
                  const AnyPadding& padding, const OptionalSizes& base_dilation,
                  const OptionalSizes& window_dilation) {
                 return nb::tuple(nb::cast(lax::reduce_window_shape(
                     shape, window_params(shape, {window, strides, padding, base_dilation,
                                                  window_dilation}))));
               },
               {"operand_shape", "window_dimensions", "window_strides", "padding", "base_dilation",
                "window_dilation"});
}

void bind_reduce(nb::module_& module) {
  def_function(module, "_reduce",
               [](const std::vector<Array>& operands, const std::vector<Array>& inits,
                  const lax::Combine& combine, const Sizes& dimensions) {
                 return lax::reduce(operands, inits, combine, dimensions);
               },
               {"operands", "init_values", "computation", "dimensions"});
}

// Accepts and ignores JAX's parameters of the approximation.
using Approximate = lax::TopK (*)(const Array&, int64_t, int64_t, double);
void bind_extremes(nb::module_& module, const char* name, Approximate function) {
  def_function(module, name,
               [function](const Array& operand, int64_t k, int64_t dimension, double recall_target,
                          nb::handle, nb::handle) {
                 const auto [values, indices] = function(operand, k, dimension, recall_target);
                 return std::pair(values, indices);
               },
               {"operand",
                "k",
                {"reduction_dimension", -1},
                {"recall_target", 0.95},
                {"reduction_input_size_override", -1},
                {"aggregate_to_topk", true}});
}

void bind_forms(nb::module_& module) {
  def_function(module, "broadcast", lax::broadcast, {"operand", "sizes"});
  def_function(module, "broadcast_to_rank", lax::broadcast_to_rank, {"x", "rank"});
  def_function(module, "collapse", lax::collapse,
               {"operand", "start_dimension", {"stop_dimension", nb::none()}});
  def_function(module, "tile", lax::tile, {"operand", "reps"});
  def_function(module, "split", lax::split, {"operand", "sizes", {"axis", 0}});
  def_function(module, "index_take", lax::index_take, {"src", "idxs", "axes"});
}

void bind_products(nb::module_& module) {
  def_function(module, "batch_matmul",
               [](const Array& lhs, const Array& rhs, AnyPrecision precision) {
                 const PrecisionScope scope(precision);
                 return lax::batch_matmul(lhs, rhs);
               },
               {"lhs", "rhs", {"precision", nb::none()}});
  def_function(
      module, "_dot",
      [](const Array& lhs, const Array& rhs, AnyPrecision precision, std::optional<DType> dtype) {
        const PrecisionScope scope(precision);
        return lax::dot(lhs, rhs, dtype);
      },
      {"lhs", "rhs", "precision", "preferred_element_type"});
  def_function(module, "_ragged_dot",
               [](const Array& lhs, const Array& rhs, const Array& sizes, AnyPrecision precision,
                  std::optional<DType> dtype) {
                 const PrecisionScope scope(precision);
                 return lax::ragged_dot(lhs, rhs, sizes, dtype);
               },
               {"lhs", "rhs", "group_sizes", "precision", "preferred_element_type"});
  def_function(module, "_fft",
               [](const Array& x, const std::string& type, const Sizes& lengths) {
                 return lax::fft(x, type, lengths);
               },
               {"x", "fft_type", "fft_lengths"});
}

}  // namespace

void bind_lax_arrays(nb::module_& module) {
  bind_windows(module);
  bind_reduce(module);
  bind_cumulative(module);
  bind_sort(module);
  bind_extremes(module, "approx_max_k", lax::approx_max_k);
  bind_extremes(module, "approx_min_k", lax::approx_min_k);
  bind_forms(module);
  bind_products(module);
}

}  // namespace farcall::python
