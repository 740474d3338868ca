// The signatures of targets, as their handlers describe themselves.
#pragma once

#include <string>

#include <farcall/core/export.h>
#include <farcall/ffi/registry.h>
#include <farcall/handler/detail/signature.h>

namespace farcall {

// The description that FARCALL_DEFINE_HANDLER stores in the handler's library. Null if there is
// none, or in another format version.
FARCALL_API const ffi::HandlerDesc* find_description(FARCALL_FFI_Handler* handler);

// For instance "(f32[?,?], optional f32) {eps: f32 scalar, n: optional s64 scalar} -> (f32[?,?])".
// Attributes are sorted by name; context parameters are left out.
FARCALL_API std::string describe_handler(const ffi::HandlerDesc& handler);

// One line: each stage with its description, or a remark that it has none, and the traits. Equal
// lines mean that the targets are interchangeable, as far as is known.
FARCALL_API std::string describe_target(const Target& target);

}  // namespace farcall
