// Errors as values: Error, and ErrorOr<T> for a value or an error.
#pragma once

#include <farcall/handler/config.h>

#include <cassert>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace farcall::ffi {

enum class ErrorCode : uint8_t {
  kOk = FARCALL_FFI_Error_Code_OK,
  kCancelled = FARCALL_FFI_Error_Code_CANCELLED,
  kUnknown = FARCALL_FFI_Error_Code_UNKNOWN,
  kInvalidArgument = FARCALL_FFI_Error_Code_INVALID_ARGUMENT,
  kDeadlineExceeded = FARCALL_FFI_Error_Code_DEADLINE_EXCEEDED,
  kNotFound = FARCALL_FFI_Error_Code_NOT_FOUND,
  kAlreadyExists = FARCALL_FFI_Error_Code_ALREADY_EXISTS,
  kPermissionDenied = FARCALL_FFI_Error_Code_PERMISSION_DENIED,
  kResourceExhausted = FARCALL_FFI_Error_Code_RESOURCE_EXHAUSTED,
  kFailedPrecondition = FARCALL_FFI_Error_Code_FAILED_PRECONDITION,
  kAborted = FARCALL_FFI_Error_Code_ABORTED,
  kOutOfRange = FARCALL_FFI_Error_Code_OUT_OF_RANGE,
  kUnimplemented = FARCALL_FFI_Error_Code_UNIMPLEMENTED,
  kInternal = FARCALL_FFI_Error_Code_INTERNAL,
  kUnavailable = FARCALL_FFI_Error_Code_UNAVAILABLE,
  kDataLoss = FARCALL_FFI_Error_Code_DATA_LOSS,
  kUnauthenticated = FARCALL_FFI_Error_Code_UNAUTHENTICATED,
};

// Success, or a code with a message. Success is a null pointer, so returning it costs nothing.
class FARCALL_FFI_NODISCARD Error {
 public:
  Error() = default;
  FARCALL_FFI_COLD Error(ErrorCode code, std::string_view message) {
    if (code == ErrorCode::kOk) return;
    data_ = new char[message.size() + 2];
    data_[0] = static_cast<char>(code);
    if (!message.empty()) std::memcpy(data_ + 1, message.data(), message.size());
    data_[message.size() + 1] = '\0';
  }
  Error(FARCALL_FFI_Error_Code code, std::string_view message)
      : Error(static_cast<ErrorCode>(code), message) {}

  Error(const Error& other) : Error(other.code(), other.message()) {}
  Error(Error&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Error& operator=(Error other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Error() {
    if (data_ != nullptr) delete[] data_;
  }

  bool success() const { return data_ == nullptr; }
  bool failure() const { return data_ != nullptr; }
  ErrorCode code() const { return data_ ? static_cast<ErrorCode>(data_[0]) : ErrorCode::kOk; }
  std::optional<ErrorCode> errc() const { return code(); }

  // Null-terminated; valid as long as the error.
  std::string_view message() const { return data_ ? data_ + 1 : ""; }

  static Error Success() { return Error(); }
#define FARCALL_FFI_X(name) \
  static Error name(std::string_view message) { return Error(ErrorCode::k##name, message); }
  FARCALL_FFI_X(Cancelled)
  FARCALL_FFI_X(Unknown)
  FARCALL_FFI_X(InvalidArgument)
  FARCALL_FFI_X(DeadlineExceeded)
  FARCALL_FFI_X(NotFound)
  FARCALL_FFI_X(AlreadyExists)
  FARCALL_FFI_X(PermissionDenied)
  FARCALL_FFI_X(ResourceExhausted)
  FARCALL_FFI_X(FailedPrecondition)
  FARCALL_FFI_X(Aborted)
  FARCALL_FFI_X(OutOfRange)
  FARCALL_FFI_X(Unimplemented)
  FARCALL_FFI_X(Internal)
  FARCALL_FFI_X(Unavailable)
  FARCALL_FFI_X(DataLoss)
  FARCALL_FFI_X(Unauthenticated)
#undef FARCALL_FFI_X

 private:
  char* data_ = nullptr;  // code, message, terminator
};

template <typename E>
class Unexpected {
 public:
  constexpr Unexpected(E error) : error_(std::move(error)) {}

 private:
  template <typename, typename>
  friend class Expected;

  E error_;
};

Unexpected(const char*)->Unexpected<std::string_view>;

// Holds the value itself, because every std::optional of another type takes the compiler as long as
// a small header.
template <typename T, typename E>
class Expected {
 public:
  Expected(T value) : has_value_(true), value_(std::move(value)) {}
  Expected(Unexpected<E> unexpected) : error_(std::move(unexpected.error_)) {}

  Expected(const Expected& other) : has_value_(other.has_value_), error_(other.error_) {
    if (has_value_) new (&value_) T(other.value_);
  }
  Expected(Expected&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
      : has_value_(other.has_value_), error_(std::move(other.error_)) {
    if (has_value_) new (&value_) T(std::move(other.value_));
  }
  Expected& operator=(const Expected& other) { return *this = Expected(other); }
  Expected& operator=(Expected&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    if (this == &other) return *this;
    error_ = std::move(other.error_);
    if (has_value_) value_.~T();
    has_value_ = false;  // also if the move throws
    if (other.has_value_) new (&value_) T(std::move(other.value_));
    has_value_ = other.has_value_;
    return *this;
  }
  ~Expected() {
    if (has_value_) value_.~T();
  }

  operator bool() const { return has_value_; }
  bool has_value() const { return has_value_; }
  bool has_error() const { return !has_value_; }

  T& value() & { return value_; }
  const T& value() const& { return value_; }
  T&& value() && { return std::move(value_); }
  T& operator*() & { return value_; }
  const T& operator*() const& { return value_; }
  T&& operator*() && { return std::move(value_); }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

  E& error() & { return error_; }
  const E& error() const& { return error_; }
  E&& error() && { return std::move(error_); }

 private:
  bool has_value_ = false;
  union {
    T value_;
  };
  E error_{};
};

template <typename T>
class FARCALL_FFI_NODISCARD ErrorOr : public Expected<T, Error> {
 public:
  using Expected<T, Error>::Expected;
  ErrorOr(Error error) : Expected<T, Error>(Unexpected<Error>(std::move(error))) {
    assert(this->error().failure() && "an ErrorOr cannot hold a success without a value");
  }
};

}  // namespace farcall::ffi
