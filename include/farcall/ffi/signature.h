// The signatures of targets, as their handlers describe themselves.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/ffi/attribute.h>
#include <farcall/ffi/registry.h>
#include <farcall/handler/detail/signature.h>

namespace farcall {

// The description that FARCALL_DEFINE_HANDLER stores in the handler's library. Null if there is
// none, or in another format version.
FARCALL_API const ffi::HandlerDesc* find_description(FARCALL_FFI_Handler* handler);

// For instance "(f32[?,?], optional f32) {eps: f32 scalar, n: optional s64 scalar} -> (f32[?,?])".
// Attributes are sorted by name; context parameters are left out.
FARCALL_API std::string describe_handler(const ffi::HandlerDesc& handler);

// What is wrong with a call of a target, in the words of its handler: "scale: attribute "factor":
// missing (the call has none)". Empty if nothing is, and if that cannot be known now: no handler is
// registered for `platform`, or one for another platform takes the call or does not describe
// itself. `gains_dimensions`: batches may still add leading dimensions, so lower ranks are no
// mistake.
FARCALL_API std::string misfits_of_call(std::string_view target_name,
                                        std::span<const ShapeDtype> arguments,
                                        std::span<const ShapeDtype> results,
                                        const Attributes& attributes, std::string_view platform,
                                        bool gains_dimensions);

// One line: each stage with its description, or a remark that it has none, and the traits. Equal
// lines mean that the targets are interchangeable, as far as is known.
FARCALL_API std::string describe_target(const Target& target);

}  // namespace farcall
