// Collectives in the computation of each device of a mesh.
#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include <farcall/primitives/collectives.h>

#include "stablehlo/groups.h"
#include "stablehlo/rules.h"

namespace farcall::stablehlo {
namespace {

Groups groups_of(const Emitter& e, std::span<const std::string> axes) {
  return Groups(e.bound_axes(), axes);
}

Value all_reduce(Emitter& e, const Value& x, std::string_view operation,
                 std::span<const std::string> axes) {
  const std::string body = reducer(e, x.type.dtype(), operation);
  return e.op("stablehlo.all_reduce", Values{x}, std::span(&x.type, 1),
              groups_of(e, axes).attributes() + ", use_global_device_ids", std::span(&body, 1))[0];
}

Values sum(Emitter& e, const Call& call) {
  if (!e.is_on_each_device()) return {};
  return {all_reduce(e, call.inputs[0], "stablehlo.add", call.params<ReduceAxesParams>().axes)};
}

// The arrays of all devices of a group, along a new dimension.
Value gather_all(Emitter& e, const Value& x, int64_t dimension, std::span<const std::string> axes) {
  const Groups groups = groups_of(e, axes);
  Shape shape(x.type.shape().begin(), x.type.shape().end());
  shape.insert(shape.begin() + dimension, 1);
  const Value own = e.reshape(x, shape);
  shape[static_cast<size_t>(dimension)] = groups.size();
  return e.op("stablehlo.all_gather", {own}, x.type.with_shape(shape),
              fmt::format("all_gather_dim = {} : i64, {}, use_global_device_ids", dimension,
                          groups.attributes()));
}

// The program of one equation on two arrays.
ProgramPtr program_of_two(const Primitive& primitive, ShapeDtype type) {
  ProgramBuilder builder;
  const std::array operands = {Atom::variable(builder.add_input(type)),
                               Atom::variable(builder.add_input(type))};
  const Atom output = Atom::variable(builder.add_equation(primitive, nullptr, operands)[0]);
  return builder.build(std::span(&output, 1));
}

// Each device reduces the arrays of all devices, by equations of its own.
Value reduce_gathered(Emitter& e, const Value& x, std::string_view primitive,
                      std::span<const std::string> axes) {
  const Value all = gather_all(e, x, 0, axes);
  const ProgramPtr reduce = program_of_two(primitive_named(primitive), x.type);
  Shape starts(all.type.rank(), 0), sizes(all.type.shape().begin(), all.type.shape().end());
  const std::vector<int64_t> ones(starts.size(), 1);
  Value result;
  for (; starts[0] < all.type.shape()[0]; ++starts[0]) {
    sizes[0] = starts[0] + 1;
    Shape row = sizes;
    row[0] = 1;
    const Value slice =
        e.op("stablehlo.slice", {all}, all.type.with_shape(row), slice_text(starts, sizes, ones));
    const Value next = e.reshape(slice, x.type.shape());
    result = starts[0] == 0 ? next : e.program(*reduce, Values{result, next})[0];
  }
  return result;
}

// XLA's extreme collectives lose NaN, so NaN is reduced separately. They refuse complex numbers.
Rule extreme_by(std::string_view operation, std::string_view primitive) {
  return [operation, primitive](Emitter& e, const Call& call) -> Values {
    if (!e.is_on_each_device()) return {};
    const auto& axes = call.params<ReduceAxesParams>().axes;
    const Value& x = call.inputs[0];
    if (is_complex(call.dtype())) return {reduce_gathered(e, x, primitive, axes)};
    const Value found = all_reduce(e, x, operation, axes);
    // Floats of four bits have no NaN.
    if (!is_floating(call.dtype()) || dtype_info(call.dtype()).bits < 8) return {found};
    const Value is_nan = e.convert(e.compare("NE", x, x), DType::kInt32);
    const Value count = all_reduce(e, is_nan, "stablehlo.maximum", axes);
    const Value is_any = e.compare("NE", count, e.number(count.type, 0));
    return {e.select(is_any, e.number(x.type, std::numeric_limits<double>::quiet_NaN()), found)};
  };
}

Values all_gather(Emitter& e, const Call& call) {
  if (!e.is_on_each_device()) return {};
  const auto& p = call.params<AllGatherParams>();
  return {gather_all(e, call.inputs[0], p.all_gather_dimension, {&p.axis_name, 1})};
}

// The exchange keeps the slices in the dimension that is split; a transpose then moves it.
Values all_to_all(Emitter& e, const Call& call) {
  if (!e.is_on_each_device()) return {};
  const auto& p = call.params<AllToAllParams>();
  const ShapeDtype type = call.inputs[0].type;
  const Groups groups = groups_of(e, {&p.axis_name, 1});
  const Value exchanged = e.op(
      "stablehlo.all_to_all", {call.inputs[0]}, type,
      fmt::format("split_dimension = {0} : i64, concat_dimension = {0} : i64, split_count = {1} : "
                  "i64, {2}",
                  p.split_axis, groups.size(), groups.attributes()));
  std::vector<int64_t> permutation;
  for (int64_t i = 0; i < static_cast<int64_t>(type.rank()); ++i) {
    if (i != p.split_axis) permutation.push_back(i);
  }
  permutation.insert(permutation.begin() + p.concat_axis, p.split_axis);
  return {e.op("stablehlo.transpose", {exchanged}, call.result(),
               "permutation = " + array_text(permutation))};
}

Values ppermute(Emitter& e, const Call& call) {
  if (!e.is_on_each_device()) return {};
  const auto& p = call.params<PpermuteParams>();
  const auto pairs = groups_of(e, {&p.axis_name, 1}).in_all(p.perm);
  if (pairs.empty()) return {e.number(call.result(), 0)};
  return {e.op("stablehlo.collective_permute", call.inputs, call.result(),
               fmt::format("source_target_pairs = {}, {}", pairs_text(pairs), Groups::kChannel))};
}

Values axis_index(Emitter& e, const Call& call) {
  if (!e.is_on_each_device()) return {};
  const Groups groups = groups_of(e, {&call.params<AxisIndexParams>().axis_name, 1});
  const ShapeDtype type(DType::kUInt32, {});
  const Value place = e.op("stablehlo.partition_id", Values{}, type);
  const auto number = [&](int64_t value) { return e.number(type, static_cast<double>(value)); };
  const Value row = e.op("stablehlo.divide", {place, number(groups.stride())}, type);
  return {e.convert(e.op("stablehlo.remainder", {row, number(groups.size())}, type), call.dtype())};
}

}  // namespace

Value guarded(Emitter& e, const Value& condition, std::span<const std::string> axes) {
  if (!e.options().guard) return condition;
  if (e.options().layout) e.count_relay();  // on one device, a guard that stops ends the run
  const bool is_inner = e.is_on_each_device();
  const int64_t id = e.options().guard(is_inner ? RelayPlace::kOnEachDevice : RelayPlace::kOnAll);
  Value goes_on =
      e.on_all_devices({&condition, 1}, {&condition.type, 1}, [&](const Values& operands) {
        return e.call_relay(id, operands, {&condition.type, 1}, /*is_ordered=*/false);
      })[0];
  if (!is_inner || axes.empty()) return goes_on;
  const Value number = e.convert(goes_on, DType::kInt32);
  std::vector<std::string> once(axes.begin(), axes.end());
  std::ranges::sort(once);
  once.erase(std::unique(once.begin(), once.end()), once.end());
  return e.convert(all_reduce(e, number, "stablehlo.minimum", once), DType::kBool);
}

void add_collectives(Rules& rules) {
  // XLA's collectives refuse integers below four bits, or write past the ends of their arrays.
  rules["psum"] = on_bytes(sum);
  rules["pmax"] = on_bytes(extreme_by("stablehlo.maximum", "max"));
  rules["pmin"] = on_bytes(extreme_by("stablehlo.minimum", "min"));
  rules["all_gather"] = on_bytes(all_gather);
  rules["all_to_all"] = on_bytes(all_to_all);
  rules["ppermute"] = on_bytes(ppermute);
  rules["axis_index"] = axis_index;
}

}  // namespace farcall::stablehlo
