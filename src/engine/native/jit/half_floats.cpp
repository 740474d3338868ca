#include "engine/native/jit/half_floats.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "engine/native/kernels/elementwise/convert.h"

namespace farcall::native::jit {

void HalfFloats::note(Arg wide, Arg half) {
  if (wide.is_reg()) halves_[wide.as_reg()] = half;
}

void HalfFloats::note_result(std::string_view primitive, std::span<const Arg> inputs, Arg made) {
  if (!made.is_reg() || std::ranges::find(inputs, made) != inputs.end()) return;
  for (const auto& [name, op] : {std::pair("add", Op::kFloatAdd), std::pair("sub", Op::kFloatSub),
                                 std::pair("mul", Op::kFloatMul)}) {
    if (primitive == name) arithmetic_[made.as_reg()] = {op, inputs[0], inputs[1]};
  }
}

std::optional<Arg> HalfFloats::half_of(Arg wide) const {
  if (wide.is_reg()) {
    const auto found = halves_.find(wide.as_reg());
    return found == halves_.end() ? std::nullopt : std::optional(found->second);
  }
  if (!wide.is_const()) return std::nullopt;
  const auto number = std::bit_cast<float>(static_cast<uint32_t>(wide.bits));
  uint16_t half = 0;
  float back = 0;
  make_conversion(DType::kFloat32, DType::kFloat16).run(&number, &half, 1);
  make_conversion(DType::kFloat16, DType::kFloat32).run(&half, &back, 1);
  if (std::bit_cast<uint32_t>(back) != wide.bits) return std::nullopt;
  return Arg::constant(half);
}

Arg HalfFloats::rounded(Arg wide) {
  const Arg half = in_halves(wide);
  const Arg quiet = b_.add(Op::kQuietHalf, type(), {half});
  const Arg made =
      b_.add({.op = Op::kFloatOfHalf, .type = wide_, .source = type(), .args = {quiet}});
  note(made, half);
  return made;
}

// A result of float32 is exact, or has more than twice the digits of float16, so that rounding it
// gives what float16 arithmetic gives.
Arg HalfFloats::in_halves(Arg wide) {
  const auto found = wide.is_reg() ? arithmetic_.find(wide.as_reg()) : arithmetic_.end();
  if (found != arithmetic_.end()) {
    const auto& [op, x, y] = found->second;
    const auto half_x = half_of(x), half_y = half_of(y);
    if (half_x && half_y) return b_.add(op, type(), {*half_x, *half_y});
  }
  return b_.add({.op = Op::kHalfOfFloat, .type = type(), .source = wide_, .args = {wide}});
}

}  // namespace farcall::native::jit
