// What a handler's function may return, and how it reaches the runtime: void, Error, Future, or a
// pointer to new state, bare or in an ErrorOr.
#pragma once

#include <farcall/handler/detail/explain.h>
#include <farcall/handler/future.h>
#include <farcall/handler/state.h>
#include <farcall/handler/thread_pool.h>

#include <optional>
#include <type_traits>
#include <utility>

namespace farcall::ffi::detail {

// Hands the future to the runtime, or waits for it if the runtime does not support futures.
FARCALL_FFI_COLD inline FARCALL_FFI_Error* return_future(FARCALL_FFI_CallFrame* frame,
                                                         Future future) {
  const FARCALL_FFI_Api* api = frame->api;
  FARCALL_FFI_Future_Create_Args create = {};
  const bool is_handed_over =
      !future.is_done() && spoken_version(api) >= 1 &&
      call_api(api, &FARCALL_FFI_Api::Future_Create, create,
               FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Future_Create_Args, extension_start))
          .success();
  if (!is_handed_over) {
    while (!future.is_done()) yield_thread();
    return future.error() ? make_error(api, *future.error()) : nullptr;
  }
  frame->future = create.future;
  future.OnReady([api, handle = create.future](const std::optional<Error>& error) {
    // If the runtime refuses the signal, the error cannot be reported.
    if (error.has_value()) {
      FARCALL_FFI_Future_SetError_Args args = {};
      args.future = handle;
      args.error = make_error(api, *error);
      (void)call_api(api, &FARCALL_FFI_Api::Future_SetError, args);
    } else {
      FARCALL_FFI_Future_SetAvailable_Args args = {};
      args.future = handle;
      (void)call_api(api, &FARCALL_FFI_Api::Future_SetAvailable, args);
    }
  });
  return nullptr;
}

// std::unique_ptr, recognized by its members, so that this header does not include <memory>.
template <typename T, typename = void>
struct OwnerTraits {
  static constexpr bool kIsOwner = false;
};
template <typename T>
struct OwnerTraits<T, std::void_t<typename T::element_type, typename T::deleter_type,
                                  decltype(std::declval<T&>().release())>> {
  static constexpr bool kIsOwner = true;
  using Object = typename T::element_type;
};

template <typename T>
struct ReturnTraits {
  static constexpr bool kIsState = OwnerTraits<T>::kIsOwner;
  static constexpr bool kIsFuture = std::is_same_v<T, Future>;
  static constexpr bool kIsKnown =
      kIsState || kIsFuture || std::is_void_v<T> || std::is_same_v<T, Error>;
  using Owner = T;
};
template <typename T>
struct ReturnTraits<ErrorOr<T>> {
  static constexpr bool kIsState = OwnerTraits<T>::kIsOwner;
  static constexpr bool kIsFuture = false;
  static constexpr bool kIsKnown = kIsState;
  using Owner = T;
};

template <typename T>
FARCALL_FFI_Error* return_state(FARCALL_FFI_CallFrame* frame, const char* handler,
                                ExecutionStage stage, T* object, void (*destroy)(void*)) {
  Error error;
  if (object == nullptr) {
    error = Error::Internal("the handler returned no state");
  } else {
    using Record = TypeRecord<T>;
    ErrorOr<TypeId> type_id = Record::id_in(frame->api);
    error = type_id.has_error()
                ? std::move(type_id).error()
                : set_state(Context(frame), stage, *type_id, object, Record::info.deleter);
  }
  if (error.success()) return nullptr;
  if (object != nullptr) destroy(object);
  return named_error(frame->api, error.code(), handler, error.message());
}

// The last step of a call.
template <typename Return>
FARCALL_FFI_INLINE FARCALL_FFI_Error* return_value(FARCALL_FFI_CallFrame* frame,
                                                   const char* handler, ExecutionStage stage,
                                                   Return&& value) {
  using Traits = ReturnTraits<Return>;
  if constexpr (std::is_same_v<Return, Error>) {
    return FARCALL_FFI_LIKELY(value.success()) ? nullptr : make_error(frame->api, value);
  } else if constexpr (Traits::kIsFuture) {
    return return_future(frame, std::move(value));
  } else {
    using Object = typename OwnerTraits<typename Traits::Owner>::Object;
    Object* object = nullptr;
    if constexpr (std::is_same_v<Return, typename Traits::Owner>) {
      object = value.release();
    } else {
      if (value.has_error()) return make_error(frame->api, value.error());
      object = value->release();
    }
    return return_state(frame, handler, stage, object, &delete_object<Object>);
  }
}

}  // namespace farcall::ffi::detail
