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

Error::Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
Error::~Error() = default;
void Error::raise_with(std::string message) const { throw Error(code_, std::move(message)); }

TypeError::TypeError(std::string message)
    : Error(ErrorCode::kInvalidArgument, std::move(message)) {}
TypeError::~TypeError() = default;
void TypeError::raise_with(std::string message) const { throw TypeError(std::move(message)); }

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

LeakedTracerError::LeakedTracerError(std::string message)
    : Error(ErrorCode::kFailedPrecondition, std::move(message)) {}
LeakedTracerError::~LeakedTracerError() = default;
void LeakedTracerError::raise_with(std::string message) const {
  throw LeakedTracerError(std::move(message));
}

FfiError::FfiError(ErrorCode code, std::string target_name, std::string detail)
    : Error(code,
            fmt::format("{}: {} (ffi target \"{}\")", error_code_name(code), detail, target_name)),
      target_name_(std::move(target_name)),
      detail_(std::move(detail)) {}
FfiError::~FfiError() = default;
// The text that comes is the whole message; the new detail is what it adds to the old one.
void FfiError::raise_with(std::string message) const {
  const size_t at = message.find(this->message());
  if (at == std::string::npos) throw FfiError(code(), target_name_, std::move(message));
  const std::string before = message.substr(0, at);
  const std::string after = message.substr(at + this->message().size());
  throw FfiError(code(), target_name_, before + detail_ + after);
}

namespace detail {

void assertion_failed(const char* condition, const char* file, int line) {
  throw Error(ErrorCode::kInternal,
              fmt::format("farcall broke a promise of its own: {} ({}:{})", condition, file, line));
}

}  // namespace detail
}  // namespace farcall
