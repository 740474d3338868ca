// farcall env: what a bug report needs to state.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gnu/libc-version.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <farcall/version.h>

#include "farcall/commands.h"
#include "tools/bench/limits.h"
#include "tools/failure.h"
#include "tools/json.h"
#include "tools/operand.h"
#include "tools/python.h"

extern char** environ;

namespace farcall::command {
namespace {

// Prints what is installed, without importing farcall: the interpreter, the packages, the location
// of the package farcall, and the PJRT plugin that a package provides.
constexpr std::string_view kAskPython = R"py(
import importlib.util, platform, sys
from importlib import metadata
def version(name):
    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return ""
print(f"{platform.python_implementation()} {sys.version.split()[0]} ({sys.executable})")
names = ("farcall", "numpy", "ml_dtypes", "jax", "jaxlib", "torch", "scipy")
print(", ".join(filter(None, map(version, names))))
spec = importlib.util.find_spec("farcall")
folder = spec.submodule_search_locations[0] if spec else ""
print(folder)
if spec:
    part = importlib.util.spec_from_file_location("plugins", folder + "/_plugins.py")
    plugins = importlib.util.module_from_spec(part)
    part.loader.exec_module(plugins)
    print(plugins.find_plugin())
)py";

std::string variables() {
  std::vector<std::string> found;
  for (char** variable = environ; *variable; ++variable) {
    if (std::string_view(*variable).starts_with("FARCALL_")) found.emplace_back(*variable);
  }
  std::ranges::sort(found);
  return found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
}

}  // namespace

Environment environment() {
  namespace fs = std::filesystem;
  utsname system = {};
  uname(&system);
  auto python = tools::split(tools::ask_python(std::string(kAskPython)), '\n');
  python.resize(4);
  std::error_code ignored;
  const fs::path own = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path prefix = own.parent_path().parent_path();
  const fs::path package = python[2];
  const bool has_package = !package.empty() && fs::exists(package / "include/farcall/ffi.h");
  const fs::path headers = has_package ? package / "include" : prefix / "include";
  const tools::PjrtPlugin plugin = tools::find_pjrt_plugin(python[3]);
  Environment found = {.facts = {}, .plugin = plugin};
  found.facts = {
      {"farcall", FARCALL_VERSION},
      {"packages", python[1].empty() ? "none" : python[1]},
      {"python", python[0].empty() ? "none" : python[0]},
      {"system", fmt::format("{} {}, {}, glibc {}", system.sysname, system.release, system.machine,
                             gnu_get_libc_version())},
      {"processors", std::to_string(tools::num_processors())},
      {"devices", "cpu"},
      {"pjrt", plugin.to_string()},
      {"headers", fs::exists(headers / "farcall/ffi.h") ? headers.string() : "none"},
      {"library", has_package ? (package / "libfarcall.so").string()
                  : fs::exists(prefix / "lib/libfarcall.so")
                      ? (prefix / "lib/libfarcall.so").string()
                      : "none"},
      {"cmake", has_package ? (package / "lib/cmake/farcall").string()
                : fs::exists(prefix / "lib/cmake/farcall") ? (prefix / "lib/cmake/farcall").string()
                                                           : "none"},
      {"command", own.string()},
      {"variables", variables()},
  };
  return found;
}

Action add_env(CLI::App& app) {
  auto is_json = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("env", "Prints versions, machine and folders, for reports of problems.");
  command->add_flag("--json", *is_json, "Print JSON");
  command->footer("Example: farcall env");
  return [is_json] {
    tools::Json json;
    for (const auto& [name, value] : environment().facts) {
      json[name] = value;
      if (!*is_json) fmt::print("{:<12} {}\n", name + ":", value);
    }
    if (*is_json) fmt::print("{}\n", json.dump(2));
    return tools::kFine;
  };
}

}  // namespace farcall::command
