// Equations that read or change elements of arrays in memory, at positions that the loop computes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <farcall/program/program.h>

#include "engine/native/jit/builder.h"
#include "engine/native/jit/packing.h"
#include "engine/native/jit/places.h"

namespace farcall::native::jit {

// Whether an equation is a gather, a scatter, a dynamic_slice or a dynamic_update_slice.
bool is_indexing(const Equation& equation);
// Whether such equations of the program, or of programs inside it, read or change input number
// `input`, which has to be in memory for that.
bool is_indexed(const Program& program, size_t input);

// The equations in an order that reads arrays before it changes them, where that is possible.
std::vector<const Equation*> reads_before_changes(const Program& program);

// The result of such an equation. The array is in memory; what is read, the updates and the indices
// are in registers. Raises Refusal, before it adds instructions with effects, if that is
// impossible.
Value indexed(Builder& builder, const Packing& packing, Places& places, const Program& program,
              const Equation& equation, std::span<const Value> inputs);

// The same for an array with one element in each register, if all positions are constant.
std::optional<Value> indexed_in_registers(Builder& builder, const Packing& packing,
                                          const Program& program, const Equation& equation,
                                          std::span<const Value> inputs);

// The result of an equation that only moves elements of an array in memory, in registers. No value
// for other equations.
std::optional<Value> moved_from_memory(Builder& builder, const Packing& packing,
                                       const Places& places, const Program& program,
                                       const Equation& equation, const Value& input);

}  // namespace farcall::native::jit
