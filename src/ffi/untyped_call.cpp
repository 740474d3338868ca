// Untyped targets: the calling conventions older than the typed interface.
#include <cstring>
#include <optional>
#include <string>

#include "ffi/custom_call_status.h"
#include "ffi/error_value.h"
#include "ffi/trampolines.h"

#include <farcall/ffi/call_context.h>

// Handlers see only a pointer to it. The dynamic loader may bind a handler library to another
// runtime's functions in the same process. They work too, because this has the same layout: one
// optional string.
struct XlaCustomCallStatus {
  std::optional<std::string> failure;
};

void XlaCustomCallStatusSetSuccess(XlaCustomCallStatus* status) {
  if (status != nullptr) status->failure.reset();
}

void XlaCustomCallStatusSetFailure(XlaCustomCallStatus* status, const char* message,
                                   size_t message_length) {
  if (status == nullptr) return;
  status->failure.emplace(message ? message : "", message ? strnlen(message, message_length) : 0);
}

namespace farcall::runtime {
namespace {

using Status = XlaCustomCallStatus;

// `out` is the result itself if there is exactly one, else an array of the results.
void call_on_host(void* function, const UntypedCall& call, void* out, const void** in,
                  Status* status) {
  switch (call.version) {
    case 0:
    case 1:
      return reinterpret_cast<void (*)(void*, const void**)>(function)(out, in);
    case 2:
      return reinterpret_cast<void (*)(void*, const void**, Status*)>(function)(out, in, status);
    default:
      return reinterpret_cast<void (*)(void*, const void**, const char*, size_t, Status*)>(
          function)(out, in, call.opaque.data(), call.opaque.size(), status);
  }
}

// Device targets receive the stream and one array: arguments, then results.
void call_on_device(void* function, const UntypedCall& call, void* stream, void** buffers,
                    Status* status) {
  const char* opaque = call.opaque.data();
  const size_t size = call.opaque.size();
  if (call.version <= 1) {
    return reinterpret_cast<void (*)(void*, void**, const char*, size_t)>(function)(stream, buffers,
                                                                                    opaque, size);
  }
  reinterpret_cast<void (*)(void*, void**, const char*, size_t, Status*)>(function)(
      stream, buffers, opaque, size, status);
}

}  // namespace

FARCALL_FFI_Error* call_untyped(FARCALL_FFI_CallFrame* frame) {
  FARCALL_FFI_ExecutionContext& context = *frame->ctx;
  UntypedCall& call = context.untyped;
  const int64_t num_arguments = frame->args.size;
  const int64_t num_results = frame->rets.size;
  // Arguments and results are in one array of buffers.
  for (int64_t i = 0; i < num_arguments + num_results; ++i) {
    call.pointers[i] = static_cast<FARCALL_FFI_Buffer*>(frame->args.args[i])->data;
  }
  void** buffers = call.pointers.data();
  void* function = context.target->untyped_function();
  Status status;
  if (context.target->platform() == "cpu") {
    void** results = buffers + num_arguments;
    call_on_host(function, call, num_results == 1 ? results[0] : results,
                 const_cast<const void**>(buffers), &status);
  } else {
    call_on_device(function, call, context.options->stream, buffers, &status);
  }
  if (!status.failure) return nullptr;
  return make_error(ErrorCode::kInternal, std::move(*status.failure));
}

FARCALL_FFI_Error* call_callable(FARCALL_FFI_CallFrame* frame) {
  return frame->ctx->target->callable()(frame);
}

}  // namespace farcall::runtime
