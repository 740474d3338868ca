// How targets are made, and compared with what is registered already.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/ffi/registry.h>

namespace farcall {

// Makes targets on one canonical platform. Handlers are asked what they are here, once.
class TargetBuilder {
 public:
  static std::shared_ptr<Target> typed(std::string_view name, std::string_view platform,
                                       const HandlerBundle& bundle,
                                       FARCALL_FFI_Handler_Traits traits);
  static std::shared_ptr<Target> callable(std::string_view name, std::string_view platform,
                                          HandlerFunction function,
                                          FARCALL_FFI_Handler_Traits traits);
  static std::shared_ptr<Target> untyped(std::string_view name, std::string_view platform,
                                         void* function, FARCALL_FFI_Handler_Traits traits);

  // Gives a callable the description of the handlers that it calls: traits, types of attributes.
  static void describe_as(Target& target, const Target& called);

  // What `wanted` has that `existing` has not, for a message: "another execute handler and other
  // traits"; empty when they are the same.
  static std::string differences(const Target& existing, const Target& wanted);
  // FAILED_PRECONDITION when a handler needs a newer runtime than this one.
  static void check_versions(const Target& target);
};

// Registers all of them or none. Raises ALREADY_EXISTS.
void insert_targets(std::vector<std::shared_ptr<Target>> wanted);

}  // namespace farcall
