// Registration of this layer's targets, and calls of them.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include <farcall/abi.h>
#include <farcall/ops/define.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/trace/array.h>

namespace farcall::linalg {

// At load time, for platform "cpu". A call on part of a batch gives that part of the results.
struct RegisterTarget {
  RegisterTarget(const char* name, FARCALL_FFI_Handler* handler, TargetDefinition definition);
};

using ShapeFunction = std::vector<ShapeDtype> (*)(std::span<const ShapeDtype> operands,
                                                  const Attributes& attributes);

// Layouts of matrices stacked along leading dimensions, major to minor.
MajorToMinor column_major(size_t rank);

// Calls the target, the types of its results taken from `shape`.
std::vector<Array> call_target(const char* name, ShapeFunction shape,
                               std::initializer_list<Array> operands,
                               const Attributes& attributes = {},
                               const FfiCallOptions& options = {});

bool flag(const Attributes& attributes, std::string_view name);

}  // namespace farcall::linalg
