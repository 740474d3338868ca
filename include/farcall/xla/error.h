// Error, ErrorOr, Expected and Unexpected as in XLA's header: messages are std::string.
#pragma once

#include <farcall/handler/error.h>
#include <farcall/xla/casts.h>
#include <farcall/xla/standard.h>

FARCALL_XLA_NAMESPACE

using ::farcall::ffi::ErrorCode;

// Success is a null pointer. Converts to and from farcall's own Error.
class Error {
 public:
  Error() = default;
  FARCALL_FFI_COLD Error(ErrorCode errc, std::string message) {
    if (errc != ErrorCode::kOk) data_ = new Data{errc, std::move(message)};
  }
  Error(XLA_FFI_Error_Code errc, std::string message)
      : Error(static_cast<ErrorCode>(errc), std::move(message)) {}
  Error(const ::farcall::ffi::Error& error) {
    if (error.failure()) data_ = new Data{error.code(), std::string(error.message())};
  }

  Error(const Error& other) : data_(other.data_ ? new Data(*other.data_) : nullptr) {}
  Error(Error&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Error& operator=(Error other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Error() {
    if (data_ != nullptr) delete data_;
  }

  operator ::farcall::ffi::Error() const {
    return success() ? ::farcall::ffi::Error() : ::farcall::ffi::Error(data_->code, data_->message);
  }

  bool success() const { return data_ == nullptr; }
  bool failure() const { return data_ != nullptr; }
  std::optional<ErrorCode> errc() const { return data_ ? data_->code : ErrorCode::kOk; }
  const std::string& message() const {
    static const std::string* const kNone = new std::string;
    return data_ ? data_->message : *kNone;
  }

  static Error Success() { return Error(); }
#define FARCALL_XLA_X(name) \
  static Error name(std::string message) { return Error(ErrorCode::k##name, std::move(message)); }
  FARCALL_XLA_X(Cancelled)
  FARCALL_XLA_X(Unknown)
  FARCALL_XLA_X(InvalidArgument)
  FARCALL_XLA_X(DeadlineExceeded)
  FARCALL_XLA_X(NotFound)
  FARCALL_XLA_X(AlreadyExists)
  FARCALL_XLA_X(PermissionDenied)
  FARCALL_XLA_X(ResourceExhausted)
  FARCALL_XLA_X(FailedPrecondition)
  FARCALL_XLA_X(Aborted)
  FARCALL_XLA_X(OutOfRange)
  FARCALL_XLA_X(Unimplemented)
  FARCALL_XLA_X(Internal)
  FARCALL_XLA_X(Unavailable)
  FARCALL_XLA_X(DataLoss)
  FARCALL_XLA_X(Unauthenticated)
#undef FARCALL_XLA_X

 private:
  struct Data {
    ErrorCode code;
    std::string message;
  };
  Data* data_ = nullptr;
};

template <typename T, typename E>
using Expected = ::farcall::ffi::Expected<T, E>;

// Deduces std::string for string literals.
template <typename E>
class Unexpected : public ::farcall::ffi::Unexpected<E> {
 public:
  constexpr Unexpected(E error) : ::farcall::ffi::Unexpected<E>(std::move(error)) {}
};

Unexpected(const char*)->Unexpected<std::string>;

template <typename T>
class ErrorOr : public Expected<T, Error> {
 public:
  using Expected<T, Error>::Expected;
  ErrorOr(Error error) : Expected<T, Error>(Unexpected<Error>(std::move(error))) {
    assert(this->error().failure() && "an ErrorOr cannot hold a success without a value");
  }
};

namespace internal {

// Converts results of farcall's headers to the types of this one.
template <typename T>
ErrorOr<T> as_xla(::farcall::ffi::ErrorOr<T> value) {
  if (value.has_error()) return ErrorOr<T>(Error(value.error()));
  return *std::move(value);
}

// An INVALID_ARGUMENT error with a message that is already complete.
FARCALL_FFI_COLD inline Error invalid_argument(std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::move(message));
}

}  // namespace internal
FARCALL_XLA_NAMESPACE_END
