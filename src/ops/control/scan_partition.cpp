// Division of scans with independent steps, such as those made by vmap_method "sequential".
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/ops/shard_map.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/program/walk.h>
#include <farcall/trace/interpreter.h>

#include "ops/control/programs.h"
#include "trace/internal/division.h"

namespace farcall {
namespace {

bool holds_foreign_calls(const Program& program) {
  bool found = false;
  for_each_equation(program, [&](const Program&, const Equation& equation, size_t) {
    found |= equation.primitive->kind == PrimitiveKind::kForeignCall;
  });
  return found;
}

}  // namespace

PartitionResults control::scan_partition(const PartitionCall& call) {
  const auto& p = params_as<ScanParams>(call.params.get());
  // A carry makes each step depend on the step before it. Effects and callbacks must run once and
  // in order. Loops without foreign calls are left to the engine.
  if (p.num_carry > 0 || p.jaxpr->effects() != Effects::kNone || p.jaxpr->holds_callback ||
      !holds_foreign_calls(*p.jaxpr)) {
    return {};
  }
  const auto num_consts = static_cast<size_t>(p.num_consts);
  std::vector<std::string> axes;
  for (size_t i = num_consts; i < call.inputs.size() && axes.empty(); ++i) {
    axes = entry(call.specs.operands[i], 0);
  }
  for (size_t i = 0; i < call.results.size() && axes.empty(); ++i) {
    axes = entry(call.specs.results[i], 0);
  }
  int64_t num_parts = 1;
  for (const std::string& axis : axes) {
    num_parts *= std::ranges::find(call.mesh.axes(), axis, &MeshAxis::name)->size;
  }
  if (num_parts == 1 || p.length % num_parts != 0) return {};
  ScanParams local = p;
  local.length = p.length / num_parts;
  ShardMapOptions options{.mesh = call.mesh,
                          .in_specs = std::vector<PartitionSpec>(call.inputs.size()),
                          .out_specs = std::vector<PartitionSpec>(call.results.size(), {axes}),
                          .axis_names = axes,
                          .check_replication = false};
  for (size_t i = num_consts; i < options.in_specs.size(); ++i) options.in_specs[i] = {axes};
  const auto on_shards = [&](const std::vector<Array>& shards) {
    return bind_primitive(call.primitive, make_params(local), shards);
  };
  const std::vector<Array> operands(call.inputs.begin(), call.inputs.end());
  return {shard_map(on_shards, options)(operands),
          fmt::format("the steps of the scan around it over {}", fmt::join(axes, ", ")),
          {}};
}

}  // namespace farcall
