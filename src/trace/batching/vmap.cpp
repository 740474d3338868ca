#include <farcall/trace/vmap.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/trace/batch.h>

namespace farcall {
namespace detail {
namespace {

using Axis = std::optional<int64_t>;

std::string describe_axes(const MappedAxes& axes) {
  if (!axes.is_list()) return axes.axis() ? std::to_string(*axes.axis()) : "None";
  std::vector<std::string> parts;
  for (const MappedAxes& part : axes.parts()) parts.push_back(describe_axes(part));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

// Appends one axis for each leaf.
void spread(const MappedAxes& axes, const TreeDef& tree, const std::string& what,
            std::vector<Axis>& spread_axes) {
  if (!axes.is_list()) {
    spread_axes.insert(spread_axes.end(), tree.num_leaves(), axes.axis());
    return;
  }
  if (tree.is_leaf() || axes.parts().size() != tree.children().size()) {
    invalid_argument(
        fmt::format("{} must be a tree prefix of the value that it belongs to: got {} where the "
                    "value has structure {}",
                    what, describe_axes(axes), tree.to_string()));
  }
  for (size_t i = 0; i < tree.children().size(); ++i) {
    spread(axes.parts()[i], tree.children()[i], what, spread_axes);
  }
}

std::vector<Axis> input_axes(const TreeCall& call, const MappedAxes& in_axes) {
  const size_t count = call.arguments().children().size();
  if (in_axes.is_list() && in_axes.parts().size() != count) {
    invalid_argument(
        fmt::format("{}: in_axes {} has {} entries, but {} arguments were given; it must be an "
                    "int, None (std::nullopt), or a list with an entry for each of them",
                    call.where(), describe_axes(in_axes), in_axes.parts().size(), count));
  }
  return axes_of_leaves(in_axes, call.arguments(), call.where() + ": in_axes");
}

// The mapped leaves (null for other leaves) and their nonnegative axes.
struct MappedInputs {
  std::vector<Array> arrays;
  std::vector<int64_t> axes;

  int64_t size_of(size_t i) const { return arrays[i].shape()[static_cast<size_t>(axes[i])]; }
};

MappedInputs mapped_inputs(const LeafCall& call, std::span<const Axis> given) {
  MappedInputs inputs;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) {
      inputs.arrays.emplace_back();
      inputs.axes.push_back(kNotBatched);
      continue;
    }
    const Array& array = call.leaves()[i];
    const auto rank = static_cast<int64_t>(array.rank());
    if (*given[i] < -rank || *given[i] >= rank) {
      invalid_argument(fmt::format(
          "{}: {} should be mapped over its axis {}, but has rank {} (it is {}). Give "
          "in_axes None for arguments that are not mapped",
          call.where(), call.argument_name(i), *given[i], rank, array.type().to_string()));
    }
    inputs.arrays.push_back(array);
    inputs.axes.push_back(*given[i] < 0 ? *given[i] + rank : *given[i]);
  }
  return inputs;
}

int64_t batch_size(const LeafCall& call, const MappedInputs& inputs, Axis axis_size) {
  Axis size = axis_size;
  bool differs = false;
  for (size_t i = 0; i < inputs.arrays.size(); ++i) {
    if (inputs.axes[i] == kNotBatched) continue;
    differs = differs || (size && *size != inputs.size_of(i));
    size = inputs.size_of(i);
  }
  if (!size) {
    invalid_argument(call.leaves().empty()
                         ? fmt::format("{}: no argument is an array, so the size of the mapped "
                                       "axis is unknown; pass axis_size",
                                       call.where())
                         : fmt::format("{}: no argument is mapped: set in_axes to an axis for at "
                                       "least one of them, or pass axis_size",
                                       call.where()));
  }
  if (!differs) return *size;
  std::string text = fmt::format("{}: the mapped axes have inconsistent sizes:", call.where());
  if (axis_size) text += fmt::format("\n  * axis_size is {}", *axis_size);
  for (size_t i = 0; i < inputs.arrays.size(); ++i) {
    if (inputs.axes[i] == kNotBatched) continue;
    text += fmt::format("\n  * {} of type {} has size {} in axis {}", call.argument_name(i),
                        inputs.arrays[i].type().to_string(), inputs.size_of(i), inputs.axes[i]);
  }
  invalid_argument(std::move(text));
}

// Moves the mapped dimension of a result to the axis that out_axes asks for.
Array place(const Array& output, int64_t axis, Axis wanted, int64_t size, const std::string& what) {
  if (!wanted) {
    if (axis == kNotBatched) return output;
    invalid_argument(
        fmt::format("{} differs along the mapped axis, but out_axes is None for it; give it an "
                    "axis",
                    what));
  }
  const int64_t rank = static_cast<int64_t>(output.rank()) + (axis == kNotBatched ? 1 : 0);
  if (*wanted < -rank || *wanted >= rank) {
    invalid_argument(
        fmt::format("{}: axis {} of out_axes is out of bounds for the mapped result, which has "
                    "rank {}",
                    what, *wanted, rank));
  }
  return move_axis(output, axis, *wanted < 0 ? *wanted + rank : *wanted, size);
}

}  // namespace

std::vector<Axis> axes_of_leaves(const MappedAxes& axes, const TreeDef& tree,
                                 const std::string& what) {
  std::vector<Axis> spread_axes;
  spread(axes, tree, what, spread_axes);
  return spread_axes;
}

std::vector<Array> call_vmap(LeafCall& call, std::span<const Axis> in_axes,
                             const std::function<std::vector<Axis>()>& out_axes,
                             const VmapOptions& options) {
  const MappedInputs inputs = mapped_inputs(call, in_axes);
  const BatchAxis axis{batch_size(call, inputs, options.axis_size), options.axis_name,
                       options.spmd_axis_names};
  const BatchResults results = batch(call.as_function(), inputs.arrays, inputs.axes, axis);
  const std::vector<Axis> wanted = out_axes();
  std::vector<Array> outputs;
  for (size_t i = 0; i < wanted.size(); ++i) {
    outputs.push_back(place(results.outputs[i], results.axes[i], wanted[i], axis.size,
                            fmt::format("{}: {}", call.where(), call.result_name(i))));
  }
  return outputs;
}

std::vector<Array> call_vmap(TreeCall& call, const VmapOptions& options) {
  const auto out_axes = [&] {
    return axes_of_leaves(options.out_axes, call.result_tree(), call.where() + ": out_axes");
  };
  return call_vmap(call, input_axes(call, options.in_axes), out_axes, options);
}

}  // namespace detail

const MappedAxes& MappedAxes::operator[](size_t part) const {
  if (!is_list_) return *this;
  if (part >= parts_.size()) {
    invalid_argument(fmt::format("MappedAxes: part {} was requested, but {} has {} parts", part,
                                 detail::describe_axes(*this), parts_.size()));
  }
  return parts_[part];
}

bool MappedAxes::is_mapped() const {
  return is_list_ ? std::ranges::any_of(parts_, &MappedAxes::is_mapped) : axis_.has_value();
}

}  // namespace farcall
