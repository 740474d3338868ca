// Conversion between exceptions and the error values of the binary interface.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <farcall/abi.h>
#include <farcall/core/error.h>

// Created by Error_Create or make_error(). The last receiver owns it: the runtime owns errors that
// handlers return.
struct FARCALL_FFI_Error {
  farcall::ErrorCode code;
  std::string message;
};

namespace farcall::runtime {

using ErrorPointer = std::unique_ptr<FARCALL_FFI_Error>;

// OK, which an error cannot have, and unknown numbers become UNKNOWN.
ErrorCode error_code_from_abi(int code);

FARCALL_FFI_Error* make_error(ErrorCode code, std::string message);

// Runs `body` and turns its exceptions into an error value, because handlers must not see
// exceptions of the runtime.
template <typename Body>
FARCALL_FFI_Error* guard(Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Error& error) {
    return make_error(error.code(), error.message());
  } catch (const std::exception& exception) {
    return make_error(ErrorCode::kInternal, exception.what());
  }
}

// Appends `where`, the user's source line, to the message; it may be empty.
[[noreturn]] void throw_ffi_error(FARCALL_FFI_Error* error, std::string_view target,
                                  std::string_view where);
// For catch blocks, after a handler let an exception escape: raises an INTERNAL FfiError with its
// text.
[[noreturn]] void throw_handler_exception(std::string_view target, std::string_view where);
// For catch blocks, after a callable of this process let an exception escape: rethrows it, with the
// line added if it is an Error.
[[noreturn]] void rethrow_with_line(std::string_view where);

}  // namespace farcall::runtime
