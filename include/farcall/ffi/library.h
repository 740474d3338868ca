// Shared libraries with handlers.
#pragma once

#include <string>

#include <farcall/abi.h>
#include <farcall/core/export.h>

namespace farcall {

// A handle to a loaded library. The library stays loaded for the life of the process, even without
// handles, because registered handlers and deleters of their state point into it.
class FARCALL_API Library {
 public:
  const std::string& path() const { return path_; }
  // Null if the library exports no such name.
  void* find_symbol(const std::string& name) const;
  // Raises NOT_FOUND if the library exports no such name.
  void* symbol(const std::string& name) const;
  FARCALL_FFI_Handler* handler(const std::string& name) const {
    return reinterpret_cast<FARCALL_FFI_Handler*>(symbol(name));
  }

 private:
  friend FARCALL_API Library load_library(const std::string& path);

  Library(std::string path, void* handle) : path_(std::move(path)), handle_(handle) {}

  std::string path_;
  void* handle_;
};

// Loads a library; does not register its handlers. Raises NOT_FOUND if there is no such file,
// FAILED_PRECONDITION with the loader's reason if it does not load.
FARCALL_API Library load_library(const std::string& path);

}  // namespace farcall
