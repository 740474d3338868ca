// Registers and calls the targets of this folder.
#pragma once

#include <initializer_list>
#include <vector>

#include <farcall/abi.h>
#include <farcall/ops/define.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/trace/array.h>

namespace farcall::linalg {

// Registers at load time for platform "cpu", as a host function for others. The batch dimensions of
// calls may be sharded; the last `element_rank` dimensions of the first operand are not among them.
struct RegisterTarget {
  RegisterTarget(const char* name, FARCALL_FFI_Handler* handler, size_t num_operands,
                 TargetDefinition definition, size_t element_rank = 2);
};

using ShapeFunction = std::vector<ShapeDtype> (*)(std::span<const ShapeDtype> operands,
                                                  const Attributes& attributes);

// Layouts of matrices stacked along leading dimensions, major to minor.
MajorToMinor column_major(size_t rank);

// Calls the target; `shape` gives the result types.
std::vector<Array> call_target(const char* name, ShapeFunction shape,
                               std::initializer_list<Array> operands,
                               const Attributes& attributes = {},
                               const FfiCallOptions& options = {});

bool flag(const Attributes& attributes, std::string_view name);

}  // namespace farcall::linalg
