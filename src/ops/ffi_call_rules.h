// The transformation rules of ffi_call.
#pragma once

#include <farcall/ffi/attribute.h>
#include <farcall/trace/rules.h>

namespace farcall {

JvpResults ffi_call_jvp(const JvpCall& call);
std::vector<Array> ffi_call_transpose(const TransposeCall& call);
BatchResults ffi_call_batch(const BatchCall& call);

// With the defaults of the target's definition, and in the types that these have.
Attributes complete_attributes(const std::string& target_name, const Attributes& attributes);

}  // namespace farcall
