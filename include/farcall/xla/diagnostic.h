// Collects the error messages of a kernel's own decoding.
#pragma once

#include <farcall/xla/casts.h>
#include <farcall/xla/standard.h>

FARCALL_XLA_NAMESPACE

class DiagnosticEngine;

namespace internal {
template <typename T>
struct StringStream {
  using type = std::basic_ostringstream<char>;
};
}  // namespace internal

// A message that `<<` extends. It converts to an empty optional, which a decoding can return.
class InFlightDiagnostic {
 public:
  InFlightDiagnostic(DiagnosticEngine* engine, std::string text)
      : engine_(engine), text_(std::move(text)) {}
  InFlightDiagnostic(const InFlightDiagnostic&) = delete;
  InFlightDiagnostic& operator=(const InFlightDiagnostic&) = delete;
  inline ~InFlightDiagnostic();

  template <typename T>
  InFlightDiagnostic& operator<<(T&& value) {
    using Bare = std::decay_t<T>;
    if constexpr (std::is_convertible_v<const Bare&, std::string_view>) {
      text_.append(std::string_view(value));
    } else if constexpr (std::is_integral_v<Bare> && sizeof(Bare) > 1) {
      text_.append(std::to_string(value));
    } else {
      typename internal::StringStream<T>::type stream;  // needs <sstream>
      stream << value;
      text_.append(stream.str());
    }
    return *this;
  }

  template <typename T>
  operator std::optional<T>() const {
    return std::nullopt;
  }

 private:
  DiagnosticEngine* engine_;
  std::string text_;
};

class DiagnosticEngine {
 public:
  DiagnosticEngine() = default;
  DiagnosticEngine(const DiagnosticEngine&) = delete;
  DiagnosticEngine& operator=(const DiagnosticEngine&) = delete;

  InFlightDiagnostic Emit(std::string message) {
    return InFlightDiagnostic(this, std::move(message));
  }
  std::string Result() const& { return text_; }
  std::string Result() && { return std::exchange(text_, {}); }

 private:
  friend class InFlightDiagnostic;
  std::string text_;
};

inline InFlightDiagnostic::~InFlightDiagnostic() { engine_->text_.append(text_); }

FARCALL_XLA_NAMESPACE_END
