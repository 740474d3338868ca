// Errors of the library: one exception type with a canonical code and a message, and subclasses for
// the front end.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <farcall/core/export.h>

namespace farcall {

// The codes of the binary interface (those of absl::StatusCode).
enum class ErrorCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// "INVALID_ARGUMENT" and so on; "UNKNOWN" for a value outside the enumeration.
FARCALL_API std::string_view error_code_name(ErrorCode code);

class FARCALL_API Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message);
  ~Error() override;

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

  // Raises an error of the same class and code with another message, for callers that can add
  // context.
  [[noreturn]] virtual void raise_with(std::string message) const;

 private:
  ErrorCode code_;
  std::string message_;
};

// Raises an Error with ErrorCode::kInvalidArgument; Python sees a ValueError.
[[noreturn]] FARCALL_API void invalid_argument(std::string message);

// A value of a kind that is never accepted; Python sees a TypeError.
class FARCALL_API TypeError : public Error {
 public:
  explicit TypeError(std::string message);
  ~TypeError() override;
  [[noreturn]] void raise_with(std::string message) const override;
};

// An undefined name; Python sees a NameError.
class FARCALL_API NameError : public Error {
 public:
  explicit NameError(std::string message);
  ~NameError() override;
  [[noreturn]] void raise_with(std::string message) const override;
};

// A number that its dtype cannot represent; Python sees an OverflowError.
class FARCALL_API OverflowError : public Error {
 public:
  explicit OverflowError(std::string message);
  ~OverflowError() override;
  [[noreturn]] void raise_with(std::string message) const override;
};

// The operation needs the values of a traced array; Python sees a ConcretizationTypeError.
class FARCALL_API ConcretizationError : public Error {
 public:
  explicit ConcretizationError(std::string message);
  ~ConcretizationError() override;
  [[noreturn]] void raise_with(std::string message) const override;
};

// A traced bool array is used as a mask, so the shape of the result is unknown; Python sees a
// NonConcreteBooleanIndexError.
class FARCALL_API NonConcreteBooleanIndexError : public Error {
 public:
  explicit NonConcreteBooleanIndexError(std::string message);
  ~NonConcreteBooleanIndexError() override;
  [[noreturn]] void raise_with(std::string message) const override;
};

// A traced array is used outside the function that it belongs to; Python sees an
// UnexpectedTracerError.
class FARCALL_API LeakedTracerError : public Error {
 public:
  explicit LeakedTracerError(std::string message);
  ~LeakedTracerError() override;
  [[noreturn]] void raise_with(std::string message) const override;
};

// An error reported by a handler, or by the call of one. The message names the target and the code.
class FARCALL_API FfiError : public Error {
 public:
  // `detail` is the handler's own text.
  FfiError(ErrorCode code, std::string target_name, std::string detail);
  ~FfiError() override;
  [[noreturn]] void raise_with(std::string message) const override;

  const std::string& target_name() const { return target_name_; }
  const std::string& detail() const { return detail_; }

 private:
  FfiError(ErrorCode code, std::string message, std::string target_name, std::string detail);

  std::string target_name_;
  std::string detail_;
};

// Runs `f`. If it raises an Error, prefixes "name: " to the message, unless that starts with
// "name:" or "name(" already.
template <class F>
auto with_error_prefix(std::string_view name, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    const std::string_view text = error.message();
    if (text.starts_with(name) && text.substr(name.size()).find_first_of(":(") == 0) throw;
    error.raise_with(std::string(name) + ": " + error.message());
    throw;  // not reached; raise_with does not return
  }
}

namespace detail {
// A bug of the library, never the user's mistake. Raises INTERNAL with the condition and its source
// line.
[[noreturn]] FARCALL_API void assertion_failed(const char* condition, const char* file, int line);
}  // namespace detail

#define FARCALL_ASSERT(condition) \
  ((condition) ? void() : ::farcall::detail::assertion_failed(#condition, __FILE__, __LINE__))

}  // namespace farcall
