// State that a stage creates for later calls, and data that the user attaches.
//
// A stage function that returns ErrorOr<std::unique_ptr<T>> (or a bare std::unique_ptr<T>) creates
// the state; a parameter State<T> reads it. The runtime owns it: the state of instantiate lives as
// long as the executable, the states of prepare and initialize as long as one execution. Calls may
// run concurrently, so mutable state must synchronize itself.
#pragma once

#include <farcall/handler/context.h>
#include <farcall/handler/detail/type_id.h>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace farcall::ffi {
namespace detail {

// A typed pointer; never null in a handler.
template <typename T>
class ContextPointer {
 public:
  explicit ContextPointer(T* object) : object_(object) {}
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  T* get() const { return object_; }
  operator T*() const { return object_; }

 private:
  T* object_;
};

// Interface versions below 0.3 keep only the state of instantiate.
FARCALL_FFI_COLD inline Error no_state_of(ExecutionStage stage) {
  return Error::Unimplemented(stage == ExecutionStage::kPrepare
                                  ? "the runtime is older than 0.3 and keeps no prepare state"
                                  : "the runtime is older than 0.3 and keeps no initialize state");
}

inline ErrorOr<void*> get_state(const Context& context, ExecutionStage stage, TypeId type_id) {
  FARCALL_FFI_State_Get_Args args = {};
  if (spoken_version(context.api()) >= 3) {
    args.ctx = context.ctx();
    args.stage = static_cast<FARCALL_FFI_ExecutionStage>(stage);
    args.type_id = &type_id;
    Error error = call_api(context.api(), &FARCALL_FFI_Api::State_Get, args);
    if (error.failure()) return error;
    return args.state;
  }
  if (stage != ExecutionStage::kInstantiate) return no_state_of(stage);
  FARCALL_FFI_State_Get_Args_0_1 old = {};
  old.struct_size = sizeof(old);
  old.ctx = context.ctx();
  old.type_id = &type_id;
  FARCALL_FFI_Error* error =
      context.api()->State_Get(reinterpret_cast<FARCALL_FFI_State_Get_Args*>(&old));
  if (error != nullptr) return take_error(context.api(), error);
  return old.state;
}

// The runtime takes ownership only on success.
inline Error set_state(const Context& context, ExecutionStage stage, TypeId type_id, void* state,
                       void (*deleter)(void*)) {
  const int version = spoken_version(context.api());
  if (version >= 3) {
    FARCALL_FFI_State_Set_Args args = {};
    args.ctx = context.ctx();
    args.stage = static_cast<FARCALL_FFI_ExecutionStage>(stage);
    args.type_id = &type_id;
    args.state = state;
    return call_api(context.api(), &FARCALL_FFI_Api::State_Set, args);
  }
  if (stage != ExecutionStage::kInstantiate) return no_state_of(stage);
  FARCALL_FFI_State_Set_Args_0_1 old = {};
  old.struct_size =
      version == 2 ? FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_State_Set_Args_0_1, state) : sizeof(old);
  old.ctx = context.ctx();
  old.type_id = &type_id;
  old.state = state;
  old.deleter = deleter;
  FARCALL_FFI_Error* error =
      context.api()->State_Set(reinterpret_cast<FARCALL_FFI_State_Set_Args*>(&old));
  return error == nullptr ? Error() : take_error(context.api(), error);
}

}  // namespace detail

// The state that stage `stage` of this handler has created.
template <typename T, ExecutionStage stage = ExecutionStage::kInstantiate>
class State : public detail::ContextPointer<T> {
 public:
  using detail::ContextPointer<T>::ContextPointer;
};
template <typename T>
using Prepared = State<T, ExecutionStage::kPrepare>;
template <typename T>
using Initialized = State<T, ExecutionStage::kInitialize>;

template <typename T, ExecutionStage stage>
struct CtxDecoding<State<T, stage>> {
  static constexpr const char* kName = stage == ExecutionStage::kPrepare      ? "prepare state"
                                       : stage == ExecutionStage::kInitialize ? "initialize state"
                                                                              : "state";
  static ErrorOr<State<T, stage>> decode(const Context& context) {
    ErrorOr<TypeId> type_id = detail::TypeRecord<T>::id_in(context.api());
    if (type_id.has_error()) return std::move(type_id).error();
    ErrorOr<void*> state = detail::get_state(context, stage, *type_id);
    if (state.has_error()) return std::move(state).error();
    if (*state == nullptr) return Error::FailedPrecondition("the state has not been created");
    return State<T, stage>(static_cast<T*>(*state));
  }
};

// The object that the user attached to this execution under the type T (see FARCALL_DEFINE_TYPE).
template <typename T>
class UserData : public detail::ContextPointer<T> {
 public:
  using detail::ContextPointer<T>::ContextPointer;
};

template <typename T>
struct CtxDecoding<UserData<T>> {
  static constexpr const char* kName = "user data";
  static ErrorOr<UserData<T>> decode(const Context& context) {
    TypeId type_id = *detail::ExportedTypeId<T>::get();
    if (type_id.type_id == 0) {
      return Error::FailedPrecondition("its type is not registered with the runtime");
    }
    FARCALL_FFI_ExecutionContext_Get_Args args = {};
    args.ctx = context.ctx();
    args.type_id = &type_id;
    Error error = detail::call_api(context.api(), &FARCALL_FFI_Api::ExecutionContext_Get, args);
    if (error.failure()) return error;
    if (args.data == nullptr) return Error::NotFound("none is attached");
    return UserData<T>(static_cast<T*>(args.data));
  }
};

}  // namespace farcall::ffi
