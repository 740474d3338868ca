#include "ffi/error_value.h"

#include <cxxabi.h>

#include <fmt/format.h>

namespace farcall::runtime {

ErrorCode error_code_from_abi(int code) {
  return code > 0 && code <= FARCALL_FFI_Error_Code_UNAUTHENTICATED ? static_cast<ErrorCode>(code)
                                                                    : ErrorCode::kUnknown;
}

FARCALL_FFI_Error* make_error(ErrorCode code, std::string message) {
  return new FARCALL_FFI_Error{code, std::move(message)};
}

void throw_ffi_error(FARCALL_FFI_Error* error, std::string_view target) {
  const ErrorPointer owned(error);
  throw FfiError(owned->code, std::string(target), owned->message);
}

void throw_handler_exception(std::string_view target) {
  std::string text = "an exception of unknown type";
  try {
    throw;
  } catch (abi::__forced_unwind&) {
    throw;  // not an exception: the thread is being ended
  } catch (const std::exception& exception) {
    text = exception.what();
  } catch (...) {
  }
  throw FfiError(ErrorCode::kInternal, std::string(target),
                 fmt::format("the handler threw: {}", text));
}

}  // namespace farcall::runtime
