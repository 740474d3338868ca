// Batches by vmap and by nested vmaps, compared with one call for each element.
#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/element_text.h>
#include <farcall/ops/checks.h>
#include <farcall/trace/batch.h>

#include "ops/testing/elements.h"

namespace farcall::testing::detail {
namespace {

using Axes = std::vector<std::optional<int64_t>>;  // by argument

bool are_mapped(const Axes& axes) {
  return std::ranges::any_of(axes, [](const auto& axis) { return axis.has_value(); });
}

// All combinations of options for the arguments, except the one that maps nothing. Arguments
// without arrays are not mapped.
std::vector<Axes> choices(const Axes& options, const TreeDef& arguments) {
  std::vector<Axes> all = {{}};
  for (const TreeDef& argument : arguments.children()) {
    std::vector<Axes> longer;
    for (const Axes& axes : all) {
      for (const auto& option : options) {
        if (option && argument.num_leaves() == 0) continue;
        longer.push_back(axes);
        longer.back().push_back(option);
      }
    }
    all = std::move(longer);
  }
  std::erase_if(all, [](const Axes& axes) { return !are_mapped(axes); });
  return all;
}

// "(0, None)", "(0,)"
std::string axes_text(const Axes& axes) {
  std::vector<std::string> parts;
  for (const auto& axis : axes) parts.push_back(axis ? std::to_string(*axis) : "None");
  return fmt::format("({}{})", fmt::join(parts, ", "), parts.size() == 1 ? "," : "");
}

std::string type_text(ShapeDtype type) {
  return fmt::format("{}[{}]", dtype_name(type.dtype()), fmt::join(type.shape(), ", "));
}

const std::byte* bytes_of(const Array& x) { return static_cast<const std::byte*>(x.data()); }

// The argument that each leaf belongs to.
std::vector<size_t> arguments_by_leaf(const TreeDef& arguments) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < arguments.children().size(); ++i) {
    numbers.insert(numbers.end(), arguments.children()[i].num_leaves(), i);
  }
  return numbers;
}

// Nested vmaps, the outermost first: the axes of each, and the sizes of the batch.
struct Nest {
  std::vector<Axes> axes;
  Shape sizes;

  int64_t count() const {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    return count;
  }
  std::string name() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < axes.size(); ++i) {
      names.push_back(fmt::format("{}with in_axes={}", sizes[i] == 1 ? "of one element " : "",
                                  axes_text(axes[i])));
    }
    return fmt::format("{}", fmt::join(names, " of vmap "));
  }
};

class BatchCheck {
 public:
  BatchCheck(LeafCall& call, const TreeDef& arguments, const BatchChecks& options,
             const ErrorReport& report)
      : call_(call),
        leaves_(call.leaves()),
        arguments_(arguments_by_leaf(arguments)),
        options_(options),
        report_(report) {
    // Numbers count as arrays of their dtype, alone and in batches.
    for (Array& leaf : leaves_) leaf = strengthened(leaf);
  }

  void run(const Nest& nest) const {
    const std::string where = call_.where() + ": vmap: " + nest.name();
    std::vector<std::vector<Array>> wanted;  // by element of the batch
    TreeDef structure;
    for (int64_t i = 0; i < nest.count(); ++i) {
      wanted.push_back(call_(inputs_of(index_of(i, nest.sizes), nest)));
      if (i == 0) structure = call_.result_tree();
      check_structure(where, structure);
    }
    const std::vector<Array> got = with_error_prefix(where, [&] {
      std::vector<Array> batches;
      for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
        batches.push_back(batch_of(leaf, {}, nest));
      }
      try {
        return mapped(0, nest)(batches);
      } catch (const std::exception&) {
        if (report_) report_(where);
        throw;
      }
    });
    check_structure(where, structure);
    for (size_t i = 0; i < got.size(); ++i) compare(where, i, got[i], wanted, nest);
  }

 private:
  // The axis over which a vmap maps a leaf.
  std::optional<int64_t> axis_of(size_t leaf, size_t level, const Nest& nest) const {
    if (leaves_[leaf].type().is_token()) return std::nullopt;
    return nest.axes[level][arguments_[leaf]];
  }

  // The leaf for one element of the batch. Floats differ between elements, other values do not.
  Array element(size_t leaf, const std::vector<int64_t>& index, const Nest& nest) const {
    int64_t number = 0;
    for (size_t i = 0; i < index.size(); ++i) number = number * nest.sizes[i] + index[i];
    const Array& x = leaves_[leaf];
    if (number == 0 || !is_inexact(x.dtype())) return x;
    std::vector<Number> numbers = numbers_of(x);
    const double part = static_cast<double>(number) / static_cast<double>(nest.count());
    for (Number& each : numbers) each *= 1 - part / 2;
    return array_of(numbers, x.type());
  }

  // What the function is called with for this element of the batch.
  std::vector<Array> inputs_of(const std::vector<int64_t>& index, const Nest& nest) const {
    std::vector<Array> inputs;
    for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      std::vector<int64_t> own = index;
      for (size_t level = 0; level < own.size(); ++level) {
        if (!axis_of(leaf, level, nest)) own[level] = 0;
      }
      inputs.push_back(element(leaf, own, nest));
    }
    return inputs;
  }

  // Stacks the elements of the vmaps that follow those of `index`.
  Array batch_of(size_t leaf, const std::vector<int64_t>& index, const Nest& nest) const {
    const size_t level = index.size();
    if (level == nest.sizes.size()) return element(leaf, index, nest);
    const std::optional<int64_t> axis = axis_of(leaf, level, nest);
    std::vector<Array> parts;
    std::vector<int64_t> next = index;
    next.push_back(0);
    for (int64_t& k = next.back(); k < (axis ? nest.sizes[level] : 1); ++k) {
      parts.push_back(batch_of(leaf, next, nest));
    }
    return axis ? stacked(parts, *axis) : parts[0];
  }

  // The function under the vmaps from `level` on.
  FlatFunction mapped(size_t level, const Nest& nest) const {
    if (level == nest.axes.size()) return call_.as_function();
    return [this, level, &nest](std::span<const Array> inputs) {
      std::vector<int64_t> axes;
      for (size_t leaf = 0; leaf < inputs.size(); ++leaf) {
        const std::optional<int64_t> axis = axis_of(leaf, level, nest);
        const auto rank = static_cast<int64_t>(inputs[leaf].rank());
        axes.push_back(!axis ? kNotBatched : *axis < 0 ? *axis + rank : *axis);
      }
      const BatchAxis axis{nest.sizes[level], {}};
      return batched_in_front(batch(mapped(level + 1, nest), inputs, axes, axis), axis);
    };
  }

  void check_structure(const std::string& where, const TreeDef& wanted) const {
    if (call_.result_tree() == wanted) return;
    throw CheckError(fmt::format("{}: the structure should be {}, got {}", where,
                                 wanted.to_string(), call_.result_tree().to_string()));
  }

  void compare(const std::string& where, size_t result, const Array& got,
               const std::vector<std::vector<Array>>& wanted, const Nest& nest) const {
    if (got.type().is_token()) return;
    const DType dtype = got.dtype();
    const double epsilon = 100 * epsilon_of(dtype);
    const Tolerance tolerance{options_.atol.value_or(epsilon), options_.rtol.value_or(epsilon)};
    const size_t width = byte_width(dtype);
    double worst = 0;
    const std::byte *found = bytes_of(got), *worst_found = nullptr, *worst_wanted = nullptr;
    for (const std::vector<Array>& results : wanted) {
      const Array& single = results[result];
      check_type(where, result, got.type(), single.type(), nest);
      const std::byte* right = bytes_of(single);
      for (int64_t i = 0; i < single.size(); ++i, found += width, right += width) {
        const double off = excess(dtype, found, right, tolerance);
        if (off <= worst) continue;
        worst = off;
        worst_found = found;
        worst_wanted = right;
      }
    }
    if (worst == 0) return;
    const auto place = static_cast<size_t>(worst_found - bytes_of(got)) / width;
    throw CheckError(fmt::format(
        "{}: {} should be {}, as one call for each element gives, and is {}", where,
        element_name(fmt::format("result {}", result), static_cast<int64_t>(place), got.shape()),
        format_element(dtype, worst_wanted), format_element(dtype, worst_found)));
  }

  static void check_type(const std::string& where, size_t result, ShapeDtype got, ShapeDtype single,
                         const Nest& nest) {
    Shape shape = nest.sizes;
    shape.insert(shape.end(), single.shape().begin(), single.shape().end());
    const ShapeDtype wanted(single.dtype(), shape);
    if (got.strengthened() == wanted) return;
    throw CheckError(fmt::format("{}: result {} should be {}, got {}", where, result,
                                 type_text(wanted), type_text(got)));
  }

  LeafCall& call_;
  std::vector<Array> leaves_;
  std::vector<size_t> arguments_;
  const BatchChecks& options_;
  const ErrorReport& report_;
};

void check_options(const std::string& where, const TreeDef& arguments, const BatchChecks& options) {
  const size_t count = arguments.children().size();
  if (options.in_axes) {
    if (options.in_axes->size() != count || !are_mapped(*options.in_axes)) {
      invalid_argument(
          fmt::format("{}: in_axes must have an entry for each of the {} arguments, not all of "
                      "them None, got {}",
                      where, count, axes_text(*options.in_axes)));
    }
  } else if (arguments.num_leaves() == 0) {
    invalid_argument(where + ": no argument to map over");
  }
  if (std::ranges::any_of(options.sizes, [](int64_t size) { return size < 1; })) {
    invalid_argument(fmt::format("{}: sizes must be at least 1, got ({})", where,
                                 fmt::join(options.sizes, ", ")));
  }
}

}  // namespace

void check_batching(LeafCall& call, const TreeDef& arguments, const BatchChecks& options,
                    const ErrorReport& report) {
  check_options(call.where(), arguments, options);
  const auto chosen = [&](const Axes& among) {
    return options.in_axes ? std::vector<Axes>{*options.in_axes} : choices(among, arguments);
  };
  const BatchCheck check(call, arguments, options, report);
  for (const Axes& axes : chosen({std::nullopt, 0, -1})) check.run({{axes}, {options.sizes[0]}});
  // A dimension of one element may be taken for one that is broadcast.
  for (const Axes& axes : chosen({std::nullopt, 0})) check.run({{axes}, {1}});
  for (const Axes& outer : chosen({std::nullopt, 0})) {
    for (const Axes& inner : chosen({std::nullopt, -1})) {
      check.run({{outer, inner}, {options.sizes[0], options.sizes[1]}});
    }
  }
}

}  // namespace farcall::testing::detail
