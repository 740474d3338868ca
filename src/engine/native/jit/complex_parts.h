// Complex numbers in vector registers: the real and the imaginary part of each number are lanes
// side by side, as in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/native/jit/builder.h"

namespace farcall::native::jit {

// A complex64 constant, given by its bits in memory, in each pair of lanes of the type.
Arg complex_constant(Builder& builder, RegType type, uint64_t bits);
// The complex64 number at an address in each pair of lanes.
Arg repeated_complex(Builder& builder, RegType type, Arg address);

// Translates an elementwise primitive on such numbers, by the formulas of the kernels. Raises
// Refusal if there are no instructions.
Arg complex_elementwise(Builder& builder, std::string_view primitive, RegType type,
                        std::span<const Arg> args);

}  // namespace farcall::native::jit
