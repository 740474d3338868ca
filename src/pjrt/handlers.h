// The registry of a plugin: handlers that its programs call directly, and the types of their state
// and user data. It is reached through the table of functions that the plugin passes to handlers,
// because the plugin's own function takes no stages and hides errors.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include <farcall/ffi/registry.h>

#include "pjrt/plugin.h"

namespace farcall::pjrt {

class Handlers {
 public:
  // `platform` in canonical form: "cpu", "cuda", ... Both must outlive this object.
  Handlers(const Plugin& plugin, std::string_view platform)
      : plugin_(plugin), platform_(platform) {}

  // Registers all stages of a target, with its traits and the type of its state. Later calls with
  // the same target do nothing. Raises UNIMPLEMENTED for a C++ callable, and for an untyped
  // function if the plugin is not a GPU's; FAILED_PRECONDITION if the plugin refuses a handler.
  void add(const Target& target);
  // Registers a type of farcall's registry under the same id. Ids that are unknown here are left to
  // the plugin.
  void add_type(int64_t type_id);

 private:
  const FARCALL_FFI_Api& api();
  void add_stages(const Target& target);
  void add_type_locked(int64_t type_id);
  void check(FARCALL_FFI_Error* error, std::string_view what);

  const Plugin& plugin_;
  const std::string platform_;
  std::mutex mutex_;
  const FARCALL_FFI_Api* api_ = nullptr;
  std::set<std::pair<std::string, bool>> targets_;  // name, is_untyped
  std::set<int64_t> types_;
};

}  // namespace farcall::pjrt
