#include <farcall/ffi/library.h>

#include <dlfcn.h>

#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "ffi/custom_call_status.h"

namespace farcall {
namespace {

// Libraries of untyped handlers look up the status functions among the global symbols. This
// library's symbols are not global when it was loaded as a plug-in, as Python does.
void make_own_symbols_global() {
  Dl_info info;
  const auto* own = reinterpret_cast<const void*>(&XlaCustomCallStatusSetFailure);
  if (dladdr(own, &info) != 0) dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

std::string_view hint_for(std::string_view reason) {
  if (reason.find("undefined symbol") != std::string_view::npos) {
    return "It needs a library that is not loaded; link it against that one, or load that first.";
  }
  if (reason.find("ELF") != std::string_view::npos ||
      reason.find("file too short") != std::string_view::npos) {
    return "It is not a shared library for this machine.";
  }
  return "Check with ldd which of its libraries are missing.";
}

}  // namespace

void* Library::find_symbol(const std::string& name) const { return dlsym(handle_, name.c_str()); }

void* Library::symbol(const std::string& name) const {
  if (void* address = find_symbol(name)) return address;
  throw Error(ErrorCode::kNotFound,
              fmt::format("library \"{}\": no symbol \"{}\". Export the handler with extern \"C\" "
                          "and default visibility.",
                          path_, name));
}

Library load_library(const std::string& path) {
  // The loader searches its own folders for a bare name.
  if (path.find('/') != std::string::npos && !std::filesystem::exists(path)) {
    throw Error(ErrorCode::kNotFound, fmt::format("library \"{}\": no such file", path));
  }
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string reason;
  if (handle == nullptr) {
    reason = dlerror();
    if (reason.find("XlaCustomCallStatus") != std::string::npos) {
      make_own_symbols_global();
      handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle == nullptr) reason = dlerror();
    }
  }
  if (handle != nullptr) return Library(path, handle);
  throw Error(ErrorCode::kFailedPrecondition,
              fmt::format("library \"{}\" does not load: {}. {}", path, reason, hint_for(reason)));
}

}  // namespace farcall
