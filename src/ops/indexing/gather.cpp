// gather.
#include <fmt/format.h>

#include <farcall/core/element_text.h>
#include <farcall/ops/indexing.h>
#include <farcall/ops/promotion.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/compile_time.h>
#include <farcall/trace/interpreter.h>

#include "ops/indexing/dimension_numbers.h"
#include "ops/indexing/indexing.h"
#include "ops/internal/register.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

using namespace indexing;

std::vector<ShapeDtype> gather_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 2);
  const auto& p = params_as<GatherParams>(params);
  const ShapeDtype x = inputs[0], indices = inputs[1];
  if (x.is_token()) invalid_argument("tokens have no elements");
  const size_t rank = indices.rank() + p.offset_dims.size() - (indices.rank() > 0 ? 1 : 0);
  check_dimension_numbers(p, x, indices, rank, kGatherNames);
  bool fits = p.slice_sizes.size() == x.rank();
  for (size_t i = 0; fits && i < x.rank(); ++i) {
    fits = 0 <= p.slice_sizes[i] && p.slice_sizes[i] <= x.shape()[i];
  }
  if (!fits) {
    invalid_argument(fmt::format("slice_sizes {} must lie in the shape of {}",
                                 shape_to_string(p.slice_sizes), x.to_string()));
  }
  Shape window;
  const std::vector<int64_t> kept = kept_dims(p, x.rank());
  for (size_t i = 0; i < x.rank(); ++i) {
    if (contains(kept, i)) {
      window.push_back(p.slice_sizes[i]);
    } else if (p.slice_sizes[i] > 1 ||
               (p.slice_sizes[i] == 0 && contains(p.collapsed_slice_dims, i))) {
      invalid_argument(
          fmt::format("slice_sizes {} must be 1 in dimension {}, which windows leave out",
                      shape_to_string(p.slice_sizes), i));
    }
  }
  if (p.fill_value) {
    std::byte element[16];
    parse_element(x.dtype(), *p.fill_value, element);  // raises
  }
  return {x.with_shape(shape_of_windows(p, indices, window))};
}

lax::GatherOptions gather_options_of(const GatherParams& p) {
  return {p.mode, p.fill_value, p.unique_indices, p.indices_are_sorted};
}

// Gathers the tangent. For windows outside of the operand, the result is the fill value, so the
// tangent is zero.
JvpResults gather_jvp(const JvpCall& call) {
  const auto& p = params_as<GatherParams>(call.params.get());
  lax::GatherOptions options = gather_options_of(p);
  options.fill_value = zero_text(call.primals[0].dtype());
  return {{bind_one(call.primitive, call.params, call.primals)},
          {lax::gather(call.tangents[0], call.primals[1], p, p.slice_sizes, options)}};
}

std::vector<Array> gather_transpose(const TransposeCall& call) {
  const auto& p = params_as<GatherParams>(call.params.get());
  return {lax::scatter_add(zeros_of(call.types[0]), call.inputs[1], call.cotangents[0],
                           as_scatter(p), {p.mode, p.unique_indices, p.indices_are_sorted}),
          Array()};
}

BatchResults gather_batch(const BatchCall& call) {
  const auto& p = params_as<GatherParams>(call.params.get());
  const NewDimension where = !call.is_batched(1)   ? NewDimension::kInOperand
                             : !call.is_batched(0) ? NewDimension::kInIndices
                                                   : NewDimension::kInBoth;
  Shape window = p.slice_sizes;
  const int64_t new_size = where == NewDimension::kInOperand ? call.axis.size : 1;
  if (call.is_batched(0)) window.insert(window.begin(), new_size);
  // If the operand is batched, windows of different batch elements do not overlap. If the indices
  // are batched, those of all batch elements together are not sorted.
  lax::GatherOptions options = gather_options_of(p);
  options.unique_indices = options.unique_indices && call.is_batched(0);
  options.indices_are_sorted = options.indices_are_sorted && !call.is_batched(1);
  return {{lax::gather(call.is_batched(0) ? in_front(call, 0) : call.inputs[0],
                       call.is_batched(1) ? in_front(call, 1) : call.inputs[1],
                       with_new_dimension(p, where), window, options)},
          {0}};
}

const TransformRules kGatherRules = {
    .jvp = gather_jvp, .transpose = gather_transpose, .batch = gather_batch};
const Primitive kGather = {.name = "gather",
                           .type_rule = gather_rule,
                           .parse = parse_params<GatherParams>,
                           .flops = no_flops,
                           .rules = &kGatherRules};
FARCALL_REGISTER_PRIMITIVE(kGather);

}  // namespace

std::string lax::fill_text(const Array& value, DType dtype) {
  if (value.rank() != 0) {
    invalid_argument(fmt::format("fill_value must be a scalar, got {}", value.type().to_string()));
  }
  const CompileTimeEval eval;  // the number is a parameter, also while a program is recorded
  return format_element(dtype, convert(value, {dtype, false}).data());
}

Array lax::gather(const Array& operand, const Array& start_indices,
                  const GatherDimensionNumbers& dimension_numbers, ListOf<int64_t> slice_sizes,
                  const GatherOptions& options) {
  const Array operands[] = {operand, start_indices};
  return bind_one(
      kGather,
      make_params(GatherParams{dimension_numbers, to_vector(slice_sizes), options.fill_value,
                               options.mode, options.unique_indices, options.indices_are_sorted}),
      operands);
}

}  // namespace farcall
