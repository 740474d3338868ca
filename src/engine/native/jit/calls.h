// Calls of the engine's kernels inside loops. Operands from registers go to the workspace, a part
// of the frame.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <farcall/program/program.h>

#include "engine/native/jit/packing.h"
#include "engine/native/jit/places.h"

namespace farcall::native::jit {

class Calls {
 public:
  Calls(Builder& builder, const Packing& packing, Places& places)
      : builder_(builder), packing_(packing), places_(places) {}

  // The results of an equation, computed by its kernel: in registers if these can hold them,
  // otherwise in the workspace, or in the memory of an array that the kernel changes. Raises
  // Refusal for equations without a kernel, and for arrays that are too large for a call without
  // checks for interrupts.
  std::vector<Value> add(const Program& program, const Equation& equation,
                         std::span<const Value> inputs);
  void copy(Arg to, Arg from, size_t nbytes);
  // An array in the workspace, with undefined elements.
  Value new_array(ShapeDtype type);

  // Memory for the time of one equation.
  class Temporary {
   public:
    explicit Temporary(Calls& calls) : calls_(calls), used_(calls.used_) {}
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;
    ~Temporary() { calls_.used_ = used_; }

    Arg place(size_t nbytes) { return calls_.place(nbytes); }
    // Where the value is in memory, if necessary after it is stored there.
    Arg address_of(const Value& value);

   private:
    Calls& calls_;
    const int64_t used_;
  };

  // What the code needs to run.
  int32_t workspace_bytes() const { return static_cast<int32_t>(most_); }
  std::vector<std::shared_ptr<const void>> take_kernels() { return std::move(kernels_); }

 private:
  Arg place(size_t nbytes);
  // Stores addresses, and returns where.
  Arg list_of(Temporary& temporary, std::span<const Arg> addresses);

  Builder& builder_;
  const Packing& packing_;
  Places& places_;
  int64_t used_ = 0, most_ = 0;  // bytes of the workspace
  std::vector<std::shared_ptr<const void>> kernels_;
};

}  // namespace farcall::native::jit
