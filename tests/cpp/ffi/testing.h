// Helpers for tests of the FFI runtime: hand-written handlers, and checks of errors.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <farcall/abi.h>
#include <farcall/core/error.h>
#include <farcall/ffi/foreign_call.h>

namespace farcall::testing {

inline const ShapeDtype kS64(DType::kInt64, {});
inline const ShapeDtype kF32(DType::kFloat32, {4});

// Runs `body`, which must raise an Error with this code; returns its message.
template <typename Body>
std::string error_of(ErrorCode code, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error_code_name(error.code()), error_code_name(code)) << error.message();
    return error.message();
  }
  ADD_FAILURE() << "no error was raised";
  return "";
}

// ---- hand-written handlers ----

inline FARCALL_FFI_Error* fail(FARCALL_FFI_CallFrame* frame, FARCALL_FFI_Error_Code code,
                               const char* message) {
  FARCALL_FFI_Error_Create_Args args = {
      FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_Create_Args, errc), nullptr, message, code};
  return frame->api->Error_Create(&args);
}

// Answers a metadata query like a handler of this version; returns false for a call.
inline bool answers_metadata(FARCALL_FFI_CallFrame* frame, int major_version = 0,
                             int minor_version = FARCALL_FFI_API_MINOR,
                             FARCALL_FFI_Handler_Traits traits = 0) {
  auto* extension = frame->extension_start;
  if (extension == nullptr || extension->type != FARCALL_FFI_Extension_Metadata) return false;
  auto* metadata = reinterpret_cast<FARCALL_FFI_Metadata_Extension*>(extension)->metadata;
  metadata->api_version.major_version = major_version;
  metadata->api_version.minor_version = minor_version;
  metadata->traits = traits;
  return true;
}

inline FARCALL_FFI_Buffer* argument(FARCALL_FFI_CallFrame* frame, int index) {
  return static_cast<FARCALL_FFI_Buffer*>(frame->args.args[index]);
}
inline FARCALL_FFI_Buffer* result(FARCALL_FFI_CallFrame* frame, int index) {
  return static_cast<FARCALL_FFI_Buffer*>(frame->rets.rets[index]);
}

// The code and text of an error from a function of the table, which is freed: "NOT_FOUND: ...".
inline std::string text_of(const FARCALL_FFI_Api* api, FARCALL_FFI_Error* error) {
  if (error == nullptr) return "OK";
  FARCALL_FFI_Error_GetDetails_Args details = {sizeof(FARCALL_FFI_Error_GetDetails_Args), nullptr,
                                               error, nullptr, FARCALL_FFI_Error_Code_OK};
  api->Error_GetDetails(&details);
  std::string text =
      std::string(error_code_name(static_cast<ErrorCode>(details.errc))) + ": " + details.message;
  FARCALL_FFI_Error_Destroy_Args destroy = {sizeof(FARCALL_FFI_Error_Destroy_Args), nullptr, error};
  api->Error_Destroy(&destroy);
  return text;
}

// Runs `body` as the execute stage of a target without operands.
inline void run_as_handler(std::function<void(FARCALL_FFI_CallFrame*)> body,
                           const ExecutionOptions& options = {}, Attributes attributes = {},
                           std::string_view platform = "cpu") {
  const auto target = make_target(
      "test",
      [&](FARCALL_FFI_CallFrame* frame) -> FARCALL_FFI_Error* {
        body(frame);
        return nullptr;
      },
      platform);
  call_target(target, {}, {}, std::move(attributes), options);
}

}  // namespace farcall::testing
