// Calls of executables with the buffers of a call frame.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <farcall/ffi.h>
#include <farcall/ffi/attribute.h>
#include <farcall/program/engine.h>

namespace farcall::exchange {

// Raises INVALID_ARGUMENT for an operand or a result that is no buffer.
void check_buffers(const ffi::RemainingArgs& operands, const ffi::RemainingRets& results);

// Raises INVALID_ARGUMENT for an attribute of another name.
void check_attributes(const FARCALL_FFI_Attrs& attributes, std::span<const std::string> names);
Attributes attributes_of(const FARCALL_FFI_Attrs& attributes);

bool is_of_type(const ffi::AnyBuffer& buffer, ShapeDtype type);
// Raises INVALID_ARGUMENT for a number that is no dtype.
ShapeDtype type_of(const ffi::AnyBuffer& buffer);
// Raises INVALID_ARGUMENT: operand i is not of the type.
[[noreturn]] void refuse_operand(size_t i, const ffi::AnyBuffer& buffer, ShapeDtype wanted);

// Whether the interface has arrays of these types. Raises INVALID_ARGUMENT that names one that it
// has not.
void check_types(const Program& program);

// Runs on the buffers of a call, whose operands are known to fit. Raises INVALID_ARGUMENT for
// results of other types than the executable's.
void run_frame(const Executable& executable, const ffi::RemainingArgs& operands,
               const ffi::RemainingRets& results);

// The error of a handler for the exception that is being handled: its code and text after `name`.
ffi::Error current_error(std::string_view name);

}  // namespace farcall::exchange
