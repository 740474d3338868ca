// Products of matrices and vectors inside loops. Operands from registers go to the workspace, a
// part of the frame.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <farcall/program/program.h>

#include "engine/native/jit/packing.h"

namespace farcall::native::jit {

class Products {
 public:
  explicit Products(const Packing& packing) : packing_(packing) {}

  // The result of a dot_general. A vector times a row-major matrix becomes a loop; all other
  // products are calls of the engine's kernel. Both give the same bits. Raises Refusal for products
  // that are too large for a call without checks for interrupts, and for types without a kernel.
  Value add(Builder& builder, const Program& program, const Equation& equation,
            std::span<const Value> inputs);

  // What the code needs to run.
  int32_t workspace_bytes() const { return workspace_bytes_; }
  std::vector<std::shared_ptr<const void>> take_kernels() { return std::move(kernels_); }

 private:
  // Addresses of arrays in the workspace.
  class Workspace;

  Value vector_times_matrix(Builder& builder, ShapeDtype result, int64_t depth, Arg vector,
                            Arg matrix) const;
  Value call_kernel(Builder& builder, const Equation& equation, ShapeDtype result,
                    std::span<const Value> inputs, Workspace& workspace);

  const Packing& packing_;
  int32_t workspace_bytes_ = 0;
  std::vector<std::shared_ptr<const void>> kernels_;
};

}  // namespace farcall::native::jit
