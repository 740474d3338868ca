// scatter, scatter_add, scatter_mul, scatter_min and scatter_max.
#include "ops/indexing/scatter.h"

#include <algorithm>

#include <fmt/format.h>

#include <farcall/ops/indexing.h>
#include <farcall/trace/interpreter.h>

#include "ops/indexing/dimension_numbers.h"
#include "ops/indexing/indexing.h"
#include "ops/internal/register.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

using namespace indexing;

bool is_any(DType) { return true; }

template <bool (*accepts)(DType)>
std::vector<ShapeDtype> scatter_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 3);
  const auto& p = params_as<ScatterParams>(params);
  const ShapeDtype x = inputs[0], indices = inputs[1], updates = inputs[2];
  if (x.is_token() || !accepts(x.dtype())) {
    invalid_argument(fmt::format("is not defined for {}", x.to_string()));
  }
  const ShapeDtype values[] = {x, updates};
  const ShapeDtype result = common_dtype(values, x.shape());
  const GatherDimensionNumbers numbers = as_gather(p);
  check_dimension_numbers(numbers, x, indices, updates.rank(), kScatterNames);
  if (updates.rank() != indices.rank() - 1 + numbers.offset_dims.size()) {
    invalid_argument(
        fmt::format("updates need {} dimensions, one for each but the last of the indices "
                    "and one for each of update_window_dims; got {}",
                    indices.rank() - 1 + numbers.offset_dims.size(), updates.to_string()));
  }
  Shape window;
  for (const int64_t dim : numbers.offset_dims) window.push_back(updates.shape()[dim]);
  const std::vector<int64_t> kept = kept_dims(numbers, x.rank());
  for (size_t i = 0; i < kept.size(); ++i) {
    if (window[i] > x.shape()[kept[i]]) {
      invalid_argument(fmt::format("windows of {} are too large for dimension {} of {}",
                                   updates.to_string(), kept[i], x.to_string()));
    }
  }
  const Shape expected = shape_of_windows(numbers, indices, window);
  if (!std::ranges::equal(expected, updates.shape())) {
    invalid_argument(fmt::format("updates for indices {} must have shape {}, got {}",
                                 indices.to_string(), shape_to_string(expected),
                                 updates.to_string()));
  }
  return {result};
}

int64_t one_per_update(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype>,
                       const Params*) {
  return inputs[2].size();
}

constexpr Primitive scatter_primitive(std::string_view name, decltype(Primitive::type_rule) rule,
                                      decltype(Primitive::flops) flops,
                                      const TransformRules* rules) {
  return {.name = name,
          .type_rule = rule,
          .parse = parse_params<ScatterParams>,
          .flops = flops,
          .rules = rules};
}

const TransformRules kScatterRules = {
    .jvp = scatter_jvp, .transpose = scatter_transpose, .batch = scatter_batch};
const Primitive kScatter =
    scatter_primitive("scatter", scatter_rule<is_any>, no_flops, &kScatterRules);
FARCALL_REGISTER_PRIMITIVE(kScatter);

const TransformRules kAddRules = {
    .jvp = scatter_add_jvp, .transpose = scatter_add_transpose, .batch = scatter_batch};
const Primitive kScatterAdd =
    scatter_primitive("scatter_add", scatter_rule<is_number>, one_per_update, &kAddRules);
FARCALL_REGISTER_PRIMITIVE(kScatterAdd);

const TransformRules kMulRules = {
    .jvp = scatter_mul_jvp, .transpose = scatter_mul_transpose, .batch = scatter_batch};
const Primitive kScatterMul =
    scatter_primitive("scatter_mul", scatter_rule<is_number>, one_per_update, &kMulRules);
FARCALL_REGISTER_PRIMITIVE(kScatterMul);

const TransformRules kScatterExtremeRules = {.jvp = scatter_extreme_jvp, .batch = scatter_batch};
const Primitive kScatterMin =
    scatter_primitive("scatter_min", scatter_rule<is_any>, one_per_update, &kScatterExtremeRules);
FARCALL_REGISTER_PRIMITIVE(kScatterMin);
const Primitive kScatterMax =
    scatter_primitive("scatter_max", scatter_rule<is_any>, one_per_update, &kScatterExtremeRules);
FARCALL_REGISTER_PRIMITIVE(kScatterMax);

Array apply_scatter(const Primitive& primitive, const Array& operand, const Array& indices,
                    const Array& updates, const ScatterDimensionNumbers& numbers,
                    const lax::ScatterOptions& options) {
  const Array operands[] = {operand, indices, updates};
  return bind_one(primitive,
                  make_params(ScatterParams{numbers, options.indices_are_sorted,
                                            options.unique_indices, options.mode}),
                  operands);
}

}  // namespace

namespace lax {

Array scatter(const Array& operand, const Array& indices, const Array& updates,
              const ScatterDimensionNumbers& numbers, const ScatterOptions& options) {
  return apply_scatter(kScatter, operand, indices, updates, numbers, options);
}
Array scatter_add(const Array& operand, const Array& indices, const Array& updates,
                  const ScatterDimensionNumbers& numbers, const ScatterOptions& options) {
  return apply_scatter(kScatterAdd, operand, indices, updates, numbers, options);
}
Array scatter_mul(const Array& operand, const Array& indices, const Array& updates,
                  const ScatterDimensionNumbers& numbers, const ScatterOptions& options) {
  return apply_scatter(kScatterMul, operand, indices, updates, numbers, options);
}
Array scatter_min(const Array& operand, const Array& indices, const Array& updates,
                  const ScatterDimensionNumbers& numbers, const ScatterOptions& options) {
  return apply_scatter(kScatterMin, operand, indices, updates, numbers, options);
}
Array scatter_max(const Array& operand, const Array& indices, const Array& updates,
                  const ScatterDimensionNumbers& numbers, const ScatterOptions& options) {
  return apply_scatter(kScatterMax, operand, indices, updates, numbers, options);
}

}  // namespace lax
}  // namespace farcall
