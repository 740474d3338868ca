// top_k: the largest elements along one axis, and their indices.
#include <farcall/primitives/cumulative.h>

#include <functional>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/cumulative.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/rules.h>

#include "ops/internal/numpy.h"
#include "ops/internal/register.h"
#include "ops/internal/rules.h"

namespace farcall {
namespace {

std::vector<ShapeDtype> top_k_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  const auto& [k, axis] = params_as<TopKParams>(params);
  if (inputs.size() != 1) {
    invalid_argument(fmt::format("takes one operand, got {}", inputs.size()));
  }
  const ShapeDtype& x = inputs[0];
  if (is_complex(x.dtype()) || is_key(x.dtype()) || x.is_token()) {
    throw TypeError(fmt::format("{} has no order", x.to_string()));
  }
  if (axis < 0 || axis >= static_cast<int64_t>(x.rank())) {
    invalid_argument(fmt::format("axis {} does not lie in {}", axis, x.to_string()));
  }
  const int64_t size = x.shape()[axis];
  if (k < 0 || k > size) {
    invalid_argument(fmt::format("k must lie in [0, {}], the size of dimension {} of {}; got {}",
                                 size, axis, x.to_string(), k));
  }
  if (size > std::numeric_limits<int32_t>::max()) {
    invalid_argument(
        fmt::format("positions in dimension {} of {} do not fit into int32", axis, x.to_string()));
  }
  std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
  shape[static_cast<size_t>(axis)] = k;
  return {x.with_shape(shape), ShapeDtype(DType::kInt32, shape)};
}

int64_t top_k_flops(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype>,
                    const Params*) {
  return inputs[0].size();
}

std::vector<Array> bind_top_k(const Array& x, const TopKParams& params);

JvpResults top_k_jvp(const JvpCall& call) {
  const auto& p = params_as<TopKParams>(call.params.get());
  JvpResults results{bind_top_k(call.primals[0], p), std::vector<Array>(2)};
  if (!call.tangents[0].is_null()) {
    results.tangents[0] = numpy::take_along_axis(call.tangents[0], results.primals[1], p.axis,
                                                 {.mode = "clip", .wrap_negative_indices = false});
  }
  return results;
}

BatchResults top_k_batch(const BatchCall& call) {
  auto p = params_as<TopKParams>(call.params.get());
  ++p.axis;
  return {bind_top_k(move_axis(call.inputs[0], call.axes[0], 0, call.axis.size), p), {0, 0}};
}

const TransformRules kTopKRules = {.jvp = top_k_jvp, .batch = top_k_batch};
const Primitive kTopK = {.name = "top_k",
                         .type_rule = top_k_rule,
                         .parse = parse_params<TopKParams>,
                         .flops = top_k_flops,
                         .rules = &kTopKRules};
FARCALL_REGISTER_PRIMITIVE(kTopK);

std::vector<Array> bind_top_k(const Array& x, const TopKParams& params) {
  return bind_primitive(kTopK, make_params(params), {&x, 1});
}

// The k largest elements of x or of -x, computed exactly.
lax::TopK approximate(std::string_view function, const Array& x, int64_t k, int64_t axis,
                      double recall_target, const std::function<Array(const Array&)>& sign) {
  if (!is_floating(x.dtype())) {
    invalid_argument(
        fmt::format("{}: operand must be floats, got {}", function, x.type().to_string()));
  }
  if (!(recall_target > 0 && recall_target <= 1)) {
    invalid_argument(
        fmt::format("{}: recall_target must lie in (0, 1], got {}", function, recall_target));
  }
  const auto [values, indices] =
      lax::top_k(sign(x), k, numpy::normalize_axis(axis, x.rank(), function));
  return {sign(values), indices};
}

}  // namespace

lax::TopK lax::top_k(const Array& x, int64_t k, int64_t axis) {
  std::vector<Array> results = bind_top_k(x, {.k = k, .axis = axis});
  return {std::move(results[0]), std::move(results[1])};
}

lax::TopK lax::approx_max_k(const Array& x, int64_t k, int64_t axis, double recall_target) {
  return approximate("approx_max_k", x, k, axis, recall_target, std::identity{});
}
lax::TopK lax::approx_min_k(const Array& x, int64_t k, int64_t axis, double recall_target) {
  return approximate("approx_min_k", x, k, axis, recall_target, lax::neg);
}

}  // namespace farcall
