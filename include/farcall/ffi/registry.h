// The registry: foreign functions by name and platform, and the types of their state.
//
// Everything here may be called from any thread. A target, once made, never changes and stays valid
// for as long as someone holds it; the handlers' code must stay loaded for the life of the process.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <farcall/abi.h>
#include <farcall/core/export.h>
#include <farcall/ffi/attribute_type.h>
#include <farcall/ffi/stage.h>

namespace farcall {

// One function for each stage; `execute` is needed, the others may be null.
struct HandlerBundle {
  FARCALL_FFI_Handler* instantiate = nullptr;
  FARCALL_FFI_Handler* prepare = nullptr;
  FARCALL_FFI_Handler* initialize = nullptr;
  FARCALL_FFI_Handler* execute = nullptr;
  FARCALL_FFI_Handler* record = nullptr;
};

// A C++ function with state of its own that acts as an execute handler. It is called from several
// threads at once when programs run so. An exception that it throws reaches the caller of the
// program as it is. The callable lives as long as its target.
using HandlerFunction = std::function<FARCALL_FFI_Error*(FARCALL_FFI_CallFrame*)>;

template <typename F>
concept HandlerCallable = std::is_class_v<std::remove_cvref_t<F>> &&
    std::is_invocable_r_v<FARCALL_FFI_Error*, F&, FARCALL_FFI_CallFrame*>;

// What is registered under a name on a platform.
class FARCALL_API Target {
 public:
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  const std::string& name() const { return name_; }
  // In its canonical form: "cpu", "cuda", ...
  const std::string& platform() const { return platform_; }
  // Without a call frame: the calling conventions before version 4.
  bool is_untyped() const { return untyped_ != nullptr; }
  bool has_stage(Stage stage) const { return handler(stage) != nullptr; }
  // What the execute handler was built for.
  ApiVersion version() const { return version(Stage::kExecute); }
  // Stages of one target may come from different builds.
  ApiVersion version(Stage stage) const { return stages_[static_cast<size_t>(stage)].version; }
  // Those given when it was registered, and those that the handlers state themselves.
  FARCALL_FFI_Handler_Traits traits() const { return traits_; }
  bool is_command_buffer_compatible() const {
    return (traits_ & FARCALL_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE) != 0;
  }
  // The type of the state that the instantiate stage makes; 0 when there is none or the handler
  // does not say.
  int64_t state_type_id() const;

  // What its handlers say of the attributes' types; worked out when first asked for. Empty when
  // they do not describe themselves.
  const AttributeTypes& attribute_types() const;

  FARCALL_FFI_Handler* handler(Stage stage) const {
    return stages_[static_cast<size_t>(stage)].handler;
  }
  // Null unless this is a C++ callable.
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
  mutable std::once_flag has_attribute_types_;
  mutable AttributeTypes attribute_types_;
};

// Platforms: cpu (or host), cuda, rocm, gpu (cuda and rocm), tpu, oneapi, metal; case does not
// matter. Raises INVALID_ARGUMENT for any other.
FARCALL_API std::vector<std::string> parse_platform(std::string_view platform);

// Registers typed handlers (api_version 1). The same handlers again are no error; others under a
// taken name raise ALREADY_EXISTS, a bundle with no execute stage INVALID_ARGUMENT. With
// api_version 0 the execute pointer is an untyped function, see register_legacy_target.
FARCALL_API void register_ffi_target(std::string_view name, const HandlerBundle& bundle,
                                     std::string_view platform = "cpu", int api_version = 1,
                                     FARCALL_FFI_Handler_Traits traits = 0);
FARCALL_API void register_ffi_target(std::string_view name, FARCALL_FFI_Handler* execute,
                                     std::string_view platform = "cpu", int api_version = 1,
                                     FARCALL_FFI_Handler_Traits traits = 0);
// A callable is never the same as another one, so a name can be given once.
FARCALL_API void register_ffi_callable(std::string_view name, HandlerFunction callable,
                                       std::string_view platform = "cpu",
                                       FARCALL_FFI_Handler_Traits traits = 0);
template <HandlerCallable F>
void register_ffi_target(std::string_view name, F&& callable, std::string_view platform = "cpu",
                         FARCALL_FFI_Handler_Traits traits = 0) {
  register_ffi_callable(name, HandlerFunction(std::forward<F>(callable)), platform, traits);
}

// An untyped function: what custom_call_api_version 0 to 3 call, each with arguments of its own.
FARCALL_API void register_legacy_target(std::string_view name, void* function,
                                        std::string_view platform = "cpu",
                                        FARCALL_FFI_Handler_Traits traits = 0);

// A target that no name finds, for whoever holds it: callbacks, tests.
FARCALL_API std::shared_ptr<const Target> make_target(std::string_view name,
                                                      HandlerFunction callable,
                                                      std::string_view platform = "cpu",
                                                      FARCALL_FFI_Handler_Traits traits = 0);
FARCALL_API std::shared_ptr<const Target> make_target(std::string_view name,
                                                      const HandlerBundle& bundle,
                                                      std::string_view platform = "cpu",
                                                      FARCALL_FFI_Handler_Traits traits = 0);

// Raises NOT_FOUND, with the platforms where the name is known and names like it, and
// FAILED_PRECONDITION for handlers built for a newer interface than ours.
FARCALL_API std::shared_ptr<const Target> find_target(std::string_view name,
                                                      std::string_view platform = "cpu",
                                                      int custom_call_api_version = 4);
// States that a call of the target on part of a batch (the leading dimensions of all its buffers)
// gives that part of the results, so that a batch may be spread over devices. Before or after the
// target itself is registered, for all platforms.
FARCALL_API void register_ffi_target_as_batch_partitionable(std::string_view name);
FARCALL_API bool is_batch_partitionable(std::string_view name);

// What the handlers of a target say of its attributes' types, on the first platform where they
// describe themselves. Null when nothing is known.
FARCALL_API std::shared_ptr<const AttributeTypes> declared_attributes(std::string_view name);
// Another number after each registration.
FARCALL_API uint64_t registry_version();

// Of either kind.
FARCALL_API bool is_registered(std::string_view name, std::string_view platform = "cpu");
// Sorted.
FARCALL_API std::vector<std::string> registered_targets(std::string_view platform = "cpu");

// ---- types of state and user data ----

// `*type_id` of 0 receives an id that no other type of the process has; another value is taken as
// the type's id. The same again is no error, in any order with the targets that use the type; a
// name with another id or deleter, or an id with another name, raises ALREADY_EXISTS. `type_info`
// points at either of the two structs that the interface had: one begins with its size, the other
// is a deleter alone. Without it, the type can be user data, and state of handlers older than 0.2.
FARCALL_API void register_ffi_type(std::string_view name, FARCALL_FFI_TypeId* type_id,
                                   const void* type_info = nullptr);
// Null when there is none of this id.
FARCALL_API const std::string* ffi_type_name(int64_t type_id);

}  // namespace farcall
