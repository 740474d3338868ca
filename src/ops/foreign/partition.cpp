// Division of foreign calls among the devices of a mesh: by the sharding rule of the target, over
// leading dimensions that are declared batch-partitionable, and over those that vmap added.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/ffi/registry.h>
#include <farcall/ops/collectives.h>
#include <farcall/ops/define.h>
#include <farcall/ops/shard_map.h>
#include <farcall/primitives/ffi_call.h>

#include "ops/foreign/rules.h"
#include "ops/internal/rule_names.h"

namespace farcall {
namespace {

// The first dimension without a name.
size_t first_unnamed(const DimensionNames& names) {
  return static_cast<size_t>(std::ranges::find_if(names, &std::vector<std::string>::empty) -
                             names.begin());
}

std::vector<ShapeDtype> unnamed_types(std::span<const ShapeDtype> types,
                                      const std::vector<DimensionNames>& names) {
  std::vector<ShapeDtype> inner;
  for (size_t i = 0; i < types.size(); ++i) {
    inner.push_back(types[i].with_shape(types[i].shape().subspan(first_unnamed(names[i]))));
  }
  return inner;
}

// Names the dimensions that vmaps added. The dimension of the last vmap comes first. An unbatched
// operand may have size 1 there; all parts of the batch use it, so this dimension gets a name of
// its own.
void name_batches(const FfiCallParams& p, std::span<const ShapeDtype> operands,
                  NamedDimensions& names) {
  std::vector<size_t> num_named(operands.size(), 0);
  for (size_t level = p.batched_operands.size(); level-- > 0;) {
    const std::string name = fmt::format("batch {}", level);
    const size_t place = p.batched_operands.size() - 1 - level;
    for (const int64_t operand : p.batched_operands[level]) {
      const auto i = static_cast<size_t>(operand);
      const size_t d = num_named[i]++;
      const bool is_shared = operands[i].shape()[d] == 1;
      names.operands[i][d] = {is_shared ? fmt::format("shared {} {}", level, i) : name};
    }
    for (DimensionNames& result : names.results) result[place] = {name};
  }
}

// Names the batch of a target that is batch-partitionable; returns what it is, for reports.
std::string name_declared_batch(const std::string& target, NamedDimensions& names) {
  const std::optional<size_t> element_rank = batch_element_rank(target);
  size_t count = 1;
  if (element_rank) {
    const size_t rank = names.operands.empty() ? 0 : names.operands[0].size();
    const size_t named = names.operands.empty() ? 0 : first_unnamed(names.operands[0]);
    count = rank - std::min(rank, named + *element_rank);
  }
  for (std::vector<DimensionNames>* arrays : {&names.operands, &names.results}) {
    for (DimensionNames& array : *arrays) {
      const size_t first = first_unnamed(array);
      for (size_t d = 0; d < std::min(count, array.size() - first); ++d) {
        array[first + d] = {fmt::format("declared {}", d)};
      }
    }
  }
  return fmt::format("its leading dimension{}, by register_ffi_target_as_batch_partitionable",
                     element_rank ? "s" : "");
}

// Removes the names that occur with different sizes, because such dimensions cannot be divided
// together.
void drop_uneven(std::span<const ShapeDtype> operands, std::span<const ShapeDtype> results,
                 NamedDimensions& names) {
  std::map<std::string, int64_t> sizes;
  std::vector<std::string> uneven;
  const auto visit = [&](std::vector<DimensionNames>& arrays, std::span<const ShapeDtype> types,
                         const auto& act) {
    for (size_t i = 0; i < arrays.size(); ++i) {
      for (size_t d = 0; d < arrays[i].size(); ++d) {
        if (arrays[i][d].size() == 1) act(arrays[i][d], types[i].shape()[d]);
      }
    }
  };
  const auto note = [&](const std::vector<std::string>& factors, int64_t size) {
    if (sizes.try_emplace(factors[0], size).first->second != size) uneven.push_back(factors[0]);
  };
  const auto drop = [&](std::vector<std::string>& factors, int64_t) {
    if (std::ranges::find(uneven, factors[0]) != uneven.end()) factors.clear();
  };
  visit(names.operands, operands, note);
  visit(names.results, results, note);
  visit(names.operands, operands, drop);
  visit(names.results, results, drop);
}

// The names of a call's dimensions, and the rule that gave them, for reports.
struct NamedCall {
  NamedDimensions names;
  std::string rule;
};

NamedCall name_dimensions(const FfiCallParams& p, std::span<const ShapeDtype> operands) {
  NamedDimensions names;
  for (const ShapeDtype& type : operands) names.operands.emplace_back(type.rank());
  for (const ShapeDtype& type : p.result_types) names.results.emplace_back(type.rank());
  name_batches(p, operands, names);
  std::string rule = p.batched_operands.empty() ? "" : "the batch of its vmap";
  const auto also = [&](const std::string& more) { rule += (rule.empty() ? "" : " and ") + more; };
  if (const auto definition = find_definition(p.target_name);
      definition && definition->sharding_rule) {
    const ShardingRule& given = *definition->sharding_rule;
    const auto inner = unnamed_types(operands, names.operands);
    const auto inner_results = unnamed_types(p.result_types, names.results);
    given.check(inner, inner_results);
    add_rule_names(given, names);
    also(fmt::format("its sharding rule \"{}\"", given.text()));
  } else if (is_batch_partitionable(p.target_name)) {
    also(name_declared_batch(p.target_name, names));
  }
  drop_uneven(operands, p.result_types, names);
  return {std::move(names), std::move(rule)};
}

// Returns the reason if a call must run once, such as side effects; otherwise empty.
std::string why_once(const FfiCallParams& p, std::span<const ShapeDtype> operands) {
  const auto is_token = [](const ShapeDtype& type) { return type.is_token(); };
  if (p.has_side_effect) return "it has side effects";
  if (std::ranges::any_of(operands, is_token) || std::ranges::any_of(p.result_types, is_token)) {
    return "it has a token among its operands or results";
  }
  return {};
}

}  // namespace

std::optional<CallSpecs> ffi_call_specs(const SpecsCall& call) {
  const auto& p = params_as<FfiCallParams>(call.params);
  if (!why_once(p, call.operands).empty()) return std::nullopt;
  Division division = divide(name_dimensions(p, call.operands).names, call);
  if (division.axes.empty()) return std::nullopt;
  return std::move(division.specs);
}

PartitionResults ffi_call_partition(const PartitionCall& call) {
  const auto& p = params_as<FfiCallParams>(call.params.get());
  const std::vector<ShapeDtype> types = types_of(call.inputs);
  if (std::string why = why_once(p, types); !why.empty()) return {{}, {}, std::move(why)};
  const NamedCall named = name_dimensions(p, types);
  if (named.rule.empty()) return {{}, {}, "its target has no sharding rule"};
  const Division division =
      divide(named.names, {call.params.get(), types, p.result_types, call.mesh, call.specs});
  if (division.axes.empty()) {
    return {{},
            {},
            fmt::format("{} divides none of the dimensions that are split: {}", named.rule,
                        describe_specs(types, call.specs.operands))};
  }
  const auto on_shards = [&](const std::vector<Array>& shards) {
    FfiCallParams local = p;
    for (size_t i = 0; i < local.result_types.size(); ++i) {
      local.result_types[i] =
          Partition(p.result_types[i], division.specs.results[i], call.mesh.axes(), p.target_name)
              .shard();
    }
    std::vector<Array> found =
        bind_primitive(call.primitive, make_params(std::move(local)), shards);
    // If no result has a divided name, each call computes a summand of the results.
    if (!division.summed.empty()) {
      for (Array& addend : found) addend = lax::psum(addend, division.summed);
    }
    return found;
  };
  const std::vector<Array> operands(call.inputs.begin(), call.inputs.end());
  const ShardMapOptions options{.mesh = call.mesh,
                                .in_specs = division.specs.operands,
                                .out_specs = division.specs.results,
                                .axis_names = division.axes,
                                .check_replication = false};
  return {shard_map(on_shards, options)(operands),
          fmt::format("{} over {}", named.rule, fmt::join(division.axes, ", ")),
          {}};
}

}  // namespace farcall
