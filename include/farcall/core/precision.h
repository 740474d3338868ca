// The precision of products and convolutions, for devices that offer a choice.
//
//   const PrecisionScope scope(Precision::kDefault);
//   const Array z = numpy::matmul(x, y);
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <farcall/core/config.h>
#include <farcall/core/export.h>

namespace farcall {

// kDefault is the fastest, kHighest that of the operands' dtype.
enum class Precision : uint8_t { kDefault, kHigh, kHighest };
using OperandPrecisions = std::pair<Precision, Precision>;  // of the left and the right operand

// "default", "high" or "highest".
FARCALL_API std::string_view precision_name(Precision precision);
// Raises INVALID_ARGUMENT for another name.
FARCALL_API Precision precision_named(std::string_view name);

// The precision of products that are called on this thread and name none: that of the innermost
// PrecisionScope, else that of the process. Without either the engine chooses.
FARCALL_API std::optional<OperandPrecisions> default_precision();
// The value of Flag::kMatmulPrecision.
FARCALL_API unsigned precision_flag(std::optional<OperandPrecisions> precision);

// Sets the precision of the products called on this thread. Programs keep it, and so do their
// derivatives. No precision leaves the one of the enclosing scope.
class FARCALL_API PrecisionScope {
 public:
  explicit PrecisionScope(Precision precision) : PrecisionScope({{precision, precision}}) {}
  explicit PrecisionScope(std::optional<OperandPrecisions> precision);

 private:
  std::optional<FlagScope> scope_;
};

}  // namespace farcall
