#include "engine/native/jit/products.h"

#include <algorithm>
#include <array>
#include <optional>

#include <farcall/primitives/dot_general.h>

#include "engine/native/jit/elementwise.h"
#include "engine/native/jit/encode.h"
#include "engine/native/kernels/products/matrix_tile.h"

namespace farcall::native::jit {
namespace {

// The number of the operand that is a vector, if the other one is a row-major matrix with the
// summed dimension first. The kernel sums such products as matrix_tile.h says.
std::optional<size_t> vector_operand(const DotGeneralParams& dot, ShapeDtype result,
                                     std::span<const Value> inputs) {
  if (!dot.lhs_batch.empty() || dot.lhs_contracting.size() != 1) return std::nullopt;
  const std::array summed = {dot.lhs_contracting[0], dot.rhs_contracting[0]};
  for (size_t i = 0; i < 2; ++i) {
    const ShapeDtype vector = inputs[i].type, matrix = inputs[1 - i].type;
    if (matrix.rank() != 2 || summed[1 - i] != 0 || vector.size() != matrix.shape()[0]) continue;
    const bool is_one_type = vector.dtype() == result.dtype() && matrix.dtype() == result.dtype();
    if (is_one_type && is_floating(result.dtype()) && matrix.shape()[1] > 1 &&
        vector.size() <= kSumDepth) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Value> Products::add(Builder& builder, const Program& program,
                                   const Equation& equation, std::span<const Value> inputs) {
  const ShapeDtype result = program.variable_types[equation.outputs[0]];
  if (packing_.lanes == 1 || !packing_.fits(result)) return std::nullopt;
  const auto& dot = params_as<DotGeneralParams>(equation.params.get());
  const auto number = vector_operand(dot, result, inputs);
  if (!number) return std::nullopt;
  const Value &vector = inputs[*number], &matrix = inputs[1 - *number];
  Calls::Temporary temporary(calls_);
  return vector_times_matrix(builder, result, vector.type.size(), temporary.address_of(vector),
                             temporary.address_of(matrix));
}

// Like the kernel: one product is not summed; element i of a longer vector goes to sum i modulo
// kSums, and the sums are added in pairs.
Value Products::vector_times_matrix(Builder& builder, ShapeDtype result, int64_t depth, Arg vector,
                                    Arg matrix) const {
  constexpr auto kSums = static_cast<int64_t>(kRowSums);
  static_assert(kSums == 4);
  const RegType type = packing_.reg_type_of(result), address = general(8);
  const auto width = static_cast<int64_t>(byte_width(result.dtype()));
  const auto row_bytes = static_cast<int64_t>(result.nbytes());
  // The sums of a block of registers fit in the registers of the processor.
  const size_t block = processor().has_masks ? 4 : 2;
  Value made{result, {}};
  const auto load = [&](Arg row, size_t part) {
    const auto at = static_cast<int64_t>(part) * type.bytes();
    const auto bytes = static_cast<uint8_t>(packing_.part_bytes(result, part));
    return builder.add(
        {.op = Op::kLoad, .bytes = bytes, .type = type, .args = {offset(builder, row, at)}});
  };
  if (depth == 1) {
    const Arg factor = builder.add(Op::kLoadRepeated, type, {vector});
    for (size_t part = 0; part < packing_.num_parts(result); ++part) {
      made.parts.push_back(builder.add(Op::kFloatMul, type, {factor, load(matrix, part)}));
    }
    return made;
  }
  for (size_t first = 0; first < packing_.num_parts(result); first += block) {
    const size_t num_parts = std::min(block, packing_.num_parts(result) - first);
    std::vector<std::array<Reg, kSums>> sums(num_parts);
    for (auto& each : sums) {
      for (Reg& sum : each) {
        sum = builder.new_carry(type);
        builder.move(sum, type, Arg::constant(0));
      }
    }
    const auto multiply = [&](Arg element, Arg row, int64_t sum) {
      const Arg factor = builder.add(Op::kLoadRepeated, type, {element});
      for (size_t part = 0; part < num_parts; ++part) {
        const Arg column = load(row, first + part);
        const Reg into = sums[part][static_cast<size_t>(sum)];
        builder.effect({.op = Op::kFloatMulAdd,
                        .type = type,
                        .source = type,
                        .dest = into,
                        .args = {factor, column, Arg::reg(into)}});
      }
    };
    // Both addresses change with each step of the enclosing loop as far as the builder knows: loads
    // from the workspace must not move out of it.
    const Reg elements = builder.new_carry(address), rows = builder.new_carry(address);
    builder.move(elements, address, vector);
    builder.move(rows, address, matrix);
    const auto multiply_some = [&](int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        multiply(offset(builder, Arg::reg(elements), i * width),
                 offset(builder, Arg::reg(rows), i * row_bytes), i);
      }
    };
    if (depth >= kSums) {
      const Reg left = builder.new_carry(address);
      builder.move(left, address, Arg::number(depth / kSums));
      const uint32_t top = builder.new_label();
      builder.begin_loop();
      builder.label(top);
      multiply_some(kSums);
      builder.move(elements, address, offset(builder, Arg::reg(elements), kSums * width));
      builder.move(rows, address, offset(builder, Arg::reg(rows), kSums * row_bytes));
      builder.move(left, address,
                   builder.add(Op::kSub, address, {Arg::reg(left), Arg::constant(1)}));
      builder.branch(Cond::kNe, address, Arg::reg(left), Arg::constant(0), top);
      builder.end_loop();
      builder.settle(left);
    }
    builder.settle(elements);
    builder.settle(rows);
    for (auto& each : sums) {
      for (const Reg sum : each) builder.settle(sum);
    }
    multiply_some(depth % kSums);
    for (const auto& [a, b, c, d] : sums) {
      const auto sum = [&](Arg x, Arg y) { return builder.add(Op::kFloatAdd, type, {x, y}); };
      made.parts.push_back(sum(sum(Arg::reg(a), Arg::reg(b)), sum(Arg::reg(c), Arg::reg(d))));
    }
  }
  return made;
}

}  // namespace farcall::native::jit
