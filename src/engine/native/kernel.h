// Kernel: native code for one equation, chosen when the program is compiled.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include <farcall/core/shape_dtype.h>
#include <farcall/program/params.h>

namespace farcall::native {

// `operands` are the data pointers of the inputs, then of the outputs, each dense and row-major and
// at least as aligned as its element; `scratch` is kAlignment-aligned and has the bytes that the
// kernel asked for. The data of a tensor of size zero may be null.
struct KernelCall {
  void* const* operands;
  void* scratch;
  const void* data;  // Kernel::data
};

struct Kernel {
  void (*run)(const KernelCall& call) = nullptr;
  std::shared_ptr<const void> data;  // what `run` needs besides pointers, worked out once
  size_t scratch_bytes = 0;
  // An output may share the memory of an input of the same byte size: element i is read before
  // element i is written, and nothing is read after.
  bool can_run_in_place = false;
};

// Makes the kernel for one primitive on operands of these types, which satisfy its type rule.
// Returns one without `run` when the dtype has no kernel.
using KernelFactory = Kernel (*)(std::span<const ShapeDtype> inputs,
                                 std::span<const ShapeDtype> outputs, const Params* params);

// Null when the native engine has no kernel for this primitive.
KernelFactory find_kernel(std::string_view primitive);

// Whether the kernel of this primitive changes a copy of its first input, and needs no copy where
// its one output is given that input's memory, and no other input's.
bool updates_first_input(std::string_view primitive);

}  // namespace farcall::native
