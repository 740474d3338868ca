// What a target takes and returns, as its handlers describe themselves.
#pragma once

#include <string>

#include <farcall/core/export.h>
#include <farcall/ffi/registry.h>
#include <farcall/handler/detail/signature.h>

namespace farcall {

// The description that a handler made by FARCALL_DEFINE_HANDLER leaves in its library. Null when
// there is none, or it has another form than ours.
FARCALL_API const ffi::HandlerDesc* find_description(FARCALL_FFI_Handler* handler);

// For instance "(f32[?,?], optional f32) {eps: f32 scalar, n: optional s64 scalar} -> (f32[?,?])".
// Attributes are sorted by name; what a handler takes from the runtime is left out.
FARCALL_API std::string describe_handler(const ffi::HandlerDesc& handler);

// On one line: each stage with its description, or that it has none, and the target's traits. Equal
// lines mean that calls of the one are calls of the other, as far as is known.
FARCALL_API std::string describe_target(const Target& target);

}  // namespace farcall
