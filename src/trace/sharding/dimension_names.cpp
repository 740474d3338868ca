// Relations between the dimensions of operands and results of operations.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include <farcall/primitives/dot_general.h>
#include <farcall/primitives/reduce.h>
#include <farcall/primitives/structural.h>

#include "trace/sharding/propagation.h"

namespace farcall {
namespace {

bool is_among(std::span<const int64_t> all, int64_t one) {
  return std::ranges::find(all, one) != all.end();
}

// A name for each dimension: "0", "1", ….
DimensionNames numbered(ShapeDtype type) {
  DimensionNames names;
  if (type.is_token()) return names;
  for (size_t d = 0; d < type.rank(); ++d) names.push_back({fmt::format("{}", d)});
  return names;
}

// A dimension that is unchanged, or that becomes the slowest part of a larger one, keeps its split;
// the same holds in the reverse direction.
void name_reshape(ShapeDtype from, ShapeDtype to, NamedDimensions& names) {
  int64_t before = 1;  // number of elements of the dimensions in front
  for (size_t i = 0; i < from.rank(); before *= from.shape()[i++]) {
    int64_t to_before = 1;
    for (size_t j = 0; j < to.rank(); to_before *= to.shape()[j++]) {
      const int64_t a = from.shape()[i], b = to.shape()[j];
      if (to_before != before || a <= 1 || b <= 1 || (a % b != 0 && b % a != 0)) continue;
      names.operands[0][i] = names.results[0][j] = {fmt::format("{}", i)};
    }
  }
}

void name_product(const DotGeneralParams& p, std::span<const ShapeDtype> operands,
                  NamedDimensions& names) {
  DimensionNames& result = names.results[0];
  const auto name = [&](size_t operand, int64_t dimension, const std::string& text) {
    names.operands[operand][static_cast<size_t>(dimension)] = {text};
  };
  size_t next = 0;
  for (size_t i = 0; i < p.lhs_batch.size(); ++i) {
    const std::string text = fmt::format("batch {}", i);
    name(0, p.lhs_batch[i], text);
    name(1, p.rhs_batch[i], text);
    result[next++] = {text};
  }
  for (size_t i = 0; i < p.lhs_contracting.size(); ++i) {
    const std::string text = fmt::format("sum {}", i);
    name(0, p.lhs_contracting[i], text);
    name(1, p.rhs_contracting[i], text);
  }
  const auto name_rest = [&](size_t operand, const std::vector<int64_t>& batch,
                             const std::vector<int64_t>& contracting) {
    for (int64_t d = 0; d < std::ssize(operands[operand].shape()); ++d) {
      if (is_among(batch, d) || is_among(contracting, d)) continue;
      result[next] = {fmt::format("{}", next)};
      name(operand, d, result[next++][0]);
    }
  };
  name_rest(0, p.lhs_batch, p.lhs_contracting);
  name_rest(1, p.rhs_batch, p.rhs_contracting);
}

// For most operations, dimensions with the same position and size are related.
DimensionNames by_place(ShapeDtype type) {
  DimensionNames names = numbered(type);
  for (size_t d = 0; d < names.size(); ++d) names[d][0] += fmt::format(":{}", type.shape()[d]);
  return names;
}

}  // namespace

NamedDimensions name_by_place(std::span<const ShapeDtype> operands,
                              std::span<const ShapeDtype> results) {
  NamedDimensions names;
  for (const ShapeDtype& type : operands) names.operands.push_back(by_place(type));
  for (const ShapeDtype& type : results) names.results.push_back(by_place(type));
  return names;
}

NamedDimensions name_dimensions(const Params* params, std::span<const ShapeDtype> operands,
                                std::span<const ShapeDtype> results) {
  NamedDimensions names;
  const auto blank = [&] {
    for (const ShapeDtype& type : operands) names.operands.emplace_back(type.rank());
    for (const ShapeDtype& type : results) names.results.emplace_back(type.rank());
  };
  if (const auto* p = try_params<TransposeParams>(params)) {
    names.operands = {numbered(operands[0])};
    for (const int64_t d : p->permutation) {
      names.results.resize(1);
      names.results[0].push_back({fmt::format("{}", d)});
    }
    names.results.resize(1);
  } else if (const auto* p = try_params<ReduceParams>(params)) {
    names.operands = {numbered(operands[0])};
    names.results.resize(1);
    for (int64_t d = 0; d < std::ssize(operands[0].shape()); ++d) {
      if (!is_among(p->axes, d)) names.results[0].push_back({fmt::format("{}", d)});
    }
  } else if (const auto* p = try_params<BroadcastInDimParams>(params)) {
    blank();
    for (size_t d = 0; d < p->broadcast_dimensions.size(); ++d) {
      const auto to = static_cast<size_t>(p->broadcast_dimensions[d]);
      if (operands[0].shape()[d] != p->shape[to]) continue;
      names.operands[0][d] = names.results[0][to] = {fmt::format("{}", d)};
    }
  } else if (try_params<ReshapeParams>(params)) {
    blank();
    name_reshape(operands[0], results[0], names);
  } else if (const auto* p = try_params<DotGeneralParams>(params)) {
    blank();
    name_product(*p, operands, names);
  } else {
    return name_by_place(operands, results);
  }
  return names;
}

}  // namespace farcall
