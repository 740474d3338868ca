// Shared libraries with handlers.
#pragma once

#include <string>

#include <farcall/abi.h>
#include <farcall/core/export.h>

namespace farcall {

// A handle to a loaded library. It stays loaded for the life of the process, whatever happens to
// the handle: registered handlers and the deleters of their state point into it.
class FARCALL_API Library {
 public:
  const std::string& path() const { return path_; }
  // Null when the library exports no such name.
  void* find_symbol(const std::string& name) const;
  // Raises NOT_FOUND.
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

// Registers nothing by itself. Raises NOT_FOUND when there is no such file, FAILED_PRECONDITION
// when it does not load, with the loader's reason.
FARCALL_API Library load_library(const std::string& path);

}  // namespace farcall
