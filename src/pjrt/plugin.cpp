#include "pjrt/plugin.h"

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <farcall/core/environment.h>
#include <farcall/core/error.h>
#include <farcall/program/plugins.h>

namespace farcall {
namespace {
PluginFinder plugin_finder = nullptr;
}  // namespace

void set_plugin_finder(PluginFinder finder) { plugin_finder = finder; }

namespace pjrt {
namespace {

constexpr int kMajorVersion = 0;

// Plugins log through a library that reads this variable once.
void quiet_logs() { setenv("TF_CPP_MIN_LOG_LEVEL", "2", /*overwrite=*/0); }

constexpr Elf64_Half kMachine =
#if defined(__x86_64__)
    EM_X86_64;
#elif defined(__aarch64__)
    EM_AARCH64;
#else
    EM_NONE;
#endif

// Why the file is not a shared library for this machine; empty if it is. The loader's messages are
// less clear, and it crashes the process if the file is truncated.
std::string why_no_library(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto read = [&](uint64_t offset, auto& out) {
    file.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file.read(reinterpret_cast<char*>(&out), sizeof(out)));
  };
  Elf64_Ehdr header{};
  if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return "is not a shared library";
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      (kMachine != EM_NONE && header.e_machine != kMachine)) {
    return fmt::format("is built for another machine (ELF machine {})", header.e_machine);
  }
  const uint64_t size = std::filesystem::file_size(path);
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    const bool is_read = read(header.e_phoff + i * sizeof(part), part);
    if (!is_read || part.p_offset > size || part.p_filesz > size - part.p_offset) {
      return fmt::format("is truncated: it has {} bytes, but its header requires more", size);
    }
  }
  return "";
}

}  // namespace

std::string find_plugin() {
  std::string named = environment("FARCALL_PJRT_PLUGIN");
  if (named.find('/') != std::string::npos || std::filesystem::is_regular_file(named)) return named;
  const std::string list = environment("PJRT_NAMES_AND_LIBRARY_PATHS");
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const size_t colon = entry.find(':');
    if (colon == std::string_view::npos) continue;
    if (named.empty() || entry.substr(0, colon) == named)
      return std::string(entry.substr(colon + 1));
  }
  std::string found = plugin_finder ? plugin_finder(named) : "";
  return found.empty() ? named : found;
}

Plugin::Plugin(std::string path) : path_(std::move(path)) {
  const auto fail = [&](std::string_view what) {
    throw Error(ErrorCode::kUnavailable, fmt::format("pjrt: plugin \"{}\": {}", path_, what));
  };
  if (!std::filesystem::is_regular_file(path_)) {
    const bool is_name = path_.find('/') == std::string::npos;
    fail(is_name ? "there is no such file, and no plugin of this name" : "there is no such file");
  }
  if (const std::string why = why_no_library(path_); !why.empty()) fail(why);
  quiet_logs();
  void* library = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(fmt::format("cannot be loaded: {}", dlerror()));
  auto* get_api = reinterpret_cast<GetApi*>(dlsym(library, "GetPjrtApi"));
  if (!get_api) fail("is not a PJRT plugin: it has no function GetPjrtApi");
  api_ = get_api();
  if (!api_) fail("GetPjrtApi returned null");
  if (api_->version.major != kMajorVersion) {
    fail(fmt::format("has version {}.{} of the interface; this farcall uses {}.x",
                     api_->version.major, api_->version.minor, kMajorVersion));
  }
  if (!has<BufferUnsafePointer>()) {
    fail(fmt::format("version {}.{} of the interface lacks functions; get a newer plugin",
                     api_->version.major, api_->version.minor));
  }
  PluginInitialize initialize{};
  call(initialize);
}

bool Plugin::has_function(size_t number) const {
  return offsetof(CApi, functions) + (number + 1) * sizeof(void*) <= api_->struct_size &&
         api_->functions[number] != nullptr;
}

void Plugin::destroy(CError* error) const {
  ErrorDestroy args{};
  args.error = error;
  call_raw(args);
}

void Plugin::destroy(CEvent* event) const {
  EventDestroy args{};
  args.event = event;
  call_quietly(args);
}

void Plugin::raise(CError* error, const char* function) const {
  ErrorMessage message{};
  message.error = error;
  call_raw(message);
  ErrorGetCode code{};
  code.error = error;
  call_quietly(code);
  const std::string text(message.message, message.size);
  destroy(error);
  const bool is_known = code.code > 0 && code.code <= static_cast<int>(ErrorCode::kUnauthenticated);
  throw Error(is_known ? static_cast<ErrorCode>(code.code) : ErrorCode::kUnknown,
              fmt::format("pjrt: {}: {}", function, text));
}

void Plugin::await(CEvent* event) const {
  EventAwait args{};
  args.event = event;
  CError* error = call_raw(args);
  destroy(event);
  if (error) raise(error, EventAwait::kName);
}

CExtension* Plugin::extension(int type) const {
  CExtension* found = api_->extension_start;
  while (found && found->type != type) found = found->next;
  return found;
}

const CFfiExtension& Plugin::handler_extension() const {
  if (const CExtension* found = extension(kFfiExtension)) {
    return *static_cast<const CFfiExtension*>(found);
  }
  throw Error(ErrorCode::kUnimplemented,
              fmt::format("pjrt: plugin \"{}\" has no handler registry, so its programs "
                          "cannot call foreign code",
                          path_));
}

void Plugin::register_handler(const std::string& target, void* handler,
                              const std::string& platform) const {
  CFfiRegisterHandler args{.struct_size = sizeof(CFfiRegisterHandler),
                           .target_name = target.data(),
                           .target_name_size = target.size(),
                           .handler = handler,
                           .platform_name = platform.data(),
                           .platform_name_size = platform.size(),
                           .traits = 0};
  if (CError* error = handler_extension().register_handler(&args)) raise(error, "RegisterHandler");
}

void Plugin::register_untyped(const std::string& target, void* function) const {
  CExtension* found = extension(kGpuExtension);
  if (!found) {
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("pjrt: \"{}\" is an untyped target, which plugin \"{}\" cannot call; "
                            "write it as a typed handler",
                            target, path_));
  }
  CGpuRegisterCustomCall args{.struct_size = sizeof(CGpuRegisterCustomCall),
                              .target_name = target.data(),
                              .target_name_size = target.size(),
                              .api_version = 0,
                              .instantiate = nullptr,
                              .prepare = nullptr,
                              .initialize = nullptr,
                              .execute = function};
  if (CError* error = static_cast<CGpuExtension*>(found)->register_custom_call(&args)) {
    raise(error, "RegisterCustomCall");
  }
}

void Plugin::add_user_data(CExecuteContext* context, int64_t type_id, void* data) const {
  CFfiUserDataAdd args{};
  args.struct_size = sizeof(CFfiUserDataAdd);
  args.context = context;
  args.type_id = type_id;
  args.data = data;
  if (CError* error = handler_extension().user_data_add(&args)) raise(error, "UserDataAdd");
}

}  // namespace pjrt
}  // namespace farcall
