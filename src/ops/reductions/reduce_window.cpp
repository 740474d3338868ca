// Reductions over windows, and the primitives that their derivatives need.
#include <farcall/primitives/reduce_window.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/reduce_window.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/rules.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"
#include "ops/reductions/window_defaults.h"

namespace farcall {
namespace {

using Indices = std::vector<int64_t>;

// ---- types

template <class Window>
Shape window_shape(ShapeDtype x, const Window& p) {
  const std::pair<std::string_view, const Indices*> lists[] = {
      {"window_dimensions", &p.window_dimensions},
      {"window_strides", &p.window_strides},
      {"base_dilation", &p.base_dilation},
      {"window_dilation", &p.window_dilation}};
  for (const auto& [name, values] : lists) {
    if (values->size() != x.rank() ||
        std::ranges::any_of(*values, [](int64_t v) { return v < 1; })) {
      invalid_argument(fmt::format("{} {} must be a positive number for each dimension of {}", name,
                                   shape_to_string(*values), x.to_string()));
    }
  }
  if (p.padding.size() != x.rank()) {
    invalid_argument(fmt::format("padding has {} pairs for {}", p.padding.size(), x.to_string()));
  }
  Shape shape;
  for (size_t i = 0; i < x.rank(); ++i) {
    const int64_t size = padded(dilated(x.shape()[i], p.base_dilation[i]), p.padding[i]);
    shape.push_back(num_windows(size, dilated(p.window_dimensions[i], p.window_dilation[i]),
                                p.window_strides[i]));
  }
  return shape;
}

template <bool (*accepts)(DType)>
std::vector<ShapeDtype> reduce_window_rule(std::span<const ShapeDtype> inputs,
                                           const Params* params) {
  check_operand_count(inputs, 1);
  if (!accepts(inputs[0].dtype())) {
    invalid_argument(fmt::format("is not defined for {}", inputs[0].to_string()));
  }
  return {inputs[0].with_shape(window_shape(inputs[0], params_as<ReduceWindowParams>(params)))};
}

void check_selection(std::span<const ShapeDtype> inputs, const SelectWindowParams& p) {
  check_operand_count(inputs, 2);
  if (inputs[0].dtype() != inputs[1].dtype() || !is_floating(inputs[1].dtype())) {
    invalid_argument(fmt::format("takes floats of one dtype; got {}", types_to_string(inputs)));
  }
  if (p.select_prim != "ge" && p.select_prim != "le") {
    invalid_argument(fmt::format("select_prim must be ge or le, got \"{}\"", p.select_prim));
  }
}

std::vector<ShapeDtype> select_and_gather_rule(std::span<const ShapeDtype> inputs,
                                               const Params* params) {
  const auto& p = params_as<SelectWindowParams>(params);
  check_selection(inputs, p);
  elementwise_shape(inputs);
  return {inputs[0].with_shape(window_shape(inputs[1], p))};
}

std::vector<ShapeDtype> select_and_scatter_rule(std::span<const ShapeDtype> inputs,
                                                const Params* params) {
  const auto& p = params_as<SelectWindowParams>(params);
  check_selection(inputs, p);
  const Shape shape = window_shape(inputs[1], p);
  if (!std::ranges::equal(shape, inputs[0].shape())) {
    invalid_argument(fmt::format("{} has windows of shape {}; the first operand is {}",
                                 inputs[1].to_string(), shape_to_string(shape),
                                 inputs[0].to_string()));
  }
  return {inputs[1]};
}

template <class Window>
int64_t window_flops(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype> outputs,
                     const Params* params) {
  int64_t window = 1;
  for (const int64_t size : params_as<Window>(params).window_dimensions) {
    window = saturated_product(window, size);
  }
  return saturated_product(std::min(inputs.back().size(), outputs[0].size()), window);
}

// ---- rules

// Adds windows of one element along the batch dimension 0.
template <class Window>
Window with_batch_window(Window p) {
  for (Indices* sizes :
       {&p.window_dimensions, &p.window_strides, &p.base_dilation, &p.window_dilation}) {
    sizes->insert(sizes->begin(), 1);
  }
  p.padding.insert(p.padding.begin(), {0, 0});
  return p;
}

template <class Window>
BatchResults window_batch(const BatchCall& call) {
  std::vector<Array> operands;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    operands.push_back(move_axis(call.inputs[i], call.axes[i], 0, call.axis.size));
  }
  const auto params = make_params(with_batch_window(params_as<Window>(call.params.get())));
  return {bind_primitive(call.primitive, params, operands), {0}};
}

// The cotangent of an element is the sum of the cotangents of the windows that cover it: a window
// sum over the cotangent, dilated by the strides.
std::vector<Array> window_sum_transpose(const TransposeCall& call) {
  const auto& p = params_as<ReduceWindowParams>(call.params.get());
  ReduceWindowParams back = p;
  std::swap(back.base_dilation, back.window_strides);
  const Array& cotangent = call.cotangents[0];
  for (size_t i = 0; i < p.padding.size(); ++i) {
    const int64_t size = dilated(call.types[0].shape()[i], p.base_dilation[i]);
    const int64_t window = dilated(p.window_dimensions[i], p.window_dilation[i]);
    const int64_t windows = dilated(cotangent.shape()[i], p.window_strides[i]);
    const int64_t before = checked_difference(window, checked_sum(p.padding[i].first, 1));
    const int64_t around = checked_difference(checked_sum(size, window - 1), windows);
    back.padding[i] = {before, checked_difference(around, before)};
  }
  if (cotangent.size() == 0) return std::vector<Array>(1);
  return {lax::reduce_window_sum(cotangent, std::move(back))};
}

Array bind_selection(const Primitive& primitive, const Array& x, const Array& operand,
                     const SelectWindowParams& params);
extern const Primitive kSelectAndGatherAdd, kSelectAndScatterAdd;

template <bool is_max>
JvpResults window_extreme_jvp(const JvpCall& call) {
  const auto& p = params_as<ReduceWindowParams>(call.params.get());
  const SelectWindowParams selection = {p.base_dilation,      p.padding,
                                        is_max ? "ge" : "le", p.window_dilation,
                                        p.window_dimensions,  p.window_strides};
  return {bind_primitive(call.primitive, call.params, call.primals),
          {bind_selection(kSelectAndGatherAdd, call.tangents[0], call.primals[0], selection)}};
}

// The product rule over the elements of the window, with one array for each position in the window.
JvpResults window_prod_jvp(const JvpCall& call) {
  const auto& p = params_as<ReduceWindowParams>(call.params.get());
  Array tangent;
  const Array& x = call.primals[0];
  int64_t places = 1;
  for (const int64_t size : p.window_dimensions) places = checked_product(places, size);
  // The elements at one position of the window: a sum over a window of one element, shifted by
  // padding.
  const auto place = [&](int64_t index) {
    ReduceWindowParams one = p;
    for (size_t i = p.window_dimensions.size(); i-- > 0;) {
      const int64_t at = index % p.window_dimensions[i] * p.window_dilation[i];
      const int64_t window = dilated(p.window_dimensions[i], p.window_dilation[i]);
      index /= p.window_dimensions[i];
      one.window_dimensions[i] = 1;
      one.padding[i].first -= at;
      one.padding[i].second -= window - 1 - at;
    }
    return one;
  };
  for (int64_t i = 0; i < places; ++i) {
    Array term = lax::reduce_window_sum(call.tangents[0], place(i));
    for (int64_t j = 0; j < places; ++j) {
      if (i != j) term = lax::mul(term, lax::reduce_window_prod(x, place(j)));
    }
    tangent = add_tangents(tangent, term);
  }
  return {bind_primitive(call.primitive, call.params, call.primals), {tangent}};
}

// Both are linear in the gathered or scattered operand; the selected positions do not change.
template <const Primitive& self>
JvpResults selection_jvp(const JvpCall& call) {
  const auto& p = params_as<SelectWindowParams>(call.params.get());
  const Array& tangent = call.tangents[0];
  return {bind_primitive(call.primitive, call.params, call.primals),
          {tangent.is_null() ? Array() : bind_selection(self, tangent, call.primals[1], p)}};
}

template <const Primitive& other>
std::vector<Array> selection_transpose(const TransposeCall& call) {
  if (call.is_linear(1)) not_linear(call.primitive);
  const auto& p = params_as<SelectWindowParams>(call.params.get());
  return {bind_selection(other, call.cotangents[0], call.inputs[1], p), {}};
}

// ---- primitives

const TransformRules kWindowSumRules = {.jvp = linear_jvp,
                                        .transpose = window_sum_transpose,
                                        .batch = window_batch<ReduceWindowParams>};
const TransformRules kWindowProdRules = {.jvp = window_prod_jvp,
                                         .batch = window_batch<ReduceWindowParams>};
template <bool is_max>
const TransformRules kWindowExtremeRules = {.jvp = window_extreme_jvp<is_max>,
                                            .batch = window_batch<ReduceWindowParams>};

Primitive reduce_window(std::string_view name, decltype(Primitive::type_rule) rule,
                        const TransformRules& rules) {
  return {.name = name,
          .type_rule = rule,
          .parse = parse_params<ReduceWindowParams>,
          .flops = window_flops<ReduceWindowParams>,
          .rules = &rules};
}

const Primitive kWindowSum =
    reduce_window("reduce_window_sum", reduce_window_rule<is_number>, kWindowSumRules);
FARCALL_REGISTER_PRIMITIVE(kWindowSum);
const Primitive kWindowProd =
    reduce_window("reduce_window_prod", reduce_window_rule<is_number>, kWindowProdRules);
FARCALL_REGISTER_PRIMITIVE(kWindowProd);
const Primitive kWindowMax =
    reduce_window("reduce_window_max", reduce_window_rule<is_ordered>, kWindowExtremeRules<true>);
FARCALL_REGISTER_PRIMITIVE(kWindowMax);
const Primitive kWindowMin =
    reduce_window("reduce_window_min", reduce_window_rule<is_ordered>, kWindowExtremeRules<false>);
FARCALL_REGISTER_PRIMITIVE(kWindowMin);

const TransformRules kSelectAndGatherRules = {
    .jvp = selection_jvp<kSelectAndGatherAdd>,
    .transpose = selection_transpose<kSelectAndScatterAdd>,
    .batch = window_batch<SelectWindowParams>};
const Primitive kSelectAndGatherAdd = {.name = "select_and_gather_add",
                                       .type_rule = select_and_gather_rule,
                                       .parse = parse_params<SelectWindowParams>,
                                       .flops = window_flops<SelectWindowParams>,
                                       .rules = &kSelectAndGatherRules};
FARCALL_REGISTER_PRIMITIVE(kSelectAndGatherAdd);
const TransformRules kSelectAndScatterRules = {
    .jvp = selection_jvp<kSelectAndScatterAdd>,
    .transpose = selection_transpose<kSelectAndGatherAdd>,
    .batch = window_batch<SelectWindowParams>};
const Primitive kSelectAndScatterAdd = {.name = "select_and_scatter_add",
                                        .type_rule = select_and_scatter_rule,
                                        .parse = parse_params<SelectWindowParams>,
                                        .flops = window_flops<SelectWindowParams>,
                                        .rules = &kSelectAndScatterRules};
FARCALL_REGISTER_PRIMITIVE(kSelectAndScatterAdd);

Array bind_selection(const Primitive& primitive, const Array& x, const Array& operand,
                     const SelectWindowParams& params) {
  const Array operands[] = {x, operand};
  return bind_one(primitive, make_params(params), operands);
}

Array apply_window(const Primitive& primitive, const Array& x, ReduceWindowParams window) {
  return bind_one(primitive, make_params(lax::with_defaults(std::move(window), x.rank())), {&x, 1});
}

struct KnownReduction {
  const Primitive& primitive;
  Array (*combine)(const Array& x, const Array& y);
  Array (*reduce)(const Array& x, ListOf<int64_t> axes);
};
const KnownReduction& known_reduction(lax::WindowReduction reduction) {
  using enum lax::WindowReduction;
  static const KnownReduction sum{kWindowSum, lax::add, lax::reduce_sum},
      prod{kWindowProd, lax::mul, lax::reduce_prod}, max{kWindowMax, lax::max, lax::reduce_max},
      min{kWindowMin, lax::min, lax::reduce_min};
  switch (reduction) {
    case kSum:
      return sum;
    case kProd:
      return prod;
    case kMax:
      return max;
    case kMin:
      return min;
  }
  invalid_argument("reduce_window: unknown reduction");
}

// Whether this scalar is known to be the identity of the reduction.
bool is_identity(const Array& init, const KnownReduction& reduction) {
  if (!init.has_known_values()) return false;
  InterpreterScope scope(evaluator());
  const Array identity = reduction.reduce(numpy::zeros({0}, init.dtype()), {0});
  return lax::eq(Array(init.type(), init.storage()), identity).item<bool>();
}

}  // namespace

namespace lax {

ReduceWindowParams with_defaults(ReduceWindowParams window, size_t rank) {
  for (std::vector<int64_t>* sizes :
       {&window.window_strides, &window.base_dilation, &window.window_dilation}) {
    if (sizes->empty()) sizes->assign(rank, 1);
  }
  if (window.padding.empty()) window.padding.resize(rank);
  return window;
}

Array reduce_window_sum(const Array& x, ReduceWindowParams window) {
  return apply_window(kWindowSum, x, std::move(window));
}
Array reduce_window_prod(const Array& x, ReduceWindowParams window) {
  return apply_window(kWindowProd, x, std::move(window));
}
Array reduce_window_max(const Array& x, ReduceWindowParams window) {
  return apply_window(kWindowMax, x, std::move(window));
}
Array reduce_window_min(const Array& x, ReduceWindowParams window) {
  return apply_window(kWindowMin, x, std::move(window));
}

Array reduce_window(const Array& x, const Array& init_value, WindowReduction reduction,
                    ReduceWindowParams window) {
  if (init_value.rank() != 0) {
    invalid_argument(fmt::format("reduce_window: init_value must be a scalar, got {}",
                                 init_value.type().to_string()));
  }
  const KnownReduction& known = known_reduction(reduction);
  const Array reduced = apply_window(known.primitive, x, std::move(window));
  const Array init = convert_element_type(init_value, x.dtype());
  return is_identity(init, known) ? reduced : known.combine(reduced, init);
}

Padding padding_for(PaddingKind kind, ListOf<int64_t> shape, const ReduceWindowParams& window) {
  const ReduceWindowParams p = with_defaults(window, shape.size());
  const auto dilated_by = [](ListOf<int64_t> sizes, const Indices& dilation) {
    if (sizes.size() != dilation.size()) {
      invalid_argument(fmt::format("reduce_window: {} sizes and {} dilations differ in number",
                                   sizes.size(), dilation.size()));
    }
    return dilated_sizes(sizes, dilation);
  };
  return padding_for(kind, dilated_by(shape, p.base_dilation),
                     dilated_by(p.window_dimensions, p.window_dilation), p.window_strides);
}

Shape reduce_window_shape(ListOf<int64_t> shape, ReduceWindowParams window) {
  const ReduceWindowParams p = with_defaults(std::move(window), shape.size());
  return with_error_prefix("reduce_window",
                           [&] { return window_shape(ShapeDtype(DType::kFloat32, shape), p); });
}

}  // namespace lax
}  // namespace farcall
