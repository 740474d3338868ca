#include "pjrt/callback.h"

#include <cstring>
#include <exception>
#include <optional>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/ffi.h>
#include <farcall/ffi/registry.h>

#include "pjrt/frame.h"

// What the handlers answer when the plugin asks for their metadata. Outside of unnamed namespaces,
// as the macro requires.
FARCALL_DEFINE_HANDLER(farcall_pjrt_callback_metadata, [] { return farcall::ffi::Error(); });

namespace farcall::pjrt {
namespace {

constexpr const char* kTarget = "farcall.buffer_callback";
constexpr const char* kCommandBufferTarget = "farcall.buffer_callback.command_buffer";

Run* run_of(const FARCALL_FFI_CallFrame& frame) {
  return static_cast<Run*>(user_data_of(frame, run_type()));
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

// An exception is kept in the run. The plugin gets an error too, unless other devices could wait
// for this one; then its results have no meaning, and the run raises when it has ended.
FARCALL_FFI_Error* call(FARCALL_FFI_CallFrame* frame) {
  if (is_metadata_query(*frame)) return farcall_pjrt_callback_metadata(frame);
  Run* run = run_of(*frame);
  if (!run) return make_error(*frame, "farcall: the execution of this callback is unknown");
  if (!run->has_failed()) {
    try {
      call_function(*run, *frame);
      return nullptr;
    } catch (...) {
      run->fail(std::current_exception());
    }
  }
  return run->is_on_several() ? nullptr : make_error(*frame, "farcall: a callback failed");
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
