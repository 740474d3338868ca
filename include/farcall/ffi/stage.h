// The stages of a foreign call and the versions of the binary interface.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include <farcall/abi.h>
#include <farcall/core/export.h>

namespace farcall {

// Numbered as in the binary interface (FARCALL_FFI_ExecutionStage).
enum class Stage : uint8_t {
  kInstantiate = FARCALL_FFI_ExecutionStage_INSTANTIATE,  // once per call site of an executable
  kPrepare = FARCALL_FFI_ExecutionStage_PREPARE,          // once per execution
  kInitialize = FARCALL_FFI_ExecutionStage_INITIALIZE,    // once per execution, after all prepares
  kExecute = FARCALL_FFI_ExecutionStage_EXECUTE,          // each call
  kRecord = FARCALL_FFI_ExecutionStage_RECORD,            // into a device's command buffer
};
inline constexpr int kNumStages = 5;

// "instantiate" and so on.
FARCALL_API std::string_view stage_name(Stage stage);

// The interface version that a handler was built for.
struct ApiVersion {
  int major_version = 0;
  int minor_version = 0;

  friend auto operator<=>(const ApiVersion&, const ApiVersion&) = default;
};

inline constexpr ApiVersion kRuntimeApiVersion{FARCALL_FFI_API_MAJOR, FARCALL_FFI_API_MINOR};

// "0.5"
FARCALL_API std::string version_to_string(ApiVersion version);

// The function table for handlers of one minor version. The tables differ in the functions whose
// argument layouts changed while their size did not, and for 0.0 in the stated version, because 0.0
// handlers refuse any other. Code that registers handlers or types with a runtime needs this table.
FARCALL_API const FARCALL_FFI_Api* ffi_api(int minor_version = FARCALL_FFI_API_MINOR);

}  // namespace farcall
