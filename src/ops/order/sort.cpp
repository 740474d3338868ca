// sort: sorts operands by some of them, the keys.
#include <farcall/primitives/cumulative.h>

#include <algorithm>
#include <bit>
#include <limits>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/sizes.h>
#include <farcall/core/type_text.h>
#include <farcall/ops/cumulative.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/rules.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"

namespace farcall {
namespace {

std::vector<ShapeDtype> sort_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  const auto& p = params_as<SortParams>(params);
  if (inputs.empty()) invalid_argument("expected at least one operand");
  if (p.num_keys < 1 || p.num_keys > static_cast<int64_t>(inputs.size())) {
    invalid_argument(fmt::format("num_keys must lie in [1, {}], the number of operands; got {}",
                                 inputs.size(), p.num_keys));
  }
  if (p.dimension < 0 || p.dimension >= static_cast<int64_t>(inputs[0].rank())) {
    invalid_argument(
        fmt::format("dimension {} does not lie in {}", p.dimension, inputs[0].to_string()));
  }
  for (const ShapeDtype& input : inputs) {
    if (!std::ranges::equal(input.shape(), inputs[0].shape())) {
      invalid_argument(
          fmt::format("operands must have one shape; got {}", types_to_string(inputs)));
    }
    if (input.is_token()) invalid_argument("a token has no elements to sort");
  }
  for (const ShapeDtype& input : inputs.first(static_cast<size_t>(p.num_keys))) {
    if (is_key(input.dtype())) {
      invalid_argument(
          fmt::format("keys of random numbers have no order; got {}", input.to_string()));
    }
  }
  return {inputs.begin(), inputs.end()};
}

int64_t sort_flops(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype>,
                   const Params* params) {
  const auto length =
      static_cast<uint64_t>(inputs[0].shape()[params_as<SortParams>(params).dimension]);
  return saturated_product(inputs[0].size(), std::bit_width(length));
}

std::vector<Array> bind_sort(std::span<const Array> operands, const SortParams& params);

// Indices along the sorted dimension.
Array positions(ShapeDtype type, int64_t dimension) {
  return lax::iota(DType::kInt64, type.shape(), dimension);
}

// Tangents are permuted like their primals: they are sorted as further operands that are not keys.
JvpResults sort_jvp(const JvpCall& call) {
  const auto& p = params_as<SortParams>(call.params.get());
  JvpResults results{bind_sort(call.primals, p), std::vector<Array>(call.primals.size())};
  std::vector<Array> operands(call.primals.begin(), call.primals.begin() + p.num_keys);
  for (const Array& tangent : call.tangents) {
    if (!tangent.is_null()) operands.push_back(tangent);
  }
  const std::vector<Array> sorted = bind_sort(operands, p);
  auto next = sorted.begin() + p.num_keys;
  for (size_t i = 0; i < call.tangents.size(); ++i) {
    if (!call.tangents[i].is_null()) results.tangents[i] = *next++;
  }
  return results;
}

// Linear in the operands that are not keys. The origins of the sorted elements are a permutation;
// sorting cotangents by it moves them back to the origins.
std::vector<Array> sort_transpose(const TransposeCall& call) {
  auto p = params_as<SortParams>(call.params.get());
  std::vector<Array> keys(call.inputs.begin(), call.inputs.begin() + p.num_keys);
  keys.push_back(positions(call.types[0], p.dimension));
  std::vector<Array> operands = {bind_sort(keys, p).back()};
  for (const Array& cotangent : call.cotangents.subspan(static_cast<size_t>(p.num_keys))) {
    if (!cotangent.is_null()) operands.push_back(cotangent);
  }
  p.num_keys = 1;
  const std::vector<Array> sorted = bind_sort(operands, p);
  std::vector<Array> results(call.inputs.size());
  auto next = sorted.begin() + 1;
  const auto num_keys = keys.size() - 1;
  for (size_t i = num_keys; i < results.size(); ++i) {
    if (call.cotangents[i].is_null()) continue;
    if (call.is_linear(i)) results[i] = *next;
    ++next;
  }
  return results;
}

BatchResults sort_batch(const BatchCall& call) {
  auto p = params_as<SortParams>(call.params.get());
  std::vector<Array> operands;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    operands.push_back(move_axis(call.inputs[i], call.axes[i], 0, call.axis.size));
  }
  ++p.dimension;
  return {bind_sort(operands, p), std::vector<int64_t>(operands.size(), 0)};
}

const TransformRules kSortRules = {
    .jvp = sort_jvp, .transpose = sort_transpose, .batch = sort_batch};
const Primitive kSort = {.name = "sort",
                         .type_rule = sort_rule,
                         .parse = parse_params<SortParams>,
                         .flops = sort_flops,
                         .rules = &kSortRules};
FARCALL_REGISTER_PRIMITIVE(kSort);

std::vector<Array> bind_sort(std::span<const Array> operands, const SortParams& params) {
  return bind_primitive(kSort, make_params(params), operands);
}

}  // namespace

namespace lax {

std::vector<Array> sort(ListOf<Array> operands, int64_t dimension, bool is_stable,
                        int64_t num_keys) {
  return bind_sort(operands, {dimension, is_stable, num_keys});
}

Array sort(const Array& x, int64_t dimension) {
  return bind_sort({&x, 1}, {.dimension = dimension})[0];
}

}  // namespace lax
}  // namespace farcall
