// Products of vectors and row-major matrices inside loops.
#pragma once

#include <optional>
#include <span>

#include <farcall/program/program.h>

#include "engine/native/jit/calls.h"
#include "engine/native/jit/packing.h"

namespace farcall::native::jit {

class Products {
 public:
  Products(const Packing& packing, Calls& calls) : packing_(packing), calls_(calls) {}

  // The result of a dot_general of a vector with a row-major matrix as a loop, with the bits of the
  // engine's kernel. No value for all other products, which the kernel computes.
  std::optional<Value> add(Builder& builder, const Program& program, const Equation& equation,
                           std::span<const Value> inputs);

 private:
  Value vector_times_matrix(Builder& builder, ShapeDtype result, int64_t depth, Arg vector,
                            Arg matrix) const;

  const Packing& packing_;
  Calls& calls_;
};

}  // namespace farcall::native::jit
