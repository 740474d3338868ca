#include <farcall/core/error.h>

#include <array>
#include <utility>

#include <fmt/format.h>

namespace farcall {

std::string_view error_code_name(ErrorCode code) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "OK",
      "CANCELLED",
      "UNKNOWN",
      "INVALID_ARGUMENT",
      "DEADLINE_EXCEEDED",
      "NOT_FOUND",
      "ALREADY_EXISTS",
      "PERMISSION_DENIED",
      "RESOURCE_EXHAUSTED",
      "FAILED_PRECONDITION",
      "ABORTED",
      "OUT_OF_RANGE",
      "UNIMPLEMENTED",
      "INTERNAL",
      "UNAVAILABLE",
      "DATA_LOSS",
      "UNAUTHENTICATED",
  };
  const auto index = static_cast<size_t>(code);
  return index < kNames.size() ? kNames[index] : "UNKNOWN";
}

void invalid_argument(std::string message) {
  throw Error(ErrorCode::kInvalidArgument, std::move(message));
}

Error::Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
Error::~Error() = default;
void Error::raise_with(std::string message) const { throw Error(code_, std::move(message)); }

TypeError::TypeError(std::string message)
    : Error(ErrorCode::kInvalidArgument, std::move(message)) {}
TypeError::~TypeError() = default;
void TypeError::raise_with(std::string message) const { throw TypeError(std::move(message)); }

NameError::NameError(std::string message) : Error(ErrorCode::kNotFound, std::move(message)) {}
NameError::~NameError() = default;
void NameError::raise_with(std::string message) const { throw NameError(std::move(message)); }

OverflowError::OverflowError(std::string message)
    : Error(ErrorCode::kOutOfRange, std::move(message)) {}
OverflowError::~OverflowError() = default;
void OverflowError::raise_with(std::string message) const {
  throw OverflowError(std::move(message));
}

ConcretizationError::ConcretizationError(std::string message)
    : Error(ErrorCode::kFailedPrecondition, std::move(message)) {}
ConcretizationError::~ConcretizationError() = default;
void ConcretizationError::raise_with(std::string message) const {
  throw ConcretizationError(std::move(message));
}

NonConcreteBooleanIndexError::NonConcreteBooleanIndexError(std::string message)
    : Error(ErrorCode::kFailedPrecondition, std::move(message)) {}
NonConcreteBooleanIndexError::~NonConcreteBooleanIndexError() = default;
void NonConcreteBooleanIndexError::raise_with(std::string message) const {
  throw NonConcreteBooleanIndexError(std::move(message));
}

LeakedTracerError::LeakedTracerError(std::string message)
    : Error(ErrorCode::kFailedPrecondition, std::move(message)) {}
LeakedTracerError::~LeakedTracerError() = default;
void LeakedTracerError::raise_with(std::string message) const {
  throw LeakedTracerError(std::move(message));
}

FfiError::FfiError(ErrorCode code, std::string target_name, std::string detail)
    : FfiError(
          code,
          fmt::format("{}: {} (ffi target \"{}\")", error_code_name(code), detail, target_name),
          target_name, detail) {}
FfiError::FfiError(ErrorCode code, std::string message, std::string target_name, std::string detail)
    : Error(code, std::move(message)),
      target_name_(std::move(target_name)),
      detail_(std::move(detail)) {}
FfiError::~FfiError() = default;
void FfiError::raise_with(std::string message) const {
  throw FfiError(code(), std::move(message), target_name_, detail_);
}

namespace detail {

void assertion_failed(const char* condition, const char* file, int line) {
  throw Error(ErrorCode::kInternal,
              fmt::format("internal error, a bug in farcall: {} does not hold ({}:{})", condition,
                          file, line));
}

}  // namespace detail
}  // namespace farcall
