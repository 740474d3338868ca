#include "pjrt/callback.h"

#include <cstring>
#include <exception>
#include <optional>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/ffi.h>
#include <farcall/ffi/registry.h>

#include "pjrt/handlers.h"

// What the handlers answer when the plugin asks for their metadata. Outside of unnamed namespaces,
// as the macro requires.
FARCALL_DEFINE_HANDLER(farcall_pjrt_callback_metadata, [] { return farcall::ffi::Error(); });

namespace farcall::pjrt {
namespace {

constexpr const char* kTarget = "farcall.buffer_callback";
constexpr const char* kCommandBufferTarget = "farcall.buffer_callback.command_buffer";

// Calls a function of the plugin's table that reads the execution. Returns false if it fails, as
// the stream does on a CPU.
template <class Args>
bool read(const FARCALL_FFI_Api& api, FARCALL_FFI_Error* (*function)(Args*), Args& args,
          size_t size) {
  if (!function) return false;
  args.struct_size = size;
  FARCALL_FFI_Error* error = function(&args);
  if (!error) return true;
  destroy(api, error);
  return false;
}

FARCALL_FFI_Error* make_error(const FARCALL_FFI_Api& api, const char* message) {
  FARCALL_FFI_Error_Create_Args args{};
  args.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_Create_Args, errc);
  args.message = message;
  args.errc = FARCALL_FFI_Error_Code_INTERNAL;
  return api.Error_Create(&args);
}

Run* run_of(const FARCALL_FFI_CallFrame& frame) {
  FARCALL_FFI_TypeId id = {run_type()};
  FARCALL_FFI_ExecutionContext_Get_Args args{};
  args.ctx = frame.ctx;
  args.type_id = &id;
  const size_t size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_ExecutionContext_Get_Args, data);
  const bool is_read = read(*frame.api, frame.api->ExecutionContext_Get, args, size);
  return is_read ? static_cast<Run*>(args.data) : nullptr;
}

void* stream_of(const FARCALL_FFI_CallFrame& frame) {
  FARCALL_FFI_Stream_Get_Args args{};
  args.ctx = frame.ctx;
  const size_t size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Stream_Get_Args, stream);
  return read(*frame.api, frame.api->Stream_Get, args, size) ? args.stream : nullptr;
}

int32_t ordinal_of(const FARCALL_FFI_CallFrame& frame) {
  FARCALL_FFI_DeviceOrdinal_Get_Args args{};
  args.ctx = frame.ctx;
  const size_t size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_DeviceOrdinal_Get_Args, device_ordinal);
  return read(*frame.api, frame.api->DeviceOrdinal_Get, args, size) ? args.device_ordinal : 0;
}

void call_function(const Run& run, const FARCALL_FFI_CallFrame& frame) {
  int64_t id = 0;
  std::memcpy(&id, static_cast<FARCALL_FFI_Scalar*>(frame.attrs.attrs[0])->value, sizeof(id));
  const DeviceCallback& called = run.callback(id);
  ExecutionOptions options = run.options();
  options.device_ordinal = ordinal_of(frame);
  options.stream = stream_of(frame);
  const BufferDevice memory{run.platform(), options.device_ordinal, options.stream};
  const BufferDevice* device = run.is_on_cpu() ? nullptr : &memory;
  const auto data_of = [](void* raw) { return static_cast<FARCALL_FFI_Buffer*>(raw)->data; };
  std::vector<Buffer> arguments, results;
  for (size_t i = 0; i < called.arguments.size(); ++i) {
    arguments.emplace_back(called.arguments[i], data_of(frame.args.args[i]), device);
  }
  for (size_t i = 0; i < called.results.size(); ++i) {
    results.emplace_back(called.results[i], data_of(frame.rets.rets[i]), device);
  }
  std::optional<OnHost> scope;
  if (!run.is_on_cpu() || run.is_on_several()) scope.emplace();
  called.callback->function({ExecutionContext(Stage::kExecute, options, options.run_id), results,
                             arguments, options.keeper});
}

bool is_metadata_query(const FARCALL_FFI_CallFrame& frame) {
  const FARCALL_FFI_InternalExtension* next = frame.extension_start;
  while (next && next->type != FARCALL_FFI_Extension_Metadata) next = next->next;
  return next != nullptr;
}

// An exception is kept in the run. The plugin gets an error too, unless other devices could wait
// for this one; then its results have no meaning, and the run raises when it has ended.
FARCALL_FFI_Error* call(FARCALL_FFI_CallFrame* frame) {
  if (is_metadata_query(*frame)) return farcall_pjrt_callback_metadata(frame);
  Run* run = run_of(*frame);
  if (!run) return make_error(*frame->api, "farcall: the execution of this callback is unknown");
  if (!run->has_failed()) {
    try {
      call_function(*run, *frame);
      return nullptr;
    } catch (...) {
      run->fail(std::current_exception());
    }
  }
  return run->is_on_several() ? nullptr : make_error(*frame->api, "farcall: a callback failed");
}

}  // namespace

int64_t run_type() {
  static const int64_t id = [] {
    FARCALL_FFI_TypeId fresh = {0};
    register_ffi_type("farcall.pjrt.run", &fresh);
    return fresh.type_id;
  }();
  return id;
}

std::string register_callbacks(const Client& client, bool is_command_buffer_compatible) {
  const char* name = is_command_buffer_compatible ? kCommandBufferTarget : kTarget;
  const FARCALL_FFI_Handler_Traits traits =
      is_command_buffer_compatible ? FARCALL_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE : 0;
  client.handlers().add(
      *make_target(name, HandlerBundle{.execute = &call}, client.platform(), traits));
  client.handlers().add_type(run_type());
  return name;
}

}  // namespace farcall::pjrt
