#include "engine/native/jit/complex_parts.h"

#include <string>

#include "engine/native/jit/elementwise.h"

namespace farcall::native::jit {
namespace {

// The signs of both parts, and of the imaginary one.
constexpr uint64_t kSigns = 0x80000000'80000000, kImaginarySign = 0x80000000'00000000;
// Of kPermute: the real part, or the imaginary one, for both lanes of each pair; the parts swapped.
constexpr int64_t kRealParts = 0xa0, kImaginaryParts = 0xf5, kSwappedParts = 0xb1;

// Each number as one lane.
RegType of_numbers(RegType type) { return vector(8, type.lanes / 2); }

Arg product(Builder& b, RegType type, Arg x, Arg y) {
  const Arg real = b.add(Op::kPermute, type, {x}, kRealParts);
  const Arg imaginary = b.add(Op::kPermute, type, {x}, kImaginaryParts);
  const Arg swapped = b.add(Op::kPermute, type, {y}, kSwappedParts);
  return b.add(
      Op::kFloatSubAdd, type,
      {b.add(Op::kFloatMul, type, {real, y}), b.add(Op::kFloatMul, type, {imaginary, swapped})});
}

}  // namespace

Arg complex_constant(Builder& b, RegType type, uint64_t bits) {
  return b.add(Op::kBitOr, of_numbers(type), {Arg::constant(0), Arg::constant(bits)});
}

Arg repeated_complex(Builder& b, RegType type, Arg address) {
  const Arg one = b.add({.op = Op::kLoad, .bytes = 8, .type = vector(8, 1), .args = {address}});
  return b.add(Op::kBroadcast, of_numbers(type), {one});
}

Arg complex_elementwise(Builder& b, std::string_view primitive, RegType type,
                        std::span<const Arg> args) {
  if (primitive == "add") return b.add(Op::kFloatAdd, type, {args[0], args[1]});
  if (primitive == "sub") return b.add(Op::kFloatSub, type, {args[0], args[1]});
  if (primitive == "mul") return product(b, type, args[0], args[1]);
  const auto with_signs = [&](uint64_t signs) {
    return b.add(Op::kBitXor, of_numbers(type), {args[0], Arg::constant(signs)});
  };
  if (primitive == "neg") return with_signs(kSigns);
  if (primitive == "conj") return with_signs(kImaginarySign);
  throw Refusal{std::string(primitive) + " of complex numbers"};
}

}  // namespace farcall::native::jit
