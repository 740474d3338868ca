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

// `operands` are the data pointers of the inputs, then of the outputs. Each array is dense,
// row-major and at least as aligned as its element; the data of an array of size zero may be null.
// `scratch` is kAlignment-aligned and has the size that the kernel asked for.
struct KernelCall {
  void* const* operands;
  void* scratch;
  const void* data;  // Kernel::data
};

struct Kernel {
  void (*run)(const KernelCall& call) = nullptr;
  std::shared_ptr<const void> data;  // what `run` needs besides pointers, computed once
  size_t scratch_bytes = 0;
  // An output may share the memory of an input of the same byte size: the kernel reads element i of
  // the input before it writes element i of the output, and never afterwards.
  bool can_run_in_place = false;
  // The (input, output) pairs that may share memory, if not all may.
  std::vector<std::pair<uint32_t, uint32_t>> in_place{};
};

// Makes the kernel of one primitive for operands of these types, which satisfy its type rule.
// Returns a kernel without `run` if the dtype has none.
using KernelFactory = Kernel (*)(std::span<const ShapeDtype> inputs,
                                 std::span<const ShapeDtype> outputs, const Params* params);

struct KernelRow;

// Makes the kernels of one primitive; null if the native engine has none.
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

enum class KernelTrait : uint8_t {
  kNone,
  // It updates a copy of its first input. It needs no copy if its one output is given that input's
  // memory, and no other input's.
  kUpdatesFirstInput,
  // It divides its work by lanes, so that a single lane takes one thread.
  kOneThreadPerLane
};
KernelTrait trait_of_kernel(std::string_view primitive);

}  // namespace farcall::native
