#include "pjrt/handlers.h"

#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ffi.h>

#include "ffi/internal/metadata.h"
#include "ffi/internal/register_args.h"
#include "ffi/internal/type_registry.h"
#include "pjrt/frame.h"

// Outside of unnamed namespaces, as the macro requires.
FARCALL_DEFINE_HANDLER(farcall_pjrt_probe, [] { return farcall::ffi::Error(); });

namespace farcall::pjrt {
namespace {

// What the plugin passes to a handler that it asks for its metadata.
thread_local const FARCALL_FFI_Api* seen_api = nullptr;

FARCALL_FFI_Error* probe(FARCALL_FFI_CallFrame* frame) {
  seen_api = frame->api;
  return farcall_pjrt_probe(frame);
}

// The name under which XLA knows the platform of handlers.
std::string_view xla_platform(std::string_view platform) {
  if (platform == "cpu") return "Host";
  if (platform == "cuda") return "CUDA";
  if (platform == "rocm") return "ROCM";
  return platform;
}

FARCALL_FFI_ByteSpan span_of(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

const FARCALL_FFI_Api& Handlers::api() {
  if (api_) return *api_;
  seen_api = nullptr;
  plugin_.register_handler("farcall.probe", reinterpret_cast<void*>(&probe),
                           std::string(xla_platform(platform_)));
  api_ = std::exchange(seen_api, nullptr);
  if (api_) return *api_;
  throw Error(ErrorCode::kUnimplemented,
              fmt::format("pjrt: plugin \"{}\" does not ask handlers for their metadata, so "
                          "farcall cannot register handlers with it",
                          plugin_.path()));
}

void Handlers::check(FARCALL_FFI_Error* error, std::string_view what) {
  if (!error) return;
  FARCALL_FFI_Error_GetDetails_Args details{};
  details.struct_size = api_->api_version.minor_version >= 4
                            ? FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_GetDetails_Args, errc)
                            : FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_GetDetails_Args, message);
  details.error = error;
  api_->Error_GetDetails(&details);
  const std::string message = fmt::format("pjrt: the plugin refuses {}: {}", what, details.message);
  destroy(*api_, error);
  throw Error(ErrorCode::kFailedPrecondition, message);
}

void Handlers::add(const Target& target) {
  const std::lock_guard lock(mutex_);
  const std::pair key(target.name(), target.is_untyped());
  if (targets_.contains(key)) return;
  if (target.callable()) {
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("pjrt: \"{}\" is a C++ callable, which programs on platform {} cannot "
                            "call; register a handler, or use a buffer callback",
                            target.name(), platform_));
  }
  if (target.is_untyped()) {
    plugin_.register_untyped(target.name(), target.untyped_function());
  } else {
    add_stages(target);
  }
  targets_.insert(key);
}

void Handlers::add_stages(const Target& target) {
  // A handler that gets its type's id from the runtime has registered the type by now. One with a
  // fixed id answers with the id that farcall gave it.
  for (const Stage stage : {Stage::kInstantiate, Stage::kExecute}) {
    if (!target.has_stage(stage)) continue;
    const int64_t id = runtime::query_metadata(target.handler(stage), &api()).state_type_id;
    if (id != 0) add_type_locked(id);
  }
  const std::string_view platform = xla_platform(platform_);
  const std::string what = fmt::format("target \"{}\"", target.name());
  if (api().api_version.minor_version >= 4) {
    FARCALL_FFI_Handler_Register_Args args{};
    args.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Handler_Register_Args, traits);
    args.name = span_of(target.name());
    args.platform = span_of(platform);
    args.bundle.instantiate = target.handler(Stage::kInstantiate);
    args.bundle.prepare = target.handler(Stage::kPrepare);
    args.bundle.initialize = target.handler(Stage::kInitialize);
    args.bundle.execute = target.handler(Stage::kExecute);
    args.bundle.record = target.handler(Stage::kRecord);
    args.traits = target.traits();
    return check(api().Handler_Register(&args), what);
  }
  runtime::RegisterArgs_0_3 args{};
  args.struct_size = FARCALL_FFI_STRUCT_SIZE(runtime::RegisterArgs_0_3, traits);
  args.name = span_of(target.name());
  args.platform = span_of(platform);
  args.bundle[0] = target.handler(Stage::kInstantiate);
  args.bundle[1] = target.handler(Stage::kPrepare);
  args.bundle[2] = target.handler(Stage::kInitialize);
  args.bundle[3] = target.handler(Stage::kExecute);
  args.traits = target.traits();
  check(api().Handler_Register(reinterpret_cast<FARCALL_FFI_Handler_Register_Args*>(&args)), what);
}

void Handlers::add_type(int64_t type_id) {
  const std::lock_guard lock(mutex_);
  add_type_locked(type_id);
}

void Handlers::add_type_locked(int64_t type_id) {
  const runtime::TypeRecord record = runtime::find_type(type_id);
  if (record.id == 0 || types_.contains(type_id)) return;
  const FARCALL_FFI_TypeInfo info = {FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_TypeInfo, deleter),
                                     nullptr, record.deleter};
  const runtime::Deleter deleter = record.deleter;
  const bool is_plain = api().api_version.minor_version < 2;  // the info is the deleter alone
  FARCALL_FFI_TypeId id = {type_id};
  FARCALL_FFI_Type_Register_Args args{};
  args.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Type_Register_Args, type_id);
  args.name = span_of(record.name);
  args.type_id = &id;
  args.type_info = is_plain ? reinterpret_cast<const FARCALL_FFI_TypeInfo*>(&deleter) : &info;
  check(api().Type_Register(&args), fmt::format("type \"{}\"", record.name));
  types_.insert(type_id);
}

}  // namespace farcall::pjrt
