// Indexing with arrays: the primitives of farcall.lax, and numpy's functions.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/indexing.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/ops/promotion.h>

#include "array_object.h"
#include "convert.h"
#include "text.h"

namespace farcall::python {
namespace {

// None, the name of a mode, or a member of lax.GatherScatterMode, whose value is the name.
std::optional<GatherScatterMode> to_mode(nb::handle mode, std::string_view function) {
  if (mode.is_none()) return std::nullopt;
  const nb::object name = nb::getattr(mode, "value", mode);
  return with_error_prefix(function, [&] { return parse_mode(to_name(name, "mode")); });
}

// ---- farcall.lax ----

// One scalar per dimension, converted to a common dtype.
std::vector<Array> to_starts(nb::handle starts, std::string_view function) {
  std::vector<Array> result;
  std::vector<ShapeDtype> types;
  nb::object iterator = nb::steal(PyObject_GetIter(starts.ptr()));
  if (!iterator.is_valid()) {
    PyErr_Clear();
    throw TypeError(fmt::format("{}: start_indices must be a sequence of integers, got {}",
                                function, repr_of(starts)));
  }
  while (PyObject* item = PyIter_Next(iterator.ptr())) {
    result.push_back(argument(nb::steal(item), function, "start_indices"));
    types.push_back(result.back().type());
  }
  if (PyErr_Occurred()) nb::raise_python_error();
  if (types.empty()) return result;
  const DType dtype = promote_types(types).dtype;
  for (Array& start : result) start = convert(start, {dtype, false});
  return result;
}

// Python numbers take the dtype of the operand.
Array like(nb::handle object, const Array& operand, std::string_view function, const char* name) {
  const Array array = argument(object, function, name);
  return array.type().weak_type() ? convert(array, {operand.dtype(), false}) : array;
}

std::vector<int64_t> field_of(nb::handle numbers, const char* name, std::string_view function) {
  if (!nb::hasattr(numbers, name)) {
    throw TypeError(fmt::format("{}: dimension_numbers must have an attribute {}, got {}", function,
                                name, repr_of(numbers)));
  }
  return to_sizes(numbers.attr(name), fmt::format("{}: {}", function, name));
}

Array gather(nb::handle operand, nb::handle indices, nb::handle numbers, nb::handle sizes,
             bool unique, bool sorted, nb::handle mode, nb::handle fill) {
  const auto field = [&](const char* name) { return field_of(numbers, name, "gather"); };
  const Array x = argument(operand, "gather", "operand");
  lax::GatherOptions options = {
      .mode = to_mode(mode, "gather").value_or(GatherScatterMode::kPromiseInBounds),
      .unique_indices = unique,
      .indices_are_sorted = sorted};
  if (!fill.is_none()) {
    options.fill_value = lax::fill_text(argument(fill, "gather", "fill_value"), x.dtype());
  }
  return lax::gather(x, argument(indices, "gather", "start_indices"),
                     {field("offset_dims"), field("collapsed_slice_dims"), field("start_index_map"),
                      field("operand_batching_dims"), field("start_indices_batching_dims")},
                     to_sizes(sizes, "gather: slice_sizes"), options);
}

void def_scatter(nb::module_& module, const char* name, lax::ScatterFunction* function) {
  module.def(
      name,
      [name = std::string(name), function](nb::handle operand, nb::handle indices,
                                           nb::handle updates, nb::handle numbers, bool sorted,
                                           bool unique, nb::handle mode) {
        const auto field = [&](const char* part) { return field_of(numbers, part, name); };
        const Array x = argument(operand, name, "operand");
        return wrap_object(function(
            x, argument(indices, name, "scatter_indices"), like(updates, x, name, "updates"),
            {field("update_window_dims"), field("inserted_window_dims"),
             field("scatter_dims_to_operand_dims"), field("operand_batching_dims"),
             field("scatter_indices_batching_dims")},
            {.mode = to_mode(mode, name).value_or(GatherScatterMode::kFillOrDrop),
             .unique_indices = unique,
             .indices_are_sorted = sorted}));
      },
      nb::arg("operand").none(), nb::arg("scatter_indices").none(), nb::arg("updates").none(),
      nb::arg("dimension_numbers"), nb::kw_only(), nb::arg("indices_are_sorted") = false,
      nb::arg("unique_indices") = false, nb::arg("mode").none() = nb::none());
}

PaddingConfig to_padding(nb::handle config) {
  PaddingConfig result;
  for (nb::handle item : nb::iter(config)) {
    const auto numbers = to_sizes(item, "pad: padding_config");
    if (numbers.size() != 3) {
      invalid_argument(
          fmt::format("pad: padding_config must have (low, high, interior) for each "
                      "dimension, got {}",
                      repr_of(config)));
    }
    result.push_back({numbers[0], numbers[1], numbers[2]});
  }
  return result;
}

// ---- farcall.numpy ----

numpy::PadWidths to_widths(nb::handle widths) {
  numpy::PadWidths result;
  for (nb::handle pair : nb::iter(widths)) {
    const auto numbers = to_sizes(pair, "pad: pad_width");
    result.emplace_back(numbers.at(0), numbers.at(1));
  }
  return result;
}

numpy::PadValues to_pad_values(nb::handle pairs) {
  numpy::PadValues result;
  for (nb::handle pair : nb::iter(pairs)) {
    result.emplace_back(argument(pair[0], "pad", "values"), argument(pair[1], "pad", "values"));
  }
  return result;
}

// The value, if all pairs hold the same object.
std::optional<Array> single_value(nb::handle pairs) {
  nb::handle found;
  for (nb::handle pair : nb::iter(pairs)) {
    for (nb::handle value : nb::iter(pair)) {
      if (found.is_valid() && !found.is(value)) return std::nullopt;
      found = value;
    }
  }
  if (!found.is_valid()) return std::nullopt;
  return argument(found, "pad", "values");
}

constexpr std::pair<std::string_view, numpy::PadStatistic> kPadStatistics[] = {
    {"maximum", numpy::PadStatistic::kMaximum},
    {"mean", numpy::PadStatistic::kMean},
    {"minimum", numpy::PadStatistic::kMinimum}};

numpy::IndexOptions index_options(nb::handle mode, nb::handle fill, bool unique, bool sorted,
                                  bool wrap) {
  numpy::IndexOptions options = {.mode = to_mode(mode, "at"),
                                 .unique_indices = unique,
                                 .indices_are_sorted = sorted,
                                 .wrap_negative_indices = wrap};
  if (!fill.is_none()) options.fill_value = argument(fill, "at", "fill_value");
  return options;
}

void bind_at(nb::module_& module) {
  module.def(
      "index_get",
      [](nb::handle x, nb::handle index, nb::handle mode, nb::handle fill, bool unique, bool sorted,
         bool wrap) {
        return wrap_object(numpy::get(argument(x, "at", "array"), to_indices(index.ptr()),
                                      index_options(mode, fill, unique, sorted, wrap)));
      },
      nb::arg("x"), nb::arg("index").none(), nb::arg("mode").none(), nb::arg("fill_value").none(),
      nb::arg("unique_indices"), nb::arg("indices_are_sorted"), nb::arg("wrap_negative_indices"));
  const std::pair<const char*, numpy::Update> updates[] = {
      {"index_set", numpy::Update::kSet},           {"index_add", numpy::Update::kAdd},
      {"index_subtract", numpy::Update::kSubtract}, {"index_multiply", numpy::Update::kMultiply},
      {"index_min", numpy::Update::kMin},           {"index_max", numpy::Update::kMax},
  };
  for (const auto& [name, how] : updates) {
    module.def(
        name,
        [how = how](nb::handle x, nb::handle index, nb::handle values, nb::handle mode, bool unique,
                    bool sorted, bool wrap) {
          return wrap_object(numpy::update(argument(x, "at", "array"), to_indices(index.ptr()),
                                           argument(values, "at", "values"), how,
                                           index_options(mode, nb::none(), unique, sorted, wrap)));
        },
        nb::arg("x"), nb::arg("index").none(), nb::arg("values").none(), nb::arg("mode").none(),
        nb::arg("unique_indices"), nb::arg("indices_are_sorted"), nb::arg("wrap_negative_indices"));
  }
}

numpy::TakeOptions take_options(nb::handle mode, nb::handle fill, std::string_view function) {
  numpy::TakeOptions options;
  if (!mode.is_none()) {
    const nb::object name = nb::getattr(mode, "value", mode);
    options.mode = to_name(name, fmt::format("{}: mode", function));
  }
  if (!fill.is_none()) options.fill_value = argument(fill, function, "fill_value");
  return options;
}

void bind_selection(nb::module_& module) {
  module.def(
      "take",
      [](nb::handle x, nb::handle indices, std::optional<int64_t> axis, nb::handle, nb::handle mode,
         bool unique, bool sorted, nb::handle fill) {
        numpy::TakeOptions options = take_options(mode, fill, "take");
        options.unique_indices = unique;
        options.indices_are_sorted = sorted;
        return wrap_object(numpy::take(argument(x, "take", "a"),
                                       argument(indices, "take", "indices"), axis, options));
      },
      nb::arg("a").none(), nb::arg("indices").none(), nb::arg("axis").none() = nb::none(),
      nb::arg("out").none() = nb::none(), nb::arg("mode").none() = nb::none(),
      nb::arg("unique_indices") = false, nb::arg("indices_are_sorted") = false,
      nb::arg("fill_value").none() = nb::none());
  module.def(
      "take_along_axis",
      [](nb::handle x, nb::handle indices, std::optional<int64_t> axis, nb::handle mode,
         nb::handle fill, bool wrap) {
        numpy::TakeOptions options = take_options(mode, fill, "take_along_axis");
        options.wrap_negative_indices = wrap;
        return wrap_object(numpy::take_along_axis(argument(x, "take_along_axis", "arr"),
                                                  argument(indices, "take_along_axis", "indices"),
                                                  axis, options));
      },
      nb::arg("arr").none(), nb::arg("indices").none(), nb::arg("axis").none() = -1,
      nb::arg("mode").none() = nb::none(), nb::arg("fill_value").none() = nb::none(), nb::kw_only(),
      nb::arg("wrap_negative_indices") = true);
  module.def(
      "put_along_axis",
      [](nb::handle x, nb::handle indices, nb::handle values, std::optional<int64_t> axis,
         bool inplace, nb::handle mode) {
        if (inplace) {
          invalid_argument(
              "put_along_axis: arrays are immutable; give inplace=False and use the result");
        }
        return wrap_object(numpy::put_along_axis(
            argument(x, "put_along_axis", "arr"), argument(indices, "put_along_axis", "indices"),
            argument(values, "put_along_axis", "values"), axis, to_mode(mode, "put_along_axis")));
      },
      nb::arg("arr").none(), nb::arg("indices").none(), nb::arg("values").none(),
      nb::arg("axis").none(), nb::arg("inplace") = true, nb::kw_only(),
      nb::arg("mode").none() = nb::none());
  module.def(
      "roll",
      [](nb::handle x, nb::handle shift, nb::handle axis) {
        numpy::Axes axes;
        if (!axis.is_none()) axes = to_sizes(axis, "roll: axis");
        const bool is_sequence = PyTuple_Check(shift.ptr()) || PyList_Check(shift.ptr());
        const auto shifts = is_sequence ? to_sizes(shift, "roll: shift") : std::vector<int64_t>();
        const auto count = static_cast<int64_t>(shifts.size());
        return wrap_object(numpy::roll(
            argument(x, "roll", "a"),
            is_sequence ? Array::of(std::span<const int64_t>(shifts), std::span(&count, 1))
                        : argument(shift, "roll", "shift"),
            axes));
      },
      nb::arg("a").none(), nb::arg("shift").none(), nb::arg("axis").none() = nb::none());
  // `widths` and `values` hold one pair per dimension; `lengths` too, unless it is empty.
  module.def("_pad", [](nb::handle object, nb::handle widths, const std::string& mode,
                        nb::handle values, nb::handle lengths) {
    const Array x = argument(object, "pad", "array");
    const numpy::PadWidths counts = to_widths(widths);
    if (mode == "constant") {
      const auto one = single_value(values);
      return wrap_object(one ? numpy::pad(x, counts, *one)
                             : numpy::pad(x, counts, to_pad_values(values)));
    }
    if (mode == "linear_ramp")
      return wrap_object(numpy::pad_ramp(x, counts, to_pad_values(values)));
    for (const auto& [name, statistic] : kPadStatistics) {
      if (mode != name) continue;
      return wrap_object(numpy::pad(x, counts, statistic,
                                    lengths.is_none() ? numpy::PadWidths() : to_widths(lengths)));
    }
    return wrap_object(numpy::pad(x, counts, mode));
  });
}

}  // namespace

void bind_lax_indexing(nb::module_& module) {
  module.def(
      "dynamic_slice",
      [](nb::handle x, nb::handle starts, nb::handle sizes, bool negative) {
        return wrap_object(lax::dynamic_slice(
            argument(x, "dynamic_slice", "operand"), to_starts(starts, "dynamic_slice"),
            to_sizes(sizes, "dynamic_slice: slice_sizes"), negative));
      },
      nb::arg("operand").none(), nb::arg("start_indices").none(), nb::arg("slice_sizes").none(),
      nb::kw_only(), nb::arg("allow_negative_indices") = true);
  module.def(
      "dynamic_update_slice",
      [](nb::handle operand, nb::handle update, nb::handle starts, bool negative) {
        const Array x = argument(operand, "dynamic_update_slice", "operand");
        return wrap_object(
            lax::dynamic_update_slice(x, like(update, x, "dynamic_update_slice", "update"),
                                      to_starts(starts, "dynamic_update_slice"), negative));
      },
      nb::arg("operand").none(), nb::arg("update").none(), nb::arg("start_indices").none(),
      nb::kw_only(), nb::arg("allow_negative_indices") = true);
  module.def(
      "pad",
      [](nb::handle operand, nb::handle value, nb::handle config) {
        const Array x = argument(operand, "pad", "operand");
        return wrap_object(lax::pad(x, like(value, x, "pad", "padding_value"), to_padding(config)));
      },
      nb::arg("operand").none(), nb::arg("padding_value").none(), nb::arg("padding_config").none());
  module.def(
      "gather",
      [](nb::handle operand, nb::handle indices, nb::handle numbers, nb::handle sizes, bool unique,
         bool sorted, nb::handle mode, nb::handle fill) {
        return wrap_object(gather(operand, indices, numbers, sizes, unique, sorted, mode, fill));
      },
      nb::arg("operand").none(), nb::arg("start_indices").none(), nb::arg("dimension_numbers"),
      nb::arg("slice_sizes").none(), nb::kw_only(), nb::arg("unique_indices") = false,
      nb::arg("indices_are_sorted") = false, nb::arg("mode").none() = nb::none(),
      nb::arg("fill_value").none() = nb::none());
  def_scatter(module, "scatter", lax::scatter);
  def_scatter(module, "scatter_add", lax::scatter_add);
  def_scatter(module, "scatter_mul", lax::scatter_mul);
  def_scatter(module, "scatter_min", lax::scatter_min);
  def_scatter(module, "scatter_max", lax::scatter_max);
}

void bind_numpy_indexing(nb::module_& module) {
  bind_at(module);
  bind_selection(module);
}

}  // namespace farcall::python
