// Runs executables on the buffers of a call frame.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <farcall/ffi.h>
#include <farcall/ffi/attribute.h>
#include <farcall/program/engine.h>

namespace farcall::exchange {

// Raises INVALID_ARGUMENT for an operand or a result that is not a buffer.
void check_buffers(const ffi::RemainingArgs& operands, const ffi::RemainingRets& results);

// Raises INVALID_ARGUMENT for an attribute whose name is not in `names`.
void check_attributes(const FARCALL_FFI_Attrs& attributes, std::span<const std::string> names);
Attributes attributes_of(const FARCALL_FFI_Attrs& attributes);

bool is_of_type(const ffi::AnyBuffer& buffer, ShapeDtype type);
// Raises INVALID_ARGUMENT for a number that is not a dtype.
ShapeDtype type_of(const ffi::AnyBuffer& buffer);
// Raises INVALID_ARGUMENT: operand i does not have the type `wanted`.
[[noreturn]] void refuse_operand(size_t i, const ffi::AnyBuffer& buffer, ShapeDtype wanted);

// Raises INVALID_ARGUMENT for an input or output type that the interface does not have.
void check_types(const Program& program);

// Runs on the buffers of a call. The operands must have been checked. Raises INVALID_ARGUMENT for
// results of other types than the executable's.
void run_frame(const Executable& executable, const ffi::RemainingArgs& operands,
               const ffi::RemainingRets& results);

// For catch blocks: the handler error for the current exception, with its code, and its text after
// `name`.
ffi::Error current_error(std::string_view name);

}  // namespace farcall::exchange
