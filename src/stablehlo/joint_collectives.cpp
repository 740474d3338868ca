#include "stablehlo/joint_collectives.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <farcall/primitives/collectives.h>
#include <farcall/program/walk.h>

#include "stablehlo/groups.h"
#include "stablehlo/rules.h"

namespace farcall::stablehlo {
namespace {

// The bytes of all devices that a joint exchange may send where only some of them are wanted.
constexpr int64_t kMostExtraBytes = int64_t{1} << 16;
// The bytes of a device's arrays that may be copied to exchange them together.
constexpr int64_t kMostCopiedBytes = int64_t{1} << 20;

ShapeDtype type_of(const Program& program, const Equation& equation) {
  return program.type_of(equation.inputs[0]);
}

constexpr std::string_view kJoinable[] = {"psum", "all_gather", "ppermute"};

bool is_joinable(const Program& program, const Equation& equation) {
  if (std::ranges::find(kJoinable, equation.primitive->name) == std::end(kJoinable)) return false;
  const ShapeDtype type = type_of(program, equation);
  return type.size() > 0 && dtype_info(type.dtype()).bits >= 8 && has_zero(type.dtype());
}

// Whether one operation may do the work of both.
bool match(const Program& program, const Equation& x, const Equation& y) {
  if (x.primitive != y.primitive || type_of(program, x).dtype() != type_of(program, y).dtype()) {
    return false;
  }
  const Params *a = x.params.get(), *b = y.params.get();
  if (const auto* p = try_params<PpermuteParams>(a)) {
    return p->axis_name == params_as<PpermuteParams>(b).axis_name;
  }
  if (const auto* p = try_params<AllGatherParams>(a)) {
    const auto& q = params_as<AllGatherParams>(b);
    return p->axis_name == q.axis_name && p->all_gather_dimension == q.all_gather_dimension;
  }
  return params_as<ReduceAxesParams>(a).axes == params_as<ReduceAxesParams>(b).axes;
}

int64_t nbytes_of(std::span<const Value> operands) {
  size_t nbytes = 0;
  for (const Value& operand : operands) nbytes += operand.type.nbytes();
  return static_cast<int64_t>(nbytes);
}

// All arrays as one vector.
Value joined(Emitter& e, std::span<const Value> operands) {
  Values vectors;
  int64_t size = 0;
  for (const Value& operand : operands) {
    vectors.push_back(e.reshape(operand, {{operand.type.size()}}));
    size += operand.type.size();
  }
  return e.op("stablehlo.concatenate", vectors, operands[0].type.with_shape({{size}}),
              "dimension = 0 : i64");
}

// Columns of a matrix with a row of joined arrays for each device, or of the one row of a vector.
// The results have the types of the operands, with a leading dimension for the devices.
Values split(Emitter& e, const Value& all, std::span<const Value> operands) {
  const bool has_rows = all.type.rank() == 2;
  Values parts;
  int64_t at = 0;
  for (const Value& operand : operands) {
    Shape start{at}, limit{at + operand.type.size()}, size{operand.type.size()};
    Shape shape(operand.type.shape().begin(), operand.type.shape().end());
    if (has_rows) {
      const int64_t rows = all.type.shape()[0];
      start.insert(start.begin(), 0);
      limit.insert(limit.begin(), rows);
      size.insert(size.begin(), rows);
      shape.insert(shape.begin(), rows);
    }
    const std::vector<int64_t> ones(start.size(), 1);
    const Value part =
        e.op("stablehlo.slice", {all}, all.type.with_shape(size), slice_text(start, limit, ones));
    parts.push_back(e.reshape(part, shape));
    at = limit.back();
  }
  return parts;
}

Values joint_sums(Emitter& e, const Equation& first, std::span<const Value> operands) {
  const Groups groups(e.bound_axes(), params_as<ReduceAxesParams>(first.params.get()).axes);
  const Value all = joined(e, operands);
  const std::string body = reducer(e, all.type.dtype(), "stablehlo.add");
  const Values sums = e.op("stablehlo.all_reduce", Values{all}, std::span(&all.type, 1),
                           groups.attributes() + ", use_global_device_ids", std::span(&body, 1));
  return split(e, sums[0], operands);
}

// A row of joined arrays for each device.
Value gathered_rows(Emitter& e, const Groups& groups, std::span<const Value> operands) {
  const Value all = joined(e, operands);
  const Value own = e.reshape(all, {{1, all.type.size()}});
  return e.op(
      "stablehlo.all_gather", {own}, all.type.with_shape({{groups.size(), all.type.size()}}),
      fmt::format("all_gather_dim = 0 : i64, {}, use_global_device_ids", groups.attributes()));
}

Values joint_gathers(Emitter& e, const Equation& first, std::span<const Value> operands) {
  const auto& p = params_as<AllGatherParams>(first.params.get());
  const Groups groups(e.bound_axes(), {&p.axis_name, 1});
  Values results = split(e, gathered_rows(e, groups, operands), operands);
  for (Value& result : results) {
    std::vector<int64_t> permutation;
    for (int64_t i = 1; i < static_cast<int64_t>(result.type.rank()); ++i) permutation.push_back(i);
    permutation.insert(permutation.begin() + p.all_gather_dimension, 0);
    Shape shape;
    for (const int64_t dim : permutation) {
      shape.push_back(result.type.shape()[static_cast<size_t>(dim)]);
    }
    if (p.all_gather_dimension == 0) continue;
    result = e.op("stablehlo.transpose", {result}, result.type.with_shape(shape),
                  "permutation = " + array_text(permutation));
  }
  return results;
}

Values joint_permutations(Emitter& e, std::span<const Equation* const> step,
                          std::span<const Value> operands) {
  const auto& first = params_as<PpermuteParams>(step[0]->params.get());
  const Groups groups(e.bound_axes(), {&first.axis_name, 1});
  const auto perm_of = [](const Equation* equation) -> decltype(auto) {
    return params_as<PpermuteParams>(equation->params.get()).perm;
  };
  const bool have_one_perm = std::ranges::all_of(
      step, [&](const Equation* equation) { return perm_of(equation) == first.perm; });
  if (have_one_perm && !first.perm.empty()) {
    const Value all = joined(e, operands);
    const Value moved = e.op("stablehlo.collective_permute", {all}, all.type,
                             fmt::format("source_target_pairs = {}, {}",
                                         pairs_text(groups.in_all(first.perm)), Groups::kChannel));
    return split(e, moved, operands);
  }
  if (nbytes_of(operands) * groups.size() > kMostExtraBytes) return {};
  // Each device gets all arrays, and reads those that are sent to it.
  const Value gathered = gathered_rows(e, groups, operands);
  const ShapeDtype number(DType::kInt32, {});
  const Value me =
      e.convert(e.op("stablehlo.partition_id", Values{}, {DType::kUInt32, {}}), DType::kInt32);
  Values results;
  int64_t at = 0;
  for (size_t i = 0; i < step.size(); ++i) {
    const std::vector<int32_t> sources = groups.sources(perm_of(step[i]));
    const auto num_devices = static_cast<int64_t>(sources.size());
    const Value table = e.constant({DType::kInt32, {num_devices}}, sources.data());
    const Value found = e.op("stablehlo.dynamic_slice", {table, me}, {DType::kInt32, {1}},
                             "slice_sizes = array<i64: 1>");
    const Value source = e.reshape(found, {});
    const int64_t size = operands[i].type.size();
    const Value row = e.op("stablehlo.dynamic_slice",
                           {gathered, source, e.number(number, static_cast<double>(at))},
                           gathered.type.with_shape({{1, size}}),
                           fmt::format("slice_sizes = array<i64: 1, {}>", size));
    Value result = e.reshape(row, operands[i].type.shape());
    if (std::ranges::find(sources, -1) != sources.end()) {
      const Value is_sent = e.compare("GE", source, e.number(number, 0));
      result =
          e.select(e.broadcast(is_sent, result.type.shape()), result, e.number(result.type, 0));
    }
    results.push_back(result);
    at += size;
  }
  return results;
}

}  // namespace

Steps steps_of(const Program& program, bool joins) {
  const bool keeps_order = !joins || is_ordered(program);
  return late_equations_last(
      program,
      [&](const Equation& equation) { return !keeps_order && is_joinable(program, equation); },
      [&](const Equation& x, const Equation& y) { return match(program, x, y); });
}

Values joint_collectives(Emitter& emitter, std::span<const Equation* const> step,
                         std::span<const Value> operands) {
  if (nbytes_of(operands) > kMostCopiedBytes) return {};
  const Params* params = step[0]->params.get();
  if (try_params<PpermuteParams>(params)) return joint_permutations(emitter, step, operands);
  if (try_params<AllGatherParams>(params)) return joint_gathers(emitter, *step[0], operands);
  return joint_sums(emitter, *step[0], operands);
}

}  // namespace farcall::stablehlo
