// The functions through which a handler reads its execution context.
#include <atomic>
#include <bit>

#include "ffi/api_checks.h"
#include "ffi/api_functions.h"
#include "ffi/attribute_frame.h"
#include "ffi/error_value.h"
#include "ffi/internal/type_registry.h"
#include "ffi/stage_offers.h"

namespace farcall {

std::shared_ptr<const AttributeFrame> make_custom_options(Attributes options) {
  return std::make_shared<const AttributeFrame>(std::move(options));
}

int64_t new_run_id() {
  static std::atomic<int64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

namespace runtime {
namespace {

ThreadPool& pool_of(const FARCALL_FFI_ExecutionContext* ctx) {
  return ctx->options->thread_pool ? *ctx->options->thread_pool : ThreadPool::shared();
}

void check_host_memory(const FARCALL_FFI_ExecutionContext* ctx) {
  check_offer(ctx, Offer::kDeviceMemory);
  if (ctx->target->platform() == "cpu") return;
  throw Error(ErrorCode::kUnimplemented,
              fmt::format("this runtime allocates memory only on platform \"cpu\", not on \"{}\"",
                          ctx->target->platform()));
}

}  // namespace

FARCALL_FFI_Error* stream_get(FARCALL_FFI_Stream_Get_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("Stream_Get", FARCALL_FFI_Stream_Get_Args, stream);
    check_offer(args->ctx, Offer::kStream);
    if (args->ctx->target->platform() == "cpu") {
      throw Error(ErrorCode::kFailedPrecondition,
                  "there is no stream: the GPU context is not available on platform \"cpu\"");
    }
    args->stream = args->ctx->options->stream;
  });
}

FARCALL_FFI_Error* user_data_get(FARCALL_FFI_ExecutionContext_Get_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("ExecutionContext_Get", FARCALL_FFI_ExecutionContext_Get_Args, data);
    check_offer(args->ctx, Offer::kUserData);
    const int64_t wanted = args->type_id ? args->type_id->type_id : 0;
    for (const auto& [type_id, data] : args->ctx->options->user_data) {
      if (type_id == wanted && wanted != 0) {
        args->data = data;
        return;
      }
    }
    throw Error(ErrorCode::kNotFound,
                fmt::format("this execution has no user data of type {}", type_text(wanted)));
  });
}

FARCALL_FFI_Error* device_memory_allocate(FARCALL_FFI_DeviceMemory_Allocate_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("DeviceMemory_Allocate", FARCALL_FFI_DeviceMemory_Allocate_Args, data);
    check_host_memory(args->ctx);
    if (args->alignment != 0 && !std::has_single_bit(args->alignment)) {
      invalid_argument(fmt::format("alignment must be a power of two, got {}", args->alignment));
    }
    args->data = args->ctx->scratch.allocate(args->size, args->alignment);
    if (args->data == nullptr) {
      throw Error(ErrorCode::kResourceExhausted,
                  fmt::format("out of memory: cannot allocate {} bytes of scratch", args->size));
    }
  });
}

FARCALL_FFI_Error* device_memory_free(FARCALL_FFI_DeviceMemory_Free_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("DeviceMemory_Free", FARCALL_FFI_DeviceMemory_Free_Args, data);
    check_host_memory(args->ctx);
    if (args->data == nullptr || args->ctx->scratch.free(args->data)) return;
    invalid_argument(
        "the memory to free was not allocated by this call, or has been freed already");
  });
}

FARCALL_FFI_Error* thread_pool_schedule(FARCALL_FFI_ThreadPool_Schedule_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("ThreadPool_Schedule", FARCALL_FFI_ThreadPool_Schedule_Args, data);
    check_offer(args->ctx, Offer::kThreadPool);
    if (args->task == nullptr) invalid_argument("the task is null");
    pool_of(args->ctx).schedule(args->task, args->data);
  });
}

FARCALL_FFI_Error* thread_pool_num_threads(FARCALL_FFI_ThreadPool_NumThreads_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("ThreadPool_NumThreads", FARCALL_FFI_ThreadPool_NumThreads_Args,
                       num_threads);
    check_offer(args->ctx, Offer::kThreadPool);
    if (args->num_threads == nullptr) {
      invalid_argument("ThreadPool_NumThreads: the output pointer num_threads is null");
    }
    *args->num_threads = pool_of(args->ctx).num_threads();
  });
}

FARCALL_FFI_Error* run_id_get(FARCALL_FFI_RunId_Get_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("RunId_Get", FARCALL_FFI_RunId_Get_Args, run_id);
    check_offer(args->ctx, Offer::kRunId);
    // Read at each call: callers change the options' run id between runs.
    const int64_t given = args->ctx->options->run_id;
    args->run_id = given != 0 ? given : args->ctx->run_id;
  });
}

FARCALL_FFI_Error* device_ordinal_get(FARCALL_FFI_DeviceOrdinal_Get_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("DeviceOrdinal_Get", FARCALL_FFI_DeviceOrdinal_Get_Args, device_ordinal);
    check_offer(args->ctx, Offer::kDeviceOrdinal);
    args->device_ordinal = args->ctx->options->device_ordinal;
  });
}

FARCALL_FFI_Error* find_extension(FARCALL_FFI_ExecutionContext_FindExtension_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("FindExtension", FARCALL_FFI_ExecutionContext_FindExtension_Args, extension);
    check_offer(args->ctx, Offer::kExtension);
    const FARCALL_FFI_Extension* extension = args->ctx->options->extensions;
    while (extension != nullptr && extension->id.extension_type != args->extension_type) {
      extension = extension->next;
    }
    args->extension = extension;
  });
}

FARCALL_FFI_Error* custom_options_get(FARCALL_FFI_CustomOptions_Get_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("CustomOptions_Get", FARCALL_FFI_CustomOptions_Get_Args, attrs);
    check_offer(args->ctx, Offer::kCustomOptions);
    static const auto* none = new AttributeFrame(Attributes());
    const auto& given = args->ctx->options->custom_options;
    args->attrs = &(given ? *given : *none).attrs();
  });
}

}  // namespace runtime
}  // namespace farcall
