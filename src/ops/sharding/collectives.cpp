// Collectives over the named axes of vmap and of meshes. Batching over an axis replaces a
// collective by operations on the whole batch. Over the axes of a mesh, collectives remain and
// synchronize the devices.
#include <farcall/ops/collectives.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/primitives/collectives.h>
#include <farcall/program/params.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/interpreter.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"
#include "trace/internal/axis_tracking.h"

namespace farcall {
namespace {

std::vector<std::string> reduce_axis_names(const Params* params) {
  return params_as<ReduceAxesParams>(params).axes;
}
template <class P>
std::vector<std::string> one_axis_name(const Params* params) {
  return {params_as<P>(params).axis_name};
}

template <class P>
Array bind(const Primitive& primitive, P params, const Array& x) {
  return bind_one(primitive, make_params(std::move(params)), {&x, 1});
}

// Checks that the program was made for an axis of this size.
void check_axis_size(const BatchAxis& axis, int64_t wanted) {
  if (axis.size == wanted) return;
  invalid_argument(
      fmt::format("was traced for an axis \"{}\" of size {}, but is mapped over an axis of size {}",
                  axis.name, wanted, axis.size));
}

// ---- psum, pmax, pmin ----

std::vector<ShapeDtype> collective_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  if (params_as<ReduceAxesParams>(params).axes.empty())
    invalid_argument("expected at least one axis");
  if (inputs[0].is_token() || is_key(inputs[0].dtype())) {
    invalid_argument(fmt::format("{} has no elements to compute with", inputs[0].to_string()));
  }
  return {inputs[0].strengthened()};
}

// `whole` reduces a batched operand over its batch dimension. `alone` computes the result for an
// operand that is not batched: all elements have the same value.
BatchResults collective_batch(const BatchCall& call, Array (*whole)(const Array&, int64_t),
                              Array (*alone)(const Array&, int64_t)) {
  ReduceAxesParams p = params_as<ReduceAxesParams>(call.params.get());
  Array x = call.inputs[0];
  int64_t axis = call.axes[0];
  if (std::erase(p.axes, call.axis.name) > 0) {
    x = axis == kNotBatched ? alone(x, call.axis.size) : whole(x, axis);
    axis = kNotBatched;
  }
  return {{p.axes.empty() ? x : bind(call.primitive, std::move(p), x)}, {axis}};
}

BatchResults psum_batch(const BatchCall& call) {
  return collective_batch(
      call,
      [](const Array& x, int64_t axis) {
        return lax::reduce_sum(x, {&axis, 1});
      },
      [](const Array& x, int64_t size) {
        return lax::mul(x, scalar_of(x.dtype(), static_cast<double>(size)));
      });
}
template <Array (*kReduce)(const Array&, ListOf<int64_t>)>
BatchResults extreme_batch(const BatchCall& call) {
  return collective_batch(
      call,
      [](const Array& x, int64_t axis) {
        return kReduce(x, {&axis, 1});
      },
      [](const Array& x, int64_t) { return x; });
}

constexpr Primitive collective_reduction(std::string_view name, const TransformRules* rules) {
  return {.name = name,
          .type_rule = collective_rule,
          .parse = parse_params<ReduceAxesParams>,
          .rules = rules,
          .axis_names = reduce_axis_names};
}

const TransformRules kPsumRules = {
    .jvp = linear_jvp,
    .transpose = self_transpose,  // the cotangent of each element reaches all elements
    .batch = psum_batch};
const Primitive kPsum = collective_reduction("psum", &kPsumRules);
FARCALL_REGISTER_PRIMITIVE(kPsum);
const TransformRules kPmaxRules = {.batch = extreme_batch<lax::reduce_max>};
const Primitive kPmax = collective_reduction("pmax", &kPmaxRules);
FARCALL_REGISTER_PRIMITIVE(kPmax);
const TransformRules kPminRules = {.batch = extreme_batch<lax::reduce_min>};
const Primitive kPmin = collective_reduction("pmin", &kPminRules);
FARCALL_REGISTER_PRIMITIVE(kPmin);

// ---- all_to_all ----

std::vector<ShapeDtype> all_to_all_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  const auto& p = params_as<AllToAllParams>(params);
  Shape shape(inputs[0].shape().begin(), inputs[0].shape().end());
  const auto rank = static_cast<int64_t>(shape.size());
  if (p.split_axis < 0 || p.split_axis >= rank || p.concat_axis < 0 || p.concat_axis >= rank) {
    invalid_argument(fmt::format("split_axis {} and concat_axis {} must lie in {}", p.split_axis,
                                 p.concat_axis, inputs[0].to_string()));
  }
  const int64_t size = shape[p.split_axis];
  shape.erase(shape.begin() + p.split_axis);
  shape.insert(shape.begin() + p.concat_axis, size);
  return {inputs[0].with_shape(shape)};
}

// The split dimension becomes the batch dimension, and the batch dimension the concatenated one.
BatchResults all_to_all_batch(const BatchCall& call) {
  AllToAllParams p = params_as<AllToAllParams>(call.params.get());
  if (p.axis_name != call.axis.name) {
    // The other batch dimension is moved to the front, which shifts the axes by one.
    const Array x = move_axis(call.inputs[0], call.axes[0], 0, call.axis.size);
    ++p.split_axis;
    ++p.concat_axis;
    return {{bind(call.primitive, std::move(p), x)}, {0}};
  }
  const Array x = move_axis(call.inputs[0], call.axes[0], 0, call.axis.size);
  check_axis_size(call.axis, x.shape()[static_cast<size_t>(p.split_axis + 1)]);
  const Array split_in_front = numpy::moveaxis(x, p.split_axis + 1, 0);
  return {{numpy::moveaxis(split_in_front, 1, p.concat_axis + 1)}, {0}};
}

std::vector<Array> all_to_all_transpose(const TransposeCall& call) {
  AllToAllParams p = params_as<AllToAllParams>(call.params.get());
  std::swap(p.split_axis, p.concat_axis);
  return {bind(call.primitive, std::move(p), call.cotangents[0])};
}

const TransformRules kAllToAllRules = {
    .jvp = linear_jvp, .transpose = all_to_all_transpose, .batch = all_to_all_batch};
const Primitive kAllToAll = {.name = "all_to_all",
                             .type_rule = all_to_all_rule,
                             .parse = parse_params<AllToAllParams>,
                             .rules = &kAllToAllRules,
                             .axis_names = one_axis_name<AllToAllParams>};
FARCALL_REGISTER_PRIMITIVE(kAllToAll);

// ---- all_gather ----

std::vector<ShapeDtype> all_gather_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  const auto& p = params_as<AllGatherParams>(params);
  Shape shape(inputs[0].shape().begin(), inputs[0].shape().end());
  if (p.all_gather_dimension < 0 || p.all_gather_dimension > static_cast<int64_t>(shape.size())) {
    invalid_argument(fmt::format("axis {} does not lie in the result of gathering {}",
                                 p.all_gather_dimension, inputs[0].to_string()));
  }
  shape.insert(shape.begin() + p.all_gather_dimension, p.axis_size);
  return {inputs[0].with_shape(shape)};
}

BatchResults all_gather_batch(const BatchCall& call) {
  AllGatherParams p = params_as<AllGatherParams>(call.params.get());
  if (p.axis_name == call.axis.name) {
    check_axis_size(call.axis, p.axis_size);
    return {{move_axis(call.inputs[0], call.axes[0], p.all_gather_dimension, call.axis.size)},
            {kNotBatched}};
  }
  const Array x = move_axis(call.inputs[0], call.axes[0], 0, call.axis.size);
  ++p.all_gather_dimension;
  return {{bind(call.primitive, std::move(p), x)}, {0}};
}

// Each element holds cotangents of the operands of all elements. They are sent to the elements that
// the operands belong to, and are summed there.
std::vector<Array> all_gather_transpose(const TransposeCall& call) {
  const auto& p = params_as<AllGatherParams>(call.params.get());
  const Array handed_out =
      bind(kAllToAll, AllToAllParams{p.axis_name, p.all_gather_dimension, p.all_gather_dimension},
           call.cotangents[0]);
  return {lax::reduce_sum(handed_out, {&p.all_gather_dimension, 1})};
}

const TransformRules kAllGatherRules = {
    .jvp = linear_jvp, .transpose = all_gather_transpose, .batch = all_gather_batch};
const Primitive kAllGather = {.name = "all_gather",
                              .type_rule = all_gather_rule,
                              .parse = parse_params<AllGatherParams>,
                              .rules = &kAllGatherRules,
                              .axis_names = one_axis_name<AllGatherParams>};
FARCALL_REGISTER_PRIMITIVE(kAllGather);

// ---- ppermute ----

std::vector<ShapeDtype> same_type_rule(std::span<const ShapeDtype> inputs, const Params*) {
  check_operand_count(inputs, 1);
  return {inputs[0]};
}

// Permutes the leading batch dimension.
Array permute(const Array& x, std::span<const std::pair<int64_t, int64_t>> perm) {
  const int64_t size = x.shape()[0];
  std::vector<int64_t> sources(static_cast<size_t>(size), -1);
  for (const auto& [from, to] : perm) {
    if (from < 0 || from >= size || to < 0 || to >= size) {
      invalid_argument(
          fmt::format("perm has the pair ({}, {}); each index must be at least 0 and less than the "
                      "size of the axis, {}",
                      from, to, size));
    }
    sources[static_cast<size_t>(to)] = from;
  }
  std::vector<Array> parts;
  for (int64_t begin = 0; begin < size;) {
    // Moves elements together that are adjacent before and after, or that all become zero.
    const int64_t source = sources[begin];
    int64_t end = begin + 1;
    while (end < size && sources[end] == (source < 0 ? -1 : source + end - begin)) ++end;
    std::vector<int64_t> starts(x.rank(), 0), limits(x.shape().begin(), x.shape().end());
    limits[0] = end - begin;
    if (source < 0) {
      parts.push_back(basic_operations().zeros(x.type().with_shape(limits)));
    } else {
      starts[0] = source;
      limits[0] += source;
      parts.push_back(lax::slice(x, starts, limits));
    }
    begin = end;
  }
  return parts.empty() ? x : lax::concatenate(parts, 0);
}

BatchResults ppermute_batch(const BatchCall& call) {
  const auto& p = params_as<PpermuteParams>(call.params.get());
  if (p.axis_name != call.axis.name) {
    return {{bind(call.primitive, p, call.inputs[0])}, {call.axes[0]}};
  }
  return {{permute(move_axis(call.inputs[0], call.axes[0], 0, call.axis.size), p.perm)}, {0}};
}

std::vector<Array> ppermute_transpose(const TransposeCall& call) {
  PpermuteParams p = params_as<PpermuteParams>(call.params.get());
  for (auto& [from, to] : p.perm) std::swap(from, to);
  return {bind(call.primitive, std::move(p), call.cotangents[0])};
}

const TransformRules kPpermuteRules = {
    .jvp = linear_jvp, .transpose = ppermute_transpose, .batch = ppermute_batch};
const Primitive kPpermute = {.name = "ppermute",
                             .type_rule = same_type_rule,
                             .parse = parse_params<PpermuteParams>,
                             .rules = &kPpermuteRules,
                             .axis_names = one_axis_name<PpermuteParams>};
FARCALL_REGISTER_PRIMITIVE(kPpermute);

// ---- axis_index ----

std::vector<ShapeDtype> axis_index_rule(std::span<const ShapeDtype> inputs, const Params*) {
  check_operand_count(inputs, 0);
  return {ShapeDtype(DType::kInt32, {})};
}

BatchResults axis_index_batch(const BatchCall& call) {
  return {{lax::iota(DType::kInt32, {&call.axis.size, 1}, 0)}, {0}};
}

const TransformRules kAxisIndexRules = {.batch = axis_index_batch};
const Primitive kAxisIndex = {.name = "axis_index",
                              .type_rule = axis_index_rule,
                              .parse = parse_params<AxisIndexParams>,
                              .rules = &kAxisIndexRules,
                              .axis_names = one_axis_name<AxisIndexParams>};
FARCALL_REGISTER_PRIMITIVE(kAxisIndex);

}  // namespace

namespace lax {
namespace {

// The product of the axes' sizes. Raises an error prefixed with `f` for an unbound axis.
int64_t size_of(std::string_view f, const AxisNames& axes) {
  return with_error_prefix(f, [&] {
    int64_t size = 1;
    for (const std::string& axis : axes) size *= mapped_axis_size(axis);
    return size;
  });
}

Array reduce_over(const Primitive& primitive, const Array& x, const AxisNames& axes) {
  size_of(primitive.name, axes);
  return bind(primitive, ReduceAxesParams{{axes.begin(), axes.end()}}, x);
}

int64_t checked_axis(std::string_view f, const char* what, int64_t axis, size_t rank) {
  const auto limit = static_cast<int64_t>(rank);
  if (axis < -limit || axis >= limit) {
    invalid_argument(
        fmt::format("{}: {} {} does not lie in [{}, {})", f, what, axis, -limit, limit));
  }
  return axis < 0 ? axis + limit : axis;
}

// "x" or "x, y", in quotation marks.
std::string quoted(const AxisNames& axes) { return fmt::format("\"{}\"", fmt::join(axes, ", ")); }

// The size of the axes. Raises if the dimension cannot be divided among their elements.
int64_t checked_cut(std::string_view f, const Array& x, int64_t dimension, const AxisNames& axes,
                    bool tiled) {
  const int64_t size = size_of(f, axes), length = x.shape()[static_cast<size_t>(dimension)];
  if (tiled ? length % size != 0 : length != size) {
    invalid_argument(fmt::format("{}: dimension {} of {} must {} the size of axis {}, {}", f,
                                 dimension, x.type().to_string(),
                                 tiled ? "be a multiple of" : "have", quoted(axes), size));
  }
  return size;
}

// all_to_all, not tiled: dimension `split`, which has the size of the axes, is moved to `concat`.
Array exchange(const Array& x, const AxisNames& axes, int64_t split, int64_t concat) {
  if (axes.size() == 1) return bind(kAllToAll, AllToAllParams{axes[0], split, concat}, x);
  // Each axis is exchanged with a dimension of its own.
  Shape cut(x.shape().begin(), x.shape().end());
  cut.erase(cut.begin() + split);
  for (size_t i = axes.size(); i-- > 0;) {
    cut.insert(cut.begin() + split, mapped_axis_size(axes[i]));
  }
  Array exchanged = reshape(x, cut);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t own = split + static_cast<int64_t>(i);
    exchanged = bind(kAllToAll, AllToAllParams{axes[i], own, own}, exchanged);
  }
  return numpy::moveaxis(reshape(exchanged, x.shape()), split, concat);
}

}  // namespace

Array psum(const Array& x, const AxisNames& axes) {
  const Array terms = x.dtype() == DType::kBool ? convert_element_type(x, DType::kInt32) : x;
  size_of("psum", axes);
  AxisNames others = axes;
  std::vector<std::string> tracked = take_tracked(others);
  if (tracked.empty()) return reduce_over(kPsum, terms, axes);
  const Array sum = psum_over(terms, std::move(tracked));
  return others.empty() ? sum : reduce_over(kPsum, sum, others);
}
Array pmean(const Array& x, const AxisNames& axes) {
  const int64_t size = size_of("pmean", axes);
  return numpy::divide(psum(x, axes), Array(size));
}
Array pmax(const Array& x, const AxisNames& axes) { return reduce_over(kPmax, x, axes); }
Array pmin(const Array& x, const AxisNames& axes) { return reduce_over(kPmin, x, axes); }

Array all_gather(const Array& x, const AxisNames& axes, int64_t axis, bool tiled) {
  const int64_t size = size_of("all_gather", axes);
  axis = checked_axis("all_gather", "axis", axis, x.rank() + (tiled ? 0 : 1));
  // The last name is the fastest, so its dimension is added first.
  Array result = x;
  for (size_t i = axes.size(); i-- > 0;) {
    result = bind(kAllGather, AllGatherParams{axes[i], axis, mapped_axis_size(axes[i])}, result);
  }
  if (axes.size() == 1 && !tiled) return result;
  Shape shape(x.shape().begin(), x.shape().end());
  if (tiled) {
    shape[static_cast<size_t>(axis)] *= size;
  } else {
    shape.insert(shape.begin() + axis, size);
  }
  return reshape(result, shape);
}

Array all_to_all(const Array& x, const AxisNames& axes, int64_t split_axis, int64_t concat_axis,
                 bool tiled) {
  size_of("all_to_all", axes);
  split_axis = checked_axis("all_to_all", "split_axis", split_axis, x.rank());
  concat_axis = checked_axis("all_to_all", "concat_axis", concat_axis, x.rank());
  const int64_t size = checked_cut("all_to_all", x, split_axis, axes, tiled);
  if (!tiled) return exchange(x, axes, split_axis, concat_axis);
  Shape shape(x.shape().begin(), x.shape().end());
  shape[static_cast<size_t>(split_axis)] /= size;
  Shape cut = shape;
  cut.insert(cut.begin() + split_axis, size);
  const Array exchanged = exchange(reshape(x, cut), axes, split_axis, concat_axis);
  shape[static_cast<size_t>(concat_axis)] *= size;
  return reshape(exchanged, shape);
}

Array psum_scatter(const Array& x, const AxisNames& axes, int64_t scatter_dimension, bool tiled) {
  size_of("psum_scatter", axes);
  const int64_t dimension =
      checked_axis("psum_scatter", "scatter_dimension", scatter_dimension, x.rank());
  const int64_t size = checked_cut("psum_scatter", x, dimension, axes, tiled);
  Array parts = x;
  if (tiled) {
    Shape cut(x.shape().begin(), x.shape().end());
    cut[static_cast<size_t>(dimension)] /= size;
    cut.insert(cut.begin() + dimension, size);
    parts = reshape(x, cut);
  }
  return reduce_sum(exchange(parts, axes, dimension, 0), {0});
}

Array ppermute(const Array& x, const AxisNames& axes, ListOf<std::pair<int64_t, int64_t>> perm) {
  const int64_t size = size_of("ppermute", axes);
  std::vector<bool> sends(static_cast<size_t>(size), false);
  std::vector<int32_t> sources(static_cast<size_t>(size), -1);  // by receiver
  for (const auto& [from, to] : perm) {
    const auto is_outside = [&](int64_t i) { return i < 0 || i >= size; };
    if (is_outside(from) || is_outside(to)) {
      invalid_argument(fmt::format("ppermute: ({}, {}) does not lie in axis {} of size {}", from,
                                   to, quoted(axes), size));
    }
    if (sends[static_cast<size_t>(from)] || sources[static_cast<size_t>(to)] >= 0) {
      invalid_argument(
          fmt::format("ppermute: an element may send once and receive once; ({}, {}) is "
                      "the second time for one of the two",
                      from, to));
    }
    sends[static_cast<size_t>(from)] = true;
    sources[static_cast<size_t>(to)] = static_cast<int32_t>(from);
  }
  if (axes.size() == 1) {
    return bind(kPpermute, PpermuteParams{axes[0], {perm.begin(), perm.end()}}, x);
  }
  const Array source = numpy::take(Array::of<int32_t>(sources, {&size, 1}), {axis_index(axes)});
  const Array received = numpy::take(all_gather(x, axes), {source});
  return numpy::where(numpy::greater_equal(source, Array(0)), received,
                      numpy::zeros({}, x.dtype()));
}

Array pswapaxes(const Array& x, const AxisNames& axes, int64_t dimension) {
  return all_to_all(x, axes, dimension, dimension);
}
Array pbroadcast(const Array& x, const AxisNames& axes, int64_t source) {
  const int64_t size = size_of("pbroadcast", axes);
  if (source < 0 || source >= size) {
    invalid_argument(fmt::format("pbroadcast: source {} does not lie in [0, {})", source, size));
  }
  const Array is_source = numpy::equal(axis_index(axes), Array(source));
  const Array sum = psum(numpy::where(is_source, x, numpy::zeros({}, x.dtype())), axes);
  return convert_element_type(sum, x.dtype());
}
Array pvary(const Array& x, const AxisNames& axes) {
  size_of("pvary", axes);
  AxisNames others = axes;
  return vary_over(x, tracked_axes(take_tracked(others)));
}
Array axis_index(const AxisNames& axes) {
  size_of("axis_index", axes);
  Array index;
  for (const std::string& axis : axes) {
    const Array own = bind_one(kAxisIndex, make_params(AxisIndexParams{axis}), {});
    index = index.is_null() ? own : numpy::add(numpy::multiply(index, Array(axis_size(axis))), own);
  }
  return index.is_null() ? Array::scalar<int32_t>(0) : index;
}

int64_t axis_size(const AxisNames& axes, std::string_view function) {
  return size_of(function, axes);
}

}  // namespace lax
}  // namespace farcall
