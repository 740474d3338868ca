// Plugin: a shared library that offers the PJRT C interface.
#pragma once

#include <string>
#include <utility>

#include "pjrt/c_api.h"

namespace farcall::pjrt {

// The path of the plugin. FARCALL_PJRT_PLUGIN is a path, or a name among those of
// PJRT_NAMES_AND_LIBRARY_PATHS ("name:path,name:path") or of the front end's finder; if it is not
// set, the first of these. Empty if there is none; the name if nothing has it.
std::string find_plugin();

// Never unloaded: a plugin has threads and objects that live until the process ends.
class Plugin {
 public:
  // Raises UNAVAILABLE with the path and the reason: no file, not a library for this machine, not a
  // plugin, or another version of the interface.
  explicit Plugin(std::string path);

  const std::string& path() const { return path_; }

  // Calls a function of the interface. Raises its error, prefixed by the function's name.
  template <class Args>
  void call(Args& args) const {
    if (CError* error = call_raw(args)) raise(error, Args::kName);
  }
  // Like call(), for functions that do not fail or whose failure does not matter.
  template <class Args>
  void call_quietly(Args& args) const {
    if (CError* error = call_raw(args)) destroy(error);
  }
  template <class Args>
  bool has() const {
    return has_function(Args::kFunction);
  }

  // Waits for an event, destroys it, and raises its error, if any.
  void await(CEvent* event) const;
  void destroy(CEvent* event) const;
  void destroy(CError* error) const;

  // Whether it has the extension of plugins for GPUs.
  bool is_for_gpus() const { return extension(kGpuExtension) != nullptr; }
  // Adds a handler to the plugin's registry. Raises UNIMPLEMENTED if the plugin has no registry.
  void register_handler(const std::string& target, void* handler,
                        const std::string& platform) const;
  // Adds an untyped function. Raises UNIMPLEMENTED if this is not a GPU's plugin.
  void register_untyped(const std::string& target, void* function) const;
  // Offers `data` to the handlers of an execution. The type must be registered with the plugin.
  void add_user_data(CExecuteContext* context, int64_t type_id, void* data) const;

 private:
  template <class Args>
  CError* call_raw(Args& args) const {
    args.struct_size = sizeof(Args);
    return reinterpret_cast<CError* (*)(Args*)>(api_->functions[Args::kFunction])(&args);
  }
  bool has_function(size_t number) const;
  // Null if the plugin does not have it.
  CExtension* extension(int type) const;
  const CFfiExtension& handler_extension() const;
  [[noreturn]] void raise(CError* error, const char* function) const;

  std::string path_;
  const CApi* api_;
};

}  // namespace farcall::pjrt
