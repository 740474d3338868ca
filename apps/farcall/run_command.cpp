// run and trace start farcall-run, a separate program that links the library: the command itself
// contains no engine.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "farcall/commands.h"
#include "farcall/run_options.h"
#include "tools/failure.h"

namespace farcall::command {
namespace {

namespace fs = std::filesystem;

// Looks beside the command, then in the Python package that was installed with it.
fs::path find_runner() {
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<fs::path> candidates = {folder / "farcall-run"};
  for (const char* lib : {"lib", "lib64"}) {
    for (const auto& entry : fs::directory_iterator(folder.parent_path() / lib, ignored)) {
      if (!entry.path().filename().string().starts_with("python")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        candidates.push_back(entry.path() / packages / "farcall" / "farcall-run");
      }
    }
  }
  for (const fs::path& candidate : candidates) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw tools::Failure(
      tools::kCouldNotRun,
      fmt::format("farcall-run, which runs programs, is neither in {} nor in a Python package "
                  "beside it: install farcall as a whole.",
                  folder.string()));
}

// The arguments of this process. CLI11 does not keep them: it accepts options in any order.
std::vector<std::string> own_arguments() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string word; std::getline(in, word, '\0');) arguments.push_back(word);
  return arguments;
}

int start_runner() {
  const std::string runner = find_runner();
  const std::vector<std::string> arguments = own_arguments();
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(runner.c_str(), argv.data());
  throw tools::Failure(tools::kCouldNotRun, fmt::format("{} does not start.", runner));
}

}  // namespace

Action add_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  add_run_options(app, *options);
  return [options] { return start_runner(); };
}

Action add_trace(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  add_trace_options(app, *options);
  return [options] { return start_runner(); };
}

}  // namespace farcall::command
