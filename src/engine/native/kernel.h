// Kernel: native code for one equation, chosen when the program is compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

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
  // (input, output): the pairs of which this is true, where it is not of all.
  std::vector<std::pair<uint32_t, uint32_t>> in_place{};
};

// Makes the kernel for one primitive on operands of these types, which satisfy its type rule.
// Returns one without `run` when the dtype has no kernel.
using KernelFactory = Kernel (*)(std::span<const ShapeDtype> inputs,
                                 std::span<const ShapeDtype> outputs, const Params* params);

struct KernelRow;

// Makes the kernels of one primitive; null when the native engine has none.
class FoundKernel {
 public:
  explicit FoundKernel(const KernelRow* row) : row_(row) {}
  Kernel operator()(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype> outputs,
                    const Params* params) const;
  explicit operator bool() const { return row_ != nullptr; }
  bool operator==(std::nullptr_t) const { return row_ == nullptr; }

 private:
  const KernelRow* row_;
};

FoundKernel find_kernel(std::string_view primitive);

// Whether the kernel of this primitive changes a copy of its first input, and needs no copy where
// its one output is given that input's memory, and no other input's.
bool updates_first_input(std::string_view primitive);

}  // namespace farcall::native
