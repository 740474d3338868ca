// What a handler can ask of the call besides arrays and attributes. Each item is a parameter type;
// std::optional of it is empty if the runtime cannot provide the item.
//
// CtxDecoding<T> is open: specialize it, with kName and decode(), to add an item of your own.
#pragma once

#include <farcall/handler/detail/api.h>
#include <farcall/handler/detail/signature.h>
#include <farcall/handler/dictionary.h>
#include <farcall/handler/error.h>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace farcall::ffi {

template <typename T>
struct CtxDecoding {};

// The call itself: the runtime's function table and context, for uses that no item covers.
class Context {
 public:
  explicit Context(const FARCALL_FFI_CallFrame* frame)
      : Context(frame->api, frame->ctx, static_cast<ExecutionStage>(frame->stage)) {}
  Context(const FARCALL_FFI_Api* api, FARCALL_FFI_ExecutionContext* ctx, ExecutionStage stage)
      : api_(api), ctx_(ctx), stage_(stage) {}

  const FARCALL_FFI_Api* api() const { return api_; }
  FARCALL_FFI_ExecutionContext* ctx() const { return ctx_; }
  ExecutionStage stage() const { return stage_; }

  template <typename T>
  ErrorOr<T> get() const {
    return CtxDecoding<T>::decode(*this);
  }

 private:
  // Not the frame: a ThreadPool kept by asynchronous work outlives the frame.
  const FARCALL_FFI_Api* api_;
  FARCALL_FFI_ExecutionContext* ctx_;
  ExecutionStage stage_;
};

template <>
struct CtxDecoding<Context> {
  static constexpr const char* kName = "context";
  static ErrorOr<Context> decode(const Context& context) { return context; }
};

template <>
struct CtxDecoding<ExecutionStage> {
  static constexpr const char* kName = "stage";
  static ErrorOr<ExecutionStage> decode(const Context& context) { return context.stage(); }
};

// The device's stream. T is the platform's pointer type: cudaStream_t on CUDA.
template <typename T>
class PlatformStream {
 public:
  static_assert(std::is_pointer_v<T>, "farcall: PlatformStream<T> takes the stream's pointer type");
  explicit PlatformStream(T stream) : stream_(stream) {}
  operator T() const { return stream_; }
  T get() const { return stream_; }

 private:
  T stream_;
};
using Stream = PlatformStream<void*>;

template <typename T>
struct CtxDecoding<PlatformStream<T>> {
  static constexpr const char* kName = "stream";
  static ErrorOr<PlatformStream<T>> decode(const Context& context) {
    FARCALL_FFI_Stream_Get_Args args = {};
    args.ctx = context.ctx();
    Error error = detail::call_api(context.api(), &FARCALL_FFI_Api::Stream_Get, args);
    if (error.failure()) return error;
    return PlatformStream<T>(static_cast<T>(args.stream));
  }
};

// The number of the device, on its host, that the call runs on.
struct DeviceOrdinal {
  int32_t device_ordinal;
  operator int32_t() const { return device_ordinal; }
};

template <>
struct CtxDecoding<DeviceOrdinal> {
  static constexpr const char* kName = "device ordinal";
  static ErrorOr<DeviceOrdinal> decode(const Context& context) {
    FARCALL_FFI_DeviceOrdinal_Get_Args args = {};
    args.ctx = context.ctx();
    Error error = detail::call_api(
        context.api(), &FARCALL_FFI_Api::DeviceOrdinal_Get, args,
        FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_DeviceOrdinal_Get_Args, device_ordinal));
    if (error.failure()) return error;
    return DeviceOrdinal{args.device_ordinal};
  }
};

// An id that is the same in all calls of one execution.
struct RunId {
  int64_t run_id;
  operator int64_t() const { return run_id; }
};

template <>
struct CtxDecoding<RunId> {
  static constexpr const char* kName = "run id";
  static ErrorOr<RunId> decode(const Context& context) {
    FARCALL_FFI_RunId_Get_Args args = {};
    args.ctx = context.ctx();
    Error error = detail::call_api(context.api(), &FARCALL_FFI_Api::RunId_Get, args);
    if (error.failure()) return error;
    return RunId{args.run_id};
  }
};

// Options that the user gave for this execution; since interface 0.5.
class CustomOptions : public Dictionary {
 public:
  using Dictionary::Dictionary;
};

template <>
struct CtxDecoding<CustomOptions> {
  static constexpr const char* kName = "custom options";
  static ErrorOr<CustomOptions> decode(const Context& context) {
    FARCALL_FFI_CustomOptions_Get_Args args = {};
    args.ctx = context.ctx();
    Error error = detail::call_api(context.api(), &FARCALL_FFI_Api::CustomOptions_Get, args);
    if (error.failure()) return error;
    return CustomOptions(args.attrs);
  }
};

// An extension of the context; since interface 0.4. T has kExtensionType, kMajorVersion,
// kMinorVersion and CExtension, a C struct that begins with a FARCALL_FFI_Extension. Decoding fails
// if the context's extension has another major or an older minor version.
template <typename T>
class Extension {
 public:
  using CExtension = typename T::CExtension;
  explicit Extension(const CExtension* extension) : extension_(extension) {}
  const CExtension* operator->() const { return extension_; }
  const CExtension& operator*() const { return *extension_; }

 private:
  const CExtension* extension_;
};

template <typename T>
struct CtxDecoding<Extension<T>> {
  static constexpr const char* kName = "extension";
  static ErrorOr<Extension<T>> decode(const Context& context) {
    FARCALL_FFI_ExecutionContext_FindExtension_Args args = {};
    args.ctx = context.ctx();
    args.extension_type = T::kExtensionType;
    Error error =
        detail::call_api(context.api(), &FARCALL_FFI_Api::ExecutionContext_FindExtension, args);
    if (error.failure()) return error;
    if (args.extension == nullptr) return Error::NotFound("the context does not have it");
    if (args.extension->id.major_version != T::kMajorVersion ||
        args.extension->id.minor_version < T::kMinorVersion) {
      return wrong_version(args.extension->id);
    }
    return Extension<T>(reinterpret_cast<const typename T::CExtension*>(args.extension));
  }

 private:
  FARCALL_FFI_COLD static Error wrong_version(const FARCALL_FFI_ExtensionId& got) {
    detail::Text text;
    text << "wanted version " << int64_t{T::kMajorVersion} << "." << int64_t{T::kMinorVersion}
         << ", got " << int64_t{got.major_version} << "." << int64_t{got.minor_version};
    return Error::FailedPrecondition(text.view());
  }
};

}  // namespace farcall::ffi
