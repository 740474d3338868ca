// Context items with the names of XLA's header: tags for Bind().Ctx<Tag>(), and CtxDecoding, which
// kernels may specialize. The function receives CtxDecoding<Tag>::Type.
#pragma once

#include <farcall/handler/context.h>
#include <farcall/handler/future.h>
#include <farcall/handler/scratch.h>
#include <farcall/handler/state.h>
#include <farcall/handler/thread_pool.h>
#include <farcall/xla/attribute.h>

FARCALL_XLA_NAMESPACE

using TypeId = XLA_FFI_TypeId;
using TypeInfo = XLA_FFI_TypeInfo;

using ::farcall::ffi::CountDownPromise;
using ::farcall::ffi::Future;
using ::farcall::ffi::Promise;
using ::farcall::ffi::RunId;
using ::farcall::ffi::ScratchAllocator;
using ::farcall::ffi::ThreadPool;

template <typename T>
struct CtxDecoding {};

// The call itself.
class Context {
 public:
  Context(const XLA_FFI_Api* api, XLA_FFI_InvokeContext* ctx) : api_(api), ctx_(ctx) {}

  const XLA_FFI_Api* api() const { return api_; }
  XLA_FFI_InvokeContext* ctx() const { return ctx_; }

  template <typename T>
  ErrorOr<typename CtxDecoding<T>::Type> get() const {
    DiagnosticEngine diagnostic;
    auto value = CtxDecoding<T>::Decode(api_, ctx_, diagnostic);
    if (!value.has_value()) return Error::Internal(std::move(diagnostic).Result());
    return *std::move(value);
  }

 private:
  const XLA_FFI_Api* api_;
  XLA_FFI_InvokeContext* ctx_;
};

// Tags.
template <typename T>
struct PlatformStream {};
struct DeviceOrdinal {};
struct CustomOptions {};
template <typename T>
struct Extension {};
template <typename T>
struct UserData {};
template <typename T, ExecutionStage stage = ExecutionStage::kInstantiate>
struct State {};
template <typename T>
using Prepared = State<T, ExecutionStage::kPrepare>;
template <typename T>
using Initialized = State<T, ExecutionStage::kInitialize>;

// ---- type ids -------------------------------------------------------------------------------

template <typename T>
constexpr XLA_FFI_TypeInfo MakeTypeInfo() {
  return {XLA_FFI_TypeInfo_STRUCT_SIZE, nullptr, &::farcall::ffi::detail::delete_object<T>};
}

namespace internal {

using RuntimeContext = ::farcall::ffi::Context;
template <typename T>
using FarcallErrorOr = ::farcall::ffi::ErrorOr<T>;

template <typename T, typename = void>
inline constexpr bool kHasTypeId = false;
template <typename T>
inline constexpr bool
    kHasTypeId<T, std::enable_if_t<std::is_same_v<std::decay_t<decltype(T::id)>, TypeId>>> = true;

// The id of a type of state: T::id if it was registered before the first call. Other types are
// registered automatically.
template <typename T>
FarcallErrorOr<::farcall::ffi::TypeId> type_number(const FARCALL_FFI_Api* api) {
  if constexpr (kHasTypeId<T>) {
    if (T::id.type_id != 0) return ::farcall::ffi::TypeId{T::id.type_id};
  }
  return ::farcall::ffi::detail::TypeRecord<T>::id_in(api);
}

// ---- decoding of the tags above -------------------------------------------------------------

// `Self` provides kName and `static FarcallErrorOr<T> get(const RuntimeContext&)`.
struct BuiltinCtx {};
template <typename Self, typename T>
struct CtxBase : BuiltinCtx {
  using Type = T;
  static std::optional<T> Decode(const XLA_FFI_Api* api, XLA_FFI_InvokeContext* ctx,
                                 DiagnosticEngine& diagnostic) {
    FarcallErrorOr<T> item =
        Self::get(RuntimeContext(as_farcall(api), as_farcall(ctx), ExecutionStage::kExecute));
    if (item.has_value()) return std::optional<T>(*std::move(item));
    return diagnostic.Emit(Self::kName) << ": " << item.error().message();
  }
};

// An item of farcall's header, converted to T.
template <typename Self, typename Item, typename T>
struct CtxOf : CtxBase<Self, T> {
  static constexpr const char* kName = ::farcall::ffi::CtxDecoding<Item>::kName;
  static FarcallErrorOr<T> get(const RuntimeContext& context) {
    if constexpr (std::is_same_v<Item, T>) {
      return ::farcall::ffi::CtxDecoding<Item>::decode(context);
    } else {
      FarcallErrorOr<Item> item = ::farcall::ffi::CtxDecoding<Item>::decode(context);
      if (item.has_error()) return std::move(item).error();
      return static_cast<T>(*std::move(item));
    }
  }
};

}  // namespace internal

template <typename T>
struct CtxDecoding<PlatformStream<T>>
    : internal::CtxOf<CtxDecoding<PlatformStream<T>>, ::farcall::ffi::PlatformStream<T>, T> {
  static_assert(std::is_pointer_v<T>, "farcall: PlatformStream<T> takes the stream's pointer type");
};
template <>
struct CtxDecoding<ScratchAllocator>
    : internal::CtxOf<CtxDecoding<ScratchAllocator>, ScratchAllocator, ScratchAllocator> {};
template <>
struct CtxDecoding<ThreadPool> : internal::CtxOf<CtxDecoding<ThreadPool>, ThreadPool, ThreadPool> {
};
template <>
struct CtxDecoding<RunId> : internal::CtxOf<CtxDecoding<RunId>, RunId, RunId> {};
template <>
struct CtxDecoding<DeviceOrdinal>
    : internal::CtxOf<CtxDecoding<DeviceOrdinal>, ::farcall::ffi::DeviceOrdinal, int32_t> {};
template <>
struct CtxDecoding<CustomOptions>
    : internal::CtxOf<CtxDecoding<CustomOptions>, ::farcall::ffi::CustomOptions, Dictionary> {};

template <>
struct CtxDecoding<Context> : internal::CtxBase<CtxDecoding<Context>, Context> {
  static constexpr const char* kName = "context";
  static internal::FarcallErrorOr<Context> get(const internal::RuntimeContext& context) {
    return Context(internal::as_xla(context.api()), internal::as_xla(context.ctx()));
  }
};

template <typename T, ExecutionStage stage>
struct CtxDecoding<State<T, stage>> : internal::CtxBase<CtxDecoding<State<T, stage>>, T*> {
  static constexpr const char* kName =
      ::farcall::ffi::CtxDecoding<::farcall::ffi::State<T, stage>>::kName;
  static internal::FarcallErrorOr<T*> get(const internal::RuntimeContext& context) {
    auto type_id = internal::type_number<T>(context.api());
    if (type_id.has_error()) return std::move(type_id).error();
    auto state = ::farcall::ffi::detail::get_state(context, stage, *type_id);
    if (state.has_error()) return std::move(state).error();
    if (*state == nullptr) {
      return ::farcall::ffi::Error::FailedPrecondition("the state has not been created");
    }
    return static_cast<T*>(*state);
  }
};

template <typename T>
struct CtxDecoding<UserData<T>> : internal::CtxBase<CtxDecoding<UserData<T>>, T*> {
  static_assert(internal::kHasTypeId<T>,
                "farcall: a type of UserData needs a member `static xla::ffi::TypeId id`, which "
                "whoever attaches the data registers");
  static constexpr const char* kName = "user data";
  static internal::FarcallErrorOr<T*> get(const internal::RuntimeContext& context) {
    ::farcall::ffi::TypeId type_id = {T::id.type_id};
    if (type_id.type_id == 0) {
      return ::farcall::ffi::Error::FailedPrecondition(
          "its type has no id yet: register its TypeId with the runtime (register_ffi_type, or "
          "XLA_FFI_REGISTER_TYPE) before the call");
    }
    FARCALL_FFI_ExecutionContext_Get_Args args = {};
    args.ctx = context.ctx();
    args.type_id = &type_id;
    auto error = ::farcall::ffi::detail::call_api(context.api(),
                                                  &FARCALL_FFI_Api::ExecutionContext_Get, args);
    if (error.failure()) return error;
    if (args.data == nullptr) return ::farcall::ffi::Error::NotFound("none is attached");
    return static_cast<T*>(args.data);
  }
};

// ---- extensions of the context --------------------------------------------------------------

namespace internal {

template <typename T, typename = void>
inline constexpr bool kHasSupport = false;
template <typename T>
inline constexpr bool
    kHasSupport<T, std::enable_if_t<std::is_same_v<decltype(T::Support), bool(int32_t, int32_t)>>> =
        true;

FARCALL_FFI_COLD inline ::farcall::ffi::Error wrong_extension_version(
    int32_t major, int32_t minor, const FARCALL_FFI_ExtensionId& got) {
  ::farcall::ffi::detail::Text text;
  text << "wanted version " << int64_t{major} << "." << int64_t{minor} << ", got "
       << int64_t{got.major_version} << "." << int64_t{got.minor_version};
  return ::farcall::ffi::Error::FailedPrecondition(text.view());
}

}  // namespace internal

// T provides Type, kName, kExtensionType, kMajorVersion, kMinorVersion, CExtension and Create(),
// and optionally Support(major, minor).
template <typename T>
struct CtxDecoding<Extension<T>> : internal::CtxBase<CtxDecoding<Extension<T>>, typename T::Type> {
  static constexpr const char* kName = T::kName;
  static internal::FarcallErrorOr<typename T::Type> get(const internal::RuntimeContext& context) {
    FARCALL_FFI_ExecutionContext_FindExtension_Args args = {};
    args.ctx = context.ctx();
    args.extension_type = T::kExtensionType;
    auto error = ::farcall::ffi::detail::call_api(
        context.api(), &FARCALL_FFI_Api::ExecutionContext_FindExtension, args);
    if (error.failure()) return error;
    if (args.extension == nullptr) {
      return ::farcall::ffi::Error::NotFound("the context does not have it");
    }
    const FARCALL_FFI_ExtensionId& id = args.extension->id;
    bool fits = id.major_version == T::kMajorVersion && id.minor_version == T::kMinorVersion;
    if constexpr (internal::kHasSupport<T>) fits = T::Support(id.major_version, id.minor_version);
    if (!fits) return internal::wrong_extension_version(T::kMajorVersion, T::kMinorVersion, id);
    return T::Create(internal::as_xla(context.api()),
                     reinterpret_cast<const typename T::CExtension*>(args.extension));
  }
};

template <typename T>
XLA_FFI_Extension MakeExtensionHeader() {
  return {sizeof(typename T::CExtension),
          {T::kExtensionType, T::kMajorVersion, T::kMinorVersion},
          nullptr};
}

FARCALL_XLA_NAMESPACE_END
