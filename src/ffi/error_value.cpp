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

namespace {

std::string with_line(const std::string& message, std::string_view where) {
  return fmt::format("{}\n  at {}", message, where);
}

[[noreturn]] void raise(const FfiError& error, std::string_view where) {
  if (!where.empty()) error.raise_with(with_line(error.message(), where));
  throw error;
}

}  // namespace

void throw_ffi_error(FARCALL_FFI_Error* error, std::string_view target, std::string_view where) {
  const ErrorPointer owned(error);
  raise(FfiError(owned->code, std::string(target), owned->message), where);
}

void throw_handler_exception(std::string_view target, std::string_view where) {
  std::string text = "an exception of unknown type";
  try {
    throw;
  } catch (abi::__forced_unwind&) {
    throw;  // not an exception: the thread is being ended
  } catch (const std::exception& exception) {
    text = exception.what();
  } catch (...) {
  }
  raise(FfiError(ErrorCode::kInternal, std::string(target),
                 fmt::format("the handler threw: {}", text)),
        where);
}

void rethrow_with_line(std::string_view where) {
  if (where.empty()) throw;
  try {
    throw;
  } catch (const Error& error) {
    // The line of an inner call is more precise.
    if (error.message().find("\n  at ") != std::string::npos) throw;
    error.raise_with(with_line(error.message(), where));
    throw;  // not reached; raise_with does not return
  }
}

}  // namespace farcall::runtime
