// The registry: foreign functions by name and platform, and the types of their state.
//
// All functions are thread-safe. A target never changes and lives as long as its owners; the
// handlers' code must stay loaded for the life of the process.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <farcall/abi.h>
#include <farcall/core/export.h>
#include <farcall/ffi/attribute_type.h>
#include <farcall/ffi/stage.h>

namespace farcall::ffi {
struct HandlerDesc;
}  // namespace farcall::ffi

namespace farcall {

// One function per stage. `execute` is required, the others may be null.
struct HandlerBundle {
  FARCALL_FFI_Handler* instantiate = nullptr;
  FARCALL_FFI_Handler* prepare = nullptr;
  FARCALL_FFI_Handler* initialize = nullptr;
  FARCALL_FFI_Handler* execute = nullptr;
  FARCALL_FFI_Handler* record = nullptr;
};

// A C++ callable that acts as an execute handler. It may be called from several threads at once.
// Exceptions reach the caller of the program unchanged. It lives as long as its target.
using HandlerFunction = std::function<FARCALL_FFI_Error*(FARCALL_FFI_CallFrame*)>;

template <typename F>
concept HandlerCallable = std::is_class_v<std::remove_cvref_t<F>> &&
    std::is_invocable_r_v<FARCALL_FFI_Error*, F&, FARCALL_FFI_CallFrame*>;

// The handlers registered under a name on a platform.
class FARCALL_API Target {
 public:
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  const std::string& name() const { return name_; }
  // The canonical name: "cpu", "cuda", ...
  const std::string& platform() const { return platform_; }
  // Uses a calling convention older than version 4, without a call frame.
  bool is_untyped() const { return untyped_ != nullptr; }
  bool has_stage(Stage stage) const { return handler(stage) != nullptr; }
  // The interface version that the execute handler was built for.
  ApiVersion version() const { return version(Stage::kExecute); }
  // Stages of one target may come from different builds.
  ApiVersion version(Stage stage) const { return stages_[static_cast<size_t>(stage)].version; }
  // The union of the traits given at registration and those that the execute handler states.
  FARCALL_FFI_Handler_Traits traits() const { return traits_; }
  bool is_command_buffer_compatible() const {
    return (traits_ & FARCALL_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE) != 0;
  }
  // The type of the instantiate stage's state; 0 if there is none or the handler does not state it.
  int64_t state_type_id() const;

  // The attribute types that its handlers describe, computed at the first request. Empty if they do
  // not describe themselves.
  const AttributeTypes& attribute_types() const;
  // How the handler of a stage describes itself (ffi/signature.h); null if it does not. Looked up
  // at the first request.
  const ffi::HandlerDesc* description(Stage stage) const;

  FARCALL_FFI_Handler* handler(Stage stage) const {
    return stages_[static_cast<size_t>(stage)].handler;
  }
  // Empty unless this is a C++ callable.
  const HandlerFunction& callable() const { return callable_; }
  // Null unless is_untyped().
  void* untyped_function() const { return untyped_; }

 private:
  friend class TargetBuilder;
  struct StageHandler {
    FARCALL_FFI_Handler* handler = nullptr;
    ApiVersion version = kRuntimeApiVersion;
  };

  Target() = default;

  std::string name_;
  std::string platform_;
  StageHandler stages_[kNumStages];
  HandlerFunction callable_;
  void* untyped_ = nullptr;
  FARCALL_FFI_Handler_Traits traits_ = 0;
  FARCALL_FFI_Handler_Traits given_traits_ = 0;
  void look_up_descriptions() const;

  mutable std::once_flag has_descriptions_;
  mutable std::array<const ffi::HandlerDesc*, kNumStages> descriptions_{};
  mutable AttributeTypes attribute_types_;
};

// The canonical names of a platform: cpu (or host), cuda, rocm, gpu (cuda and rocm), tpu, oneapi,
// metal; case-insensitive. Raises INVALID_ARGUMENT for any other.
FARCALL_API std::vector<std::string> parse_platform(std::string_view platform);

// Registers typed handlers (api_version 1). Registering the same handlers again is not an error;
// other handlers under a registered name raise ALREADY_EXISTS, a bundle without an execute stage
// INVALID_ARGUMENT. With api_version 0 the execute pointer is an untyped function, see
// register_legacy_target.
FARCALL_API void register_ffi_target(std::string_view name, const HandlerBundle& bundle,
                                     std::string_view platform = "cpu", int api_version = 1,
                                     FARCALL_FFI_Handler_Traits traits = 0);
FARCALL_API void register_ffi_target(std::string_view name, FARCALL_FFI_Handler* execute,
                                     std::string_view platform = "cpu", int api_version = 1,
                                     FARCALL_FFI_Handler_Traits traits = 0);
// No two callables are equal, so a name can be registered only once.
FARCALL_API void register_ffi_callable(std::string_view name, HandlerFunction callable,
                                       std::string_view platform = "cpu",
                                       FARCALL_FFI_Handler_Traits traits = 0);
template <HandlerCallable F>
void register_ffi_target(std::string_view name, F&& callable, std::string_view platform = "cpu",
                         FARCALL_FFI_Handler_Traits traits = 0) {
  register_ffi_callable(name, HandlerFunction(std::forward<F>(callable)), platform, traits);
}

// Registers an untyped function, which custom_call_api_version 0 to 3 call; the version decides its
// arguments.
FARCALL_API void register_legacy_target(std::string_view name, void* function,
                                        std::string_view platform = "cpu",
                                        FARCALL_FFI_Handler_Traits traits = 0);

// A target without a registered name, for callbacks and tests.
FARCALL_API std::shared_ptr<const Target> make_target(std::string_view name,
                                                      HandlerFunction callable,
                                                      std::string_view platform = "cpu",
                                                      FARCALL_FFI_Handler_Traits traits = 0);
FARCALL_API std::shared_ptr<const Target> make_target(std::string_view name,
                                                      const HandlerBundle& bundle,
                                                      std::string_view platform = "cpu",
                                                      FARCALL_FFI_Handler_Traits traits = 0);

// Raises NOT_FOUND, with the platforms that have the name and with similar names, and
// FAILED_PRECONDITION for handlers built for a newer version of the interface.
FARCALL_API std::shared_ptr<const Target> find_target(std::string_view name,
                                                      std::string_view platform = "cpu",
                                                      int custom_call_api_version = 4);
// The same for a call in a program: raises FfiError, with the name of the code in its message.
FARCALL_API std::shared_ptr<const Target> find_called_target(std::string_view name,
                                                             std::string_view platform,
                                                             int custom_call_api_version);
// States that a call on part of a batch (the leading dimension of all buffers) computes that part
// of the results, so a batch may be split over devices. With `element_rank`, the batch is all
// dimensions of the first operand but the last `element_rank`, and as many leading dimensions of
// the other buffers; it may be empty. Holds for all platforms; may come before the target's
// registration.
FARCALL_API void register_ffi_target_as_batch_partitionable(
    std::string_view name, std::optional<size_t> element_rank = std::nullopt);
FARCALL_API bool is_batch_partitionable(std::string_view name);
// None if the target was registered without it.
FARCALL_API std::optional<size_t> batch_element_rank(std::string_view name);

// Marks a target for the CPU that engines of other devices call on the host, with copies of the
// operands and results, if no handler is registered for their platform: farcall's linear algebra.
FARCALL_API void register_ffi_target_as_host_function(std::string_view name);
FARCALL_API bool is_host_function(std::string_view name);

// The attribute types that the handlers of a target describe, from the first platform that has a
// description. Null if there is none.
FARCALL_API std::shared_ptr<const AttributeTypes> declared_attributes(std::string_view name);
// Changes with each registration of something new.
FARCALL_API uint64_t registry_version();

// The typed targets of this name, one for each platform that has it.
FARCALL_API std::vector<std::shared_ptr<const Target>> typed_targets(std::string_view name);

// Whether a typed or an untyped target has this name.
FARCALL_API bool is_registered(std::string_view name, std::string_view platform = "cpu");
// The names of all targets, sorted.
FARCALL_API std::vector<std::string> registered_targets(std::string_view platform = "cpu");

// ---- types of state and user data ----

// If `*type_id` is 0, it receives a new id, unique in this process; another value becomes the id of
// the type. Registering the same type again is not an error, before or after the targets that use
// it. Raises ALREADY_EXISTS for a known name with another id or deleter, and for a known id with
// another name. `type_info` points at either of the interface's two structs: one begins with its
// size, the other is only a deleter. Without it, the type can be user data, or state of handlers
// older than 0.2.
FARCALL_API void register_ffi_type(std::string_view name, FARCALL_FFI_TypeId* type_id,
                                   const void* type_info = nullptr);
// Null if there is no such id.
FARCALL_API const std::string* ffi_type_name(int64_t type_id);

}  // namespace farcall
