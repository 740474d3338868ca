#include "engine/native/jit/elements.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/primitives/reduce.h>
#include <farcall/primitives/structural.h>

#include "engine/native/jit/elementwise.h"
#include "engine/native/kernels/movement/moves.h"
#include "engine/native/kernels/reductions/sum_floats.h"

namespace farcall::native::jit {
namespace {

// Calls visit(position) for each index of the shape in row-major order. position is `offset` plus
// the sum of the indices times the strides.
template <class Visit>
void for_each_position(std::span<const int64_t> shape, std::span<const int64_t> strides,
                       int64_t offset, Visit visit) {
  if (shape.empty()) return visit(offset);
  for (int64_t i = 0; i < shape[0]; ++i) {
    for_each_position(shape.subspan(1), strides.subspan(1), offset + i * strides[0], visit);
  }
}

Value concatenated(ShapeDtype type, int64_t dimension, std::span<const Value> inputs) {
  Value result{type, std::vector<Arg>(static_cast<size_t>(type.size()))};
  const auto strides = dense_strides(type.shape());
  const auto along = static_cast<size_t>(dimension);
  int64_t start = 0;
  for (const Value& input : inputs) {
    size_t next = 0;
    if (input.type.size() > 0) {
      for_each_position(input.type.shape(), strides, start * strides[along], [&](int64_t at) {
        result.parts[static_cast<size_t>(at)] = input.parts[next++];
      });
    }
    start += input.type.shape()[along];
  }
  return result;
}

Value counted(ShapeDtype type, int64_t dimension) {
  Value result{type, {}};
  std::vector<int64_t> strides(type.rank(), 0);
  strides[static_cast<size_t>(dimension)] = 1;
  for_each_position(type.shape(), strides, 0, [&](int64_t number) {
    const auto bits =
        type.dtype() == DType::kFloat64   ? std::bit_cast<uint64_t>(static_cast<double>(number))
        : type.dtype() == DType::kFloat32 ? std::bit_cast<uint32_t>(static_cast<float>(number))
        : type.dtype() == DType::kBool    ? uint64_t{number != 0}
                                          : static_cast<uint64_t>(number);
    result.parts.push_back(Arg::constant(bits));
  });
  return result;
}

// ---- reductions

enum class Reduction : uint8_t { kSum, kProduct, kMax, kMin, kAnd, kOr };

Reduction reduction_of(std::string_view primitive) {
  static constexpr std::pair<std::string_view, Reduction> kReductions[] = {
      {"reduce_sum", Reduction::kSum}, {"reduce_prod", Reduction::kProduct},
      {"reduce_max", Reduction::kMax}, {"reduce_min", Reduction::kMin},
      {"reduce_and", Reduction::kAnd}, {"reduce_or", Reduction::kOr}};
  const auto* found =
      std::ranges::find(kReductions, primitive, &std::pair<std::string_view, Reduction>::first);
  FARCALL_ASSERT(found != std::end(kReductions));
  return found->second;
}

bool is_dense(const ElementSource& source, ShapeDtype type) {
  const auto dense = dense_strides(type.shape());
  for (size_t i = 0; i < type.rank(); ++i) {
    if (type.shape()[i] > 1 && source.strides[i] != dense[i]) return false;
  }
  return true;
}

bool is_ordered(Reduction how, DType dtype) {
  return is_floating(dtype) && (how == Reduction::kSum || how == Reduction::kProduct);
}

// A sum or product of floats, computed in double like the kernel (kernels/reductions/reduce.cpp):
// sequentially, or in parts (kernels/reductions/sum_floats.h), and finally combined with the
// identity once more.
Arg reduce_floats(Builder& b, Reduction how, DType dtype, std::span<const Arg> elements) {
  const RegType wide = vector(8, 1), own = vector(static_cast<int>(byte_width(dtype)), 1);
  const bool is_sum = how == Reduction::kSum;
  const Op op = is_sum ? Op::kFloatAdd : Op::kFloatMul;
  const Arg identity = Arg::constant(std::bit_cast<uint64_t>(is_sum ? 0.0 : 1.0));
  const bool is_in_parts = is_sum && own.width == 4 && std::ssize(elements) >= kPartsOfSum;
  std::vector<Arg> parts(is_in_parts ? kPartsOfSum : 1, identity);
  for (size_t i = 0; i < elements.size(); ++i) {
    Arg element = elements[i];
    if (own.width == 4) {
      element = b.add({.op = Op::kFloatOfFloat, .type = wide, .source = own, .args = {element}});
    }
    Arg& part = parts[i % parts.size()];
    part = b.add(op, wide, {part, element});
  }
  for (size_t half = parts.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) parts[i] = b.add(op, wide, {parts[i], parts[i + half]});
  }
  const Arg result = b.add(op, wide, {identity, parts[0]});
  if (own.width == 8) return result;
  return b.add({.op = Op::kFloatOfFloat, .type = own, .source = wide, .args = {result}});
}

Arg reduce(Builder& b, Reduction how, DType dtype, std::span<const Arg> elements) {
  if (is_ordered(how, dtype)) return reduce_floats(b, how, dtype, elements);
  const RegType type = reg_type(dtype, 1, 4);
  const bool is_bool = dtype == DType::kBool;
  const auto combine = [&](Arg x, Arg y) {
    switch (how) {
      case Reduction::kMax:
      case Reduction::kMin:
        return extreme(b, dtype, type, how == Reduction::kMax, x, y);
      case Reduction::kSum:
        return b.add(is_bool ? Op::kOr : Op::kAdd, type, {x, y});
      case Reduction::kProduct:
        return b.add(is_bool ? Op::kAnd : Op::kMul, type, {x, y});
      case Reduction::kAnd:
        return b.add(Op::kAnd, type, {x, y});
      default:
        return b.add(Op::kOr, type, {x, y});
    }
  };
  Arg result = elements[0];
  for (const Arg& element : elements.subspan(1)) result = combine(result, element);
  return result;
}

// Whether a kernel reduces the elements of each result in one run: of the dimensions with more than
// one element, only the last ones are reduced.
bool is_one_run(ShapeDtype type, std::span<const int64_t> axes) {
  bool seen = false;
  for (size_t i = 0; i < type.rank(); ++i) {
    if (type.shape()[i] == 1) continue;
    const bool is_reduced = std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
    if (seen && !is_reduced) return false;
    seen |= is_reduced;
  }
  return seen;
}

Value reduced(Builder& b, std::string_view primitive, ShapeDtype type, const Value& operand,
              std::span<const int64_t> axes) {
  const DType dtype = type.dtype();
  const Reduction how = reduction_of(primitive);
  if (is_ordered(how, dtype) && !is_one_run(operand.type, axes)) {
    throw Refusal{fmt::format("{} of floats along other dimensions than the last", primitive)};
  }
  const auto dense = dense_strides(operand.type.shape());
  std::vector<int64_t> kept_shape, kept_strides, shape, strides;
  for (size_t i = 0; i < operand.type.rank(); ++i) {
    const bool is_reduced = std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
    (is_reduced ? shape : kept_shape).push_back(operand.type.shape()[i]);
    (is_reduced ? strides : kept_strides).push_back(dense[i]);
  }
  Value result{type, {}};
  for_each_position(kept_shape, kept_strides, 0, [&](int64_t first) {
    std::vector<Arg> elements;
    for_each_position(shape, strides, first, [&](int64_t at) {
      elements.push_back(operand.parts[static_cast<size_t>(at)]);
    });
    result.parts.push_back(reduce(b, how, dtype, elements));
  });
  return result;
}

}  // namespace

std::vector<int64_t> positions(std::span<const int64_t> shape, std::span<const int64_t> strides,
                               int64_t offset) {
  std::vector<int64_t> all;
  for_each_position(shape, strides, offset, [&](int64_t at) { all.push_back(at); });
  return all;
}

std::optional<Value> combined_elements(Builder& builder, const Program& program,
                                       const Equation& equation, std::span<const Value> inputs) {
  const std::string_view name = equation.primitive->name;
  const Params* params = equation.params.get();
  const ShapeDtype type = program.variable_types[equation.outputs[0]];
  if (equation.primitive->kind == PrimitiveKind::kView) return inputs[0];
  if (const auto* p = try_params<ConcatenateParams>(params)) {
    return concatenated(type, p->dimension, inputs);
  }
  if (const auto* p = try_params<IotaParams>(params)) return counted(type, p->dimension);
  if (const auto* p = try_params<ReduceParams>(params)) {
    return reduced(builder, name, type, inputs[0], p->axes);
  }
  if (inputs.size() != 1) return std::nullopt;
  const auto source = element_source(name, inputs[0].type, type, params);
  if (!source) return std::nullopt;
  Value result{type, {}};
  for_each_position(type.shape(), source->strides, source->offset, [&](int64_t at) {
    result.parts.push_back(inputs[0].parts[static_cast<size_t>(at)]);
  });
  return result;
}

std::optional<Value> combined_registers(const Program& program, const Equation& equation,
                                        std::span<const Value> inputs, int lanes) {
  const ShapeDtype type = program.variable_types[equation.outputs[0]];
  const auto is_whole = [&](ShapeDtype each) {
    return each.size() > 1 && each.size() % lanes == 0;
  };
  if (!is_whole(type) ||
      !std::ranges::all_of(inputs, [&](const Value& input) { return is_whole(input.type); })) {
    return std::nullopt;
  }
  if (const auto* params = try_params<ConcatenateParams>(equation.params.get())) {
    const std::span<const int64_t> shape = type.shape();
    const auto outer = shape.first(static_cast<size_t>(params->dimension));
    if (std::ranges::any_of(outer, [](int64_t size) { return size != 1; })) return std::nullopt;
    Value result{type, {}};
    for (const Value& input : inputs) {
      result.parts.insert(result.parts.end(), input.parts.begin(), input.parts.end());
    }
    return result;
  }
  if (inputs.size() != 1) return std::nullopt;
  const auto source =
      element_source(equation.primitive->name, inputs[0].type, type, equation.params.get());
  if (!source || source->offset % lanes != 0 || !is_dense(*source, type)) {
    return std::nullopt;
  }
  const auto first = inputs[0].parts.begin() + source->offset / lanes;
  return Value{type, std::vector<Arg>(first, first + type.size() / lanes)};
}

bool keeps_order(const Program& program, const Equation& equation) {
  const ShapeDtype type = program.variable_types[equation.outputs[0]];
  if (equation.primitive->kind == PrimitiveKind::kView) return true;
  if (equation.inputs.size() != 1) return false;
  const ShapeDtype operand = program.type_of(equation.inputs[0]);
  const auto source =
      element_source(equation.primitive->name, operand, type, equation.params.get());
  return source && operand.size() == type.size() && source->offset == 0 && is_dense(*source, type);
}

}  // namespace farcall::native::jit
