// Construction of targets, and their comparison with registered ones.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/ffi/registry.h>

namespace farcall {

// Creates targets on one canonical platform. Queries each handler once.
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

  // Gives a callable the description of the handlers that it calls: traits and types of attributes.
  static void describe_as(Target& target, const Target& called);

  // How `wanted` differs from `existing`, for a message: "another execute handler, traits 1 instead
  // of 0". Empty if they are the same.
  static std::string differences(const Target& existing, const Target& wanted);
  // Whether typed() would make a target like this one.
  static bool has_handlers(const Target& existing, const HandlerBundle& bundle,
                           FARCALL_FFI_Handler_Traits traits);
  // Raises FAILED_PRECONDITION if a handler needs a newer runtime than this one.
  static void check_versions(const Target& target);
};

// Registers all of them or none. Raises ALREADY_EXISTS.
void insert_targets(std::vector<std::shared_ptr<Target>> wanted);

}  // namespace farcall
