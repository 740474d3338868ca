// The transformation rules of ffi_call.
#pragma once

#include <farcall/trace/rules.h>

namespace farcall {

JvpResults ffi_call_jvp(const JvpCall& call);
std::vector<Array> ffi_call_transpose(const TransposeCall& call);
BatchResults ffi_call_batch(const BatchCall& call);
std::optional<CallSpecs> ffi_call_specs(const SpecsCall& call);
PartitionResults ffi_call_partition(const PartitionCall& call);

}  // namespace farcall
