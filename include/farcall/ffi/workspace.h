// The scratch memory that calls of a target take, as far as it is known before they run: an engine
// then plans it with everything else, and the handler's scratch allocator hands it out.
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

// Bytes for a call with operands and results of these types. Blocks that a handler allocates are
// rounded up to kAlignment.
using WorkspaceRule =
    std::function<int64_t(std::span<const ShapeDtype> arguments,
                          std::span<const ShapeDtype> results, const Attributes& attributes)>;

// For all calls of the target that are compiled from now on, in place of an earlier rule; an empty
// rule removes it. The target may be registered later.
FARCALL_API void set_workspace_rule(std::string_view target_name, WorkspaceRule rule);

// 0 without a rule. Raises INVALID_ARGUMENT for a number that can be none of bytes, and what the
// rule raises.
FARCALL_API size_t workspace_bytes(std::string_view target_name,
                                   std::span<const ShapeDtype> arguments,
                                   std::span<const ShapeDtype> results,
                                   const Attributes& attributes);

}  // namespace farcall
