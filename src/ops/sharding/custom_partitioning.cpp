#include <farcall/ops/custom_partitioning.h>

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/core/type_text.h>
#include <farcall/ops/shard_map.h>
#include <farcall/program/params.h>
#include <farcall/program/verify.h>
#include <farcall/trace/call.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/rules.h>

#include "ops/internal/register.h"
#include "ops/internal/rule_names.h"
#include "ops/internal/rules.h"

namespace farcall {

// The rules are functions, which text cannot hold. The text of a program has only their name.
Value to_value(const CustomPartitioningPtr& rules) { return to_value(rules->name); }
void from_value(const Value& value, CustomPartitioningPtr& out) {
  auto rules = std::make_shared<CustomPartitioning>();
  from_value(value, rules->name);
  out = std::move(rules);
}
inline size_t hash_of(const CustomPartitioningPtr& rules) {
  return std::hash<CustomPartitioningPtr>()(rules);
}

namespace {

using Specs = std::vector<PartitionSpec>;

// Runs `jaxpr`. Its first `num_consts` inputs are values that the function closes over.
struct CustomPartitioningParams {
  ProgramPtr jaxpr;
  CustomPartitioningPtr rules;
  int64_t num_consts = 0;
  static constexpr auto fields() {
    return std::tuple(field("name", &CustomPartitioningParams::rules),
                      field("jaxpr", &CustomPartitioningParams::jaxpr),
                      field("num_consts", &CustomPartitioningParams::num_consts));
  }
  std::string where() const { return fmt::format("custom_partitioning({})", rules->name); }
};

const CustomPartitioningParams& params_of(const Params* params) {
  return params_as<CustomPartitioningParams>(params);
}

std::vector<ShapeDtype> call_types(std::span<const ShapeDtype> inputs, const Params* params) {
  const CustomPartitioningParams& p = params_of(params);
  check_operands(*p.jaxpr, inputs);
  check_num_consts(p.num_consts, inputs.size());
  return p.jaxpr->output_types();
}
Effects call_effects(const Params* params) { return params_of(params).jaxpr->effects(); }
ProgramPtr call_body(const Params* params) { return params_of(params).jaxpr; }
std::vector<std::string> call_axis_names(const Params* params) {
  return params_of(params).jaxpr->axis_names;
}

// ---- derivatives and batches: those of the function ----

JvpResults call_jvp(const JvpCall& call) {
  return jvp_of_call(call, params_of(call.params.get()).jaxpr, call_program);
}
BatchResults call_batch(const BatchCall& call) {
  return batch_of_call(call, params_of(call.params.get()).jaxpr, call_program);
}

// ---- division ----

std::vector<SpreadType> spread_types(std::span<const ShapeDtype> types,
                                     std::span<const PartitionSpec> specs) {
  std::vector<SpreadType> all;
  for (size_t i = 0; i < types.size(); ++i) {
    SpreadType& one = all.emplace_back(SpreadType{types[i], specs[i]});
    if (!types[i].is_token()) one.spec.resize(types[i].rank());
  }
  return all;
}

// The call without the values that the function closes over.
SpreadCall spread_call(const CustomPartitioningParams& p, const Mesh& mesh,
                       std::span<const ShapeDtype> operands, std::span<const ShapeDtype> results,
                       const CallSpecs& specs) {
  const auto first = static_cast<size_t>(p.num_consts);
  return {mesh, spread_types(operands.subspan(first), std::span(specs.operands).subspan(first)),
          spread_types(results, specs.results)};
}

// Checks the specs that a rule returned.
Specs checked(const CustomPartitioningParams& p, const char* what, Specs specs,
              const std::vector<SpreadType>& arrays, const char* array, const Mesh& mesh) {
  if (specs.size() != arrays.size()) {
    invalid_argument(fmt::format("{}: {} returned {} specs, expected one for each of the {} {}s",
                                 p.where(), what, specs.size(), arrays.size(), array));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    const Partition fits(arrays[i].type, specs[i], mesh.axes(),
                         fmt::format("{}: {}: {} {}", p.where(), what, array, i));
    specs[i] = shortened(std::move(specs[i]));
  }
  return specs;
}

std::optional<CallSpecs> call_specs(const SpecsCall& call) {
  const CustomPartitioningParams& p = params_of(call.params);
  const CustomPartitioning& rules = *p.rules;
  const SpreadCall spread = spread_call(p, call.mesh, call.operands, call.results, call.known);
  if (rules.sharding_rule) {
    return with_error_prefix(p.where(), [&] {
      const auto first = static_cast<size_t>(p.num_consts);
      const ShardingRule rule = rules.sharding_rule(spread);
      rule.check(call.operands.subspan(first), call.results, /*may_differ=*/true);
      NamedDimensions names;
      for (const SpreadType& one : spread.operands) names.operands.emplace_back(one.spec.size());
      for (const SpreadType& one : spread.results) names.results.emplace_back(one.spec.size());
      add_rule_names(rule, names);
      // Values that the function closes over are whole.
      const CallSpecs known{{call.known.operands.begin() + p.num_consts, call.known.operands.end()},
                            call.known.results};
      CallSpecs found =
          divide(names, {call.params, call.operands.subspan(first), call.results, call.mesh, known})
              .specs;
      found.operands.insert(found.operands.begin(), first, PartitionSpec());
      return found;
    });
  }
  CallSpecs found = call.known;
  if (is_any_split(call.known.operands)) {
    if (rules.infer_sharding_from_operands) {
      found.results =
          checked(p, "infer_sharding_from_operands", rules.infer_sharding_from_operands(spread),
                  spread.results, "result", call.mesh);
    }
  } else if (rules.propagate_user_sharding) {
    found.results = checked(p, "propagate_user_sharding", rules.propagate_user_sharding(spread),
                            spread.results, "result", call.mesh);
  }
  return found;
}

PartitionResults call_partition(const PartitionCall& call) {
  const CustomPartitioningParams& p = params_of(call.params.get());
  if (!p.rules->partition) {
    return {
        {}, {}, "its rules are functions, which were lost when the program was written as text"};
  }
  const std::vector<ShapeDtype> types = types_of(call.inputs);
  // The sharding rule may also split operands that are whole in the program.
  const std::optional<CallSpecs> specs =
      call_specs({call.params.get(), types, call.results, call.mesh, call.specs});
  const SpreadCall spread =
      spread_call(p, call.mesh, types, call.results, specs.value_or(call.specs));
  ShardFunction local = p.rules->partition(spread);
  ShardMapOptions options{.mesh = call.mesh, .check_replication = false};
  options.in_specs =
      checked(p, "partition", std::move(local.operands), spread.operands, "operand", call.mesh);
  options.out_specs =
      checked(p, "partition", std::move(local.results), spread.results, "result", call.mesh);
  const auto on_shards = [&](const std::vector<Array>& shards) {
    std::vector<Array> results = local.function(shards);
    std::vector<ShapeDtype> wanted, given;
    for (size_t i = 0; i < spread.results.size(); ++i) {
      const Partition partition(spread.results[i].type, options.out_specs[i], call.mesh.axes(), "");
      wanted.push_back(partition.shard());
    }
    for (const Array& result : results) given.push_back(result.type());
    if (!std::ranges::equal(wanted, given, {}, &ShapeDtype::strengthened,
                            &ShapeDtype::strengthened)) {
      invalid_argument(
          fmt::format("{}: the function that partition returned must return one shard of "
                      "each result, ({}), got ({})",
                      p.where(), types_to_string(wanted), types_to_string(given)));
    }
    // Converts results to the weak type that the program has.
    for (size_t i = 0; i < results.size(); ++i) {
      if (given[i] == wanted[i]) continue;
      results[i] = basic_operations().convert(results[i], wanted[i].dtype(), wanted[i].weak_type());
    }
    return results;
  };
  const std::vector<Array> operands(call.inputs.begin() + p.num_consts, call.inputs.end());
  std::string axes;
  for (const MeshAxis& axis : call.mesh.axes()) axes += (axes.empty() ? "" : ", ") + axis.name;
  return {shard_map(on_shards, options)(operands), fmt::format("its partition over {}", axes), {}};
}

const TransformRules kRules = {
    .jvp = call_jvp, .batch = call_batch, .specs = call_specs, .partition = call_partition};
const Primitive kCustomPartitioning = {.name = "custom_partitioning",
                                       .type_rule = call_types,
                                       .parse = parse_params<CustomPartitioningParams>,
                                       .effects = call_effects,
                                       .rules = &kRules,
                                       .body = call_body,
                                       .axis_names = call_axis_names};
FARCALL_REGISTER_PRIMITIVE(kCustomPartitioning);

}  // namespace

namespace detail {

CustomPartitioningPtr checked_rules(CustomPartitioning rules) {
  if (!rules.partition) {
    invalid_argument(
        fmt::format("custom_partitioning({}): partition is missing; it says what each "
                    "device runs on its shards",
                    rules.name));
  }
  return std::make_shared<const CustomPartitioning>(std::move(rules));
}

std::vector<Array> call_custom_partitioning(LeafCall& call, const CustomPartitioningPtr& rules) {
  const auto is_spread = [](const Array& leaf) { return leaf.is_concrete() && sharding_of(leaf); };
  if (is_evaluating() && std::ranges::none_of(call.leaves(), is_spread)) {
    return call(call.leaves());
  }
  Recording recording = record_closure(call.as_function(), types_of(call.leaves()), rules->name);
  CustomPartitioningParams params{std::move(recording.program), rules,
                                  std::ssize(recording.captured)};
  std::vector<Array> operands = std::move(recording.captured);
  operands.insert(operands.end(), call.leaves().begin(), call.leaves().end());
  return bind_primitive(kCustomPartitioning, make_params(std::move(params)), operands);
}

}  // namespace detail
}  // namespace farcall
