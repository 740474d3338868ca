// Rules for the scratch memory of foreign calls, if its size is known before a call runs. An engine
// plans this memory together with its other memory, and the handler's scratch allocator hands it
// out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/ffi/attribute.h>

namespace farcall {

// The bytes for a call with operands and results of these types. Each block that a handler
// allocates is rounded up to kAlignment.
using WorkspaceRule =
    std::function<int64_t(std::span<const ShapeDtype> arguments,
                          std::span<const ShapeDtype> results, const Attributes& attributes)>;

// Sets the rule for calls of the target that are compiled from now on, replacing an earlier rule;
// an empty rule removes it. The target may be registered later.
FARCALL_API void set_workspace_rule(std::string_view target_name, WorkspaceRule rule);

// 0 without a rule. Raises INVALID_ARGUMENT for a result below 0 or from 2^48, and whatever the
// rule raises.
FARCALL_API size_t workspace_bytes(std::string_view target_name,
                                   std::span<const ShapeDtype> arguments,
                                   std::span<const ShapeDtype> results,
                                   const Attributes& attributes);

}  // namespace farcall
