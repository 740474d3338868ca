// How registers hold arrays, and loads and stores of whole arrays.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include <farcall/program/program.h>

#include "engine/native/jit/builder.h"
#include "engine/native/jit/elements.h"

namespace farcall::native::jit {

struct Packing {
  int lanes = 1;               // elements in a register, of an array of more than one element
  int mask_width = 4;          // bytes of a lane, also in masks
  int64_t most_elements = 32;  // of an array in registers

  int lanes_of(ShapeDtype type) const { return type.size() > 1 ? lanes : 1; }
  RegType reg_type_of(ShapeDtype type) const;
  size_t num_parts(ShapeDtype type) const;
  // The bytes in memory of one part of an array.
  int part_bytes(ShapeDtype type, size_t part) const;
  bool fits(ShapeDtype type) const { return type.size() > 0 && type.size() <= most_elements; }
  // Whether registers can hold an array. check() raises Refusal otherwise.
  bool holds(ShapeDtype type) const;
  void check(ShapeDtype type) const;
};

// The packings with several elements in a register to try for these programs, in this order. There
// are none if arrays have several widths, or several sizes and no products.
std::vector<Packing> packings_of(std::initializer_list<const Program*> programs);

Arg offset(Builder& builder, Arg address, int64_t bytes);

// When an array is loaded. kOnce: its memory does not change while the loop runs at this address,
// so that the load may move out of loops.
enum class LoadTime : uint8_t { kOnce, kHere };
Value load(Builder& builder, const Packing& packing, ShapeDtype type, Arg address,
           LoadTime time = LoadTime::kOnce);
void store(Builder& builder, const Packing& packing, const Value& value, Arg address);

}  // namespace farcall::native::jit
