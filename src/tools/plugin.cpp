#include "tools/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include <farcall/core/environment.h>
#include <farcall/core/quote.h>

#include "tools/child.h"
#include "tools/elf_file.h"
#include "tools/failure.h"
#include "tools/terminal.h"

namespace farcall::tools {
namespace {

constexpr double kPluginLoadSeconds = 30;

std::string path_of_plugin(const std::string& installed) {
  if (std::string path = environment("FARCALL_PJRT_PLUGIN"); !path.empty()) return path;
  const std::string list = environment("PJRT_NAMES_AND_LIBRARY_PATHS");
  const std::string first = list.substr(0, list.find(','));
  if (const size_t colon = first.find(':'); colon != std::string::npos)
    return first.substr(colon + 1);
  return installed;
}

// The first fields of PJRT_Api, which are the same in all versions.
struct ApiHead {
  size_t struct_size;
  void* extension;
  struct {
    size_t struct_size;
    void* extension;
    int major, minor;
  } version;
};

void write_version(const std::string& path, int fd) {
  be_silent();
  setenv("TF_CPP_MIN_LOG_LEVEL", "2", 0);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return write_all(fd, fmt::format("cannot be loaded: {}", dlerror()));
  const auto get_api = reinterpret_cast<const ApiHead* (*)()>(dlsym(library, "GetPjrtApi"));
  const ApiHead* api = get_api ? get_api() : nullptr;
  if (!api) return write_all(fd, "GetPjrtApi returned null");
  write_all(fd, fmt::format("={}.{}", api->version.major, api->version.minor));
}

}  // namespace

std::string PjrtPlugin::to_string() const {
  if (path.empty()) return "none";
  return problem.empty() ? fmt::format("{}, interface {}", path, version)
                         : fmt::format("{}: {}", path, problem);
}

PjrtPlugin find_pjrt_plugin(const std::string& installed) {
  PjrtPlugin plugin = {.path = path_of_plugin(installed), .version = {}, .problem = {}};
  if (plugin.path.empty()) return plugin;
  try {
    const ElfFile file = read_elf(plugin.path);
    const auto is_entry = [](const ElfSymbol& s) {
      return s.is_exported && s.name == "GetPjrtApi";
    };
    if (std::ranges::none_of(file.symbols, is_entry)) {
      plugin.problem = "it has no function GetPjrtApi";
      return plugin;
    }
  } catch (const Failure& failure) {
    plugin.problem = failure.what();
    return plugin;
  }
  const ChildResult answer =
      run_in_child([&](int fd) { write_version(plugin.path, fd); }, kPluginLoadSeconds);
  if (answer.is_timed_out) {
    plugin.problem = "loading it takes too long";
  } else if (answer.signal != 0) {
    plugin.problem = fmt::format("loading it ends in {}", with_article(signal_text(answer.signal)));
  } else if (answer.output.starts_with('=')) {
    plugin.version = answer.output.substr(1);
    if (!plugin.version.starts_with("0."))
      plugin.problem = fmt::format("it has interface {}; farcall uses 0.x", plugin.version);
  } else {
    plugin.problem = answer.output.empty() ? "it does not answer" : answer.output;
  }
  return plugin;
}

}  // namespace farcall::tools
