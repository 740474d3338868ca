// State that stages pass on. After a successful State_Set the runtime owns the object; after an
// error the handler still owns it.
#include "ffi/api_checks.h"
#include "ffi/api_functions.h"
#include "ffi/error_value.h"
#include "ffi/internal/type_registry.h"
#include "ffi/stage_offers.h"

namespace farcall::runtime {
namespace {

StateSlot& slot_of(FARCALL_FFI_ExecutionContext* ctx, Stage stage) {
  switch (stage) {
    case Stage::kInstantiate:
      return *ctx->instantiate_state;
    case Stage::kPrepare:
      return ctx->prepare_state;
    case Stage::kInitialize:
      return ctx->initialize_state;
    default:
      break;
  }
  invalid_argument(fmt::format("the {} stage has no state; instantiate, prepare and initialize do",
                               stage_name(stage)));
}

int64_t checked_id(const FARCALL_FFI_TypeId* type_id) {
  if (type_id == nullptr || type_id->type_id == 0) {
    throw Error(ErrorCode::kFailedPrecondition,
                "the type of the state has no id: register it with register_ffi_type");
  }
  return type_id->type_id;
}

void set(FARCALL_FFI_ExecutionContext* ctx, Stage stage, const FARCALL_FFI_TypeId* type_id,
         void* state, Deleter deleter) {
  if (ctx == nullptr) {
    invalid_argument("State_Set needs the context of a call");
  }
  const int64_t id = checked_id(type_id);
  StateSlot& slot = slot_of(ctx, stage);
  if (ctx->stage != stage) {
    throw Error(ErrorCode::kFailedPrecondition,
                fmt::format("the {} stage cannot set the state of the {} stage",
                            stage_name(ctx->stage), stage_name(stage)));
  }
  if (slot.is_set()) {
    throw Error(ErrorCode::kFailedPrecondition,
                fmt::format("the {} stage has set its state already", stage_name(stage)));
  }
  if (deleter == nullptr) {
    throw Error(ErrorCode::kFailedPrecondition,
                fmt::format("the type {} of the state has no deleter: give its type info to "
                            "register_ffi_type",
                            type_text(id)));
  }
  slot.set(id, state, deleter);
}

void* get(FARCALL_FFI_ExecutionContext* ctx, Stage stage, const FARCALL_FFI_TypeId* type_id) {
  if (ctx == nullptr) {
    invalid_argument("State_Get needs the context of a call");
  }
  const StateSlot& slot = slot_of(ctx, stage);
  check_offer(ctx, stage == Stage::kInstantiate ? Offer::kInstantiateState
                   : stage == Stage::kPrepare   ? Offer::kPrepareState
                                                : Offer::kInitializeState);
  if (!slot.is_set()) {
    throw Error(ErrorCode::kNotFound,
                fmt::format("the {} stage has set no state", stage_name(stage)));
  }
  const int64_t wanted = checked_id(type_id);
  if (slot.type_id() != wanted) {
    invalid_argument(fmt::format("the state of the {} stage has the type {}, not {}",
                                 stage_name(stage), type_text(slot.type_id()), type_text(wanted)));
  }
  return slot.object();
}

Stage checked_stage(FARCALL_FFI_ExecutionStage stage) {
  if (stage >= 0 && static_cast<int>(stage) < kNumStages) return static_cast<Stage>(stage);
  invalid_argument(fmt::format("unknown stage {}", static_cast<int>(stage)));
}

Deleter registered_deleter(const FARCALL_FFI_TypeId* type_id) {
  return type_id ? find_type(type_id->type_id).deleter : nullptr;
}

}  // namespace

FARCALL_FFI_Error* state_set(FARCALL_FFI_State_Set_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("State_Set", FARCALL_FFI_State_Set_Args, state);
    adopt_if_unregistered(args->type_id);
    set(args->ctx, checked_stage(args->stage), args->type_id, args->state,
        registered_deleter(args->type_id));
  });
}

// Before version 0.3 only the instantiate stage has state.
FARCALL_FFI_Error* state_set_0_2(FARCALL_FFI_State_Set_Args* args_0_3) {
  return guard([&] {
    auto* args = reinterpret_cast<FARCALL_FFI_State_Set_Args_0_1*>(args_0_3);
    FARCALL_CHECK_ARGS("State_Set", FARCALL_FFI_State_Set_Args_0_1, state);
    adopt_if_unregistered(args->type_id);
    set(args->ctx, Stage::kInstantiate, args->type_id, args->state,
        registered_deleter(args->type_id));
  });
}

// Up to version 0.1 the deleter is passed with the state.
FARCALL_FFI_Error* state_set_0_1(FARCALL_FFI_State_Set_Args* args_0_3) {
  return guard([&] {
    auto* args = reinterpret_cast<FARCALL_FFI_State_Set_Args_0_1*>(args_0_3);
    FARCALL_CHECK_ARGS("State_Set", FARCALL_FFI_State_Set_Args_0_1, deleter);
    adopt_if_unregistered(args->type_id);
    set(args->ctx, Stage::kInstantiate, args->type_id, args->state, args->deleter);
  });
}

FARCALL_FFI_Error* state_get(FARCALL_FFI_State_Get_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("State_Get", FARCALL_FFI_State_Get_Args, state);
    args->state = get(args->ctx, checked_stage(args->stage), args->type_id);
  });
}

FARCALL_FFI_Error* state_get_0_2(FARCALL_FFI_State_Get_Args* args_0_3) {
  return guard([&] {
    auto* args = reinterpret_cast<FARCALL_FFI_State_Get_Args_0_1*>(args_0_3);
    FARCALL_CHECK_ARGS("State_Get", FARCALL_FFI_State_Get_Args_0_1, state);
    args->state = get(args->ctx, Stage::kInstantiate, args->type_id);
  });
}

}  // namespace farcall::runtime
