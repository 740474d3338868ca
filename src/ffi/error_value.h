// Errors as values at the binary interface: one way in and one way out.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <farcall/abi.h>
#include <farcall/core/error.h>

// Made by Error_Create or here, owned by whoever got it last: the runtime takes those that handlers
// return.
struct FARCALL_FFI_Error {
  farcall::ErrorCode code;
  std::string message;
};

namespace farcall::runtime {

using ErrorPointer = std::unique_ptr<FARCALL_FFI_Error>;

// A number that is no code, or OK, which no error can have, is UNKNOWN.
ErrorCode error_code_from_abi(int code);

FARCALL_FFI_Error* make_error(ErrorCode code, std::string message);

// Runs `body` for a handler, which must see no exception of ours.
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

// `where` is the user's line, which the message ends with; it may be empty.
[[noreturn]] void throw_ffi_error(FARCALL_FFI_Error* error, std::string_view target,
                                  std::string_view where);
// From within a catch block: a handler let an exception out. It becomes an INTERNAL error with its
// text.
[[noreturn]] void throw_handler_exception(std::string_view target, std::string_view where);
// From within a catch block: a callable of this process let an exception out, which stays what it
// is.
[[noreturn]] void rethrow_with_line(std::string_view where);

}  // namespace farcall::runtime
