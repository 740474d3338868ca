// Division of foreign calls among the devices of a mesh: by the sharding rule of the target, over
// leading dimensions that it is said to treat alike, and over those that vmap gave.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ffi/registry.h>
#include <farcall/ops/collectives.h>
#include <farcall/ops/define.h>
#include <farcall/ops/shard_map.h>
#include <farcall/primitives/ffi_call.h>

#include "ops/foreign/rules.h"

namespace farcall {
namespace {

// Of each dimension of an array a name, and no name where it cannot be divided. Dimensions of one
// name are divided alike.
using Names = std::vector<std::string>;

struct NamedCall {
  std::vector<Names> operands, results;
};

// The names that the pattern of a rule gives the dimensions behind `first`.
void add_names(const ShardingRule::Pattern& pattern, size_t first, Names& names) {
  const size_t num_leading = names.size() - first - pattern.names.size();
  for (size_t i = first; i < names.size(); ++i) {
    const size_t at = i - first;
    names[i] = at < num_leading ? fmt::format("...{}", at) : pattern.names[at - num_leading];
  }
}

size_t first_unnamed(const Names& names) {
  return static_cast<size_t>(std::ranges::find(names, std::string()) - names.begin());
}

// Of the dimensions behind those that have names already.
std::vector<ShapeDtype> unnamed_types(std::span<const ShapeDtype> types,
                                      const std::vector<Names>& names) {
  std::vector<ShapeDtype> inner;
  for (size_t i = 0; i < types.size(); ++i) {
    inner.push_back(types[i].with_shape(types[i].shape().subspan(first_unnamed(names[i]))));
  }
  return inner;
}

NamedCall name_dimensions(const FfiCallParams& p, std::span<const ShapeDtype> operands) {
  NamedCall names;
  for (const ShapeDtype& type : operands) names.operands.emplace_back(type.rank());
  for (const ShapeDtype& type : p.result_types) names.results.emplace_back(type.rank());
  // The last vmap's dimension lies in front.
  std::vector<size_t> num_named(operands.size(), 0);
  for (size_t level = p.batched_operands.size(); level-- > 0;) {
    const std::string name = fmt::format("batch {}", level);
    for (const int64_t operand : p.batched_operands[level]) {
      const auto i = static_cast<size_t>(operand);
      names.operands[i][num_named[i]++] = name;
    }
    for (Names& result : names.results) {
      result[p.batched_operands.size() - 1 - level] = name;
    }
  }
  if (const auto definition = find_definition(p.target_name); definition && definition->sharding) {
    const ShardingRule& rule = *definition->sharding;
    rule.check(unnamed_types(operands, names.operands),
               unnamed_types(p.result_types, names.results));
    for (size_t i = 0; i < operands.size(); ++i) {
      add_names(rule.operands()[i], first_unnamed(names.operands[i]), names.operands[i]);
    }
    for (size_t i = 0; i < names.results.size(); ++i) {
      add_names(rule.results()[i], first_unnamed(names.results[i]), names.results[i]);
    }
  } else if (is_batch_partitionable(p.target_name)) {
    for (std::vector<Names>* arrays : {&names.operands, &names.results}) {
      for (Names& array : *arrays) {
        if (const size_t first = first_unnamed(array); first < array.size()) {
          array[first] = "batch";
        }
      }
    }
  }
  return names;
}

// The axes over which dimensions of each name are divided.
class Division {
 public:
  explicit Division(std::span<const MeshAxis> axes) : axes_(axes) {}

  // The first operand decides that has the name divided. An axis divides one name only.
  void add(const std::string& name, int64_t size, const std::vector<std::string>& wanted) {
    if (name.empty() || wanted.empty() || by_name_.contains(name)) return;
    int64_t num_parts = 1;
    for (const std::string& axis : wanted) {
      if (std::ranges::find(used_, axis) != used_.end()) return;
      num_parts *= std::ranges::find(axes_, axis, &MeshAxis::name)->size;
    }
    if (size % num_parts != 0) return;
    used_.insert(used_.end(), wanted.begin(), wanted.end());
    by_name_[name] = wanted;
  }
  // A dimension of this name has another size somewhere, so that it is not divided.
  void drop(const std::string& name) {
    for (const std::string& axis : by_name_[name]) std::erase(used_, axis);
    by_name_.erase(name);
  }

  PartitionSpec spec_of(const Names& names) const {
    PartitionSpec spec;
    for (const std::string& name : names) {
      const auto found = by_name_.find(name);
      spec.push_back(found == by_name_.end() ? std::vector<std::string>() : found->second);
    }
    return spec;
  }
  const std::vector<std::string>& axes() const { return used_; }
  const std::map<std::string, std::vector<std::string>>& by_name() const { return by_name_; }

 private:
  std::span<const MeshAxis> axes_;
  std::map<std::string, std::vector<std::string>> by_name_;
  std::vector<std::string> used_;
};

Division divide(const PartitionCall& call, const NamedCall& names,
                std::span<const ShapeDtype> types, std::span<const ShapeDtype> results) {
  Division division(call.mesh.axes());
  std::map<std::string, int64_t> sizes;
  std::vector<std::string> uneven;
  const auto note = [&](const Names& dimensions, ShapeDtype type) {
    for (size_t d = 0; d < dimensions.size(); ++d) {
      const auto [known, is_new] = sizes.try_emplace(dimensions[d], type.shape()[d]);
      if (!is_new && known->second != type.shape()[d]) uneven.push_back(dimensions[d]);
    }
  };
  for (size_t i = 0; i < types.size(); ++i) note(names.operands[i], types[i]);
  for (size_t i = 0; i < results.size(); ++i) note(names.results[i], results[i]);
  for (size_t i = 0; i < types.size(); ++i) {
    for (size_t d = 0; d < std::min(names.operands[i].size(), call.specs[i].size()); ++d) {
      division.add(names.operands[i][d], types[i].shape()[d], call.specs[i][d]);
    }
  }
  for (const std::string& name : uneven) division.drop(name);
  return division;
}

}  // namespace

PartitionResults ffi_call_partition(const PartitionCall& call) {
  const auto& p = params_as<FfiCallParams>(call.params.get());
  const std::vector<ShapeDtype> types = types_of(call.inputs);
  const auto is_token = [](const ShapeDtype& type) { return type.is_token(); };
  // What has effects runs once.
  if (p.has_side_effect || std::ranges::any_of(types, is_token) ||
      std::ranges::any_of(p.result_types, is_token)) {
    return {};
  }
  const NamedCall names = name_dimensions(p, types);
  const Division division = divide(call, names, types, p.result_types);
  if (division.axes().empty()) return {};
  PartitionResults results;
  ShardMapOptions options{.mesh = call.mesh,
                          .in_specs = {},
                          .out_specs = {},
                          .axis_names = division.axes(),
                          .check_replication = false};
  for (const Names& operand : names.operands) {
    options.in_specs.push_back(division.spec_of(operand));
  }
  for (const Names& result : names.results) {
    results.specs.push_back(division.spec_of(result));
  }
  options.out_specs = results.specs;
  // Of what is divided and in no result, each call gives an addend.
  std::vector<std::string> summed;
  for (const auto& divided : division.by_name()) {
    const bool is_in_results = std::ranges::any_of(names.results, [&](const Names& result) {
      return std::ranges::find(result, divided.first) != result.end();
    });
    if (!is_in_results) {
      summed.insert(summed.end(), divided.second.begin(), divided.second.end());
    }
  }
  const auto on_shards = [&](const std::vector<Array>& shards) {
    FfiCallParams local = p;
    for (size_t i = 0; i < local.result_types.size(); ++i) {
      local.result_types[i] =
          Partition(p.result_types[i], results.specs[i], call.mesh.axes(), p.target_name).shard();
    }
    std::vector<Array> found =
        bind_primitive(call.primitive, make_params(std::move(local)), shards);
    if (!summed.empty()) {
      for (Array& addend : found) addend = lax::psum(addend, summed);
    }
    return found;
  };
  const std::vector<Array> operands(call.inputs.begin(), call.inputs.end());
  results.outputs = shard_map(on_shards, options)(operands);
  return results;
}

}  // namespace farcall
