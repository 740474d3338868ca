// Arrays in registers, and the equations that move or combine their elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <farcall/program/program.h>

#include "engine/native/jit/builder.h"

namespace farcall::native::jit {

// A version of an array that a loop changes in memory (places.h).
struct Place {
  size_t number;
  uint32_t version;
};

// An array or scalar in registers: its elements in order, one or several in each register. Without
// parts it is not kept in registers. Arrays in memory are in row-major order.
struct Value {
  ShapeDtype type;
  std::vector<Arg> parts;
  std::optional<Arg> address{};  // where memory holds it as well, unchanged
  std::optional<Place> place{};
};

// Whether only memory holds the elements.
inline bool is_in_memory(const Value& value) {
  return value.parts.empty() && (value.place || value.address);
}

// The position of each index of a shape, in row-major order: `offset` plus the sum of the index
// times the strides.
std::vector<int64_t> positions(std::span<const int64_t> shape, std::span<const int64_t> strides,
                               int64_t offset = 0);

// Slices, stacks, transposes and reductions with one register for each element. No value for other
// equations. Raises Refusal if a kernel would add in another order.
std::optional<Value> combined_elements(Builder& builder, const Program& program,
                                       const Equation& equation, std::span<const Value> inputs);

// Slices and concatenations of arrays with `lanes` elements in each register, if they move whole
// registers. No value for other equations.
std::optional<Value> combined_registers(const Program& program, const Equation& equation,
                                        std::span<const Value> inputs, int lanes);

// Whether the result has the elements of the single operand in the same order.
bool keeps_order(const Program& program, const Equation& equation);

}  // namespace farcall::native::jit
