#include "tools/check/surroundings.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <clocale>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <mutex>

#include <fmt/format.h>

namespace farcall::tools {
namespace {

std::string current_directory() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored);
}

std::string current_locale() {
  const char* locale = std::setlocale(LC_ALL, nullptr);
  return locale ? locale : "";
}

bool is_same(const struct sigaction& a, const struct sigaction& b) {
  return a.sa_handler == b.sa_handler;  // also compares sa_sigaction, which has the same place
}

}  // namespace

ProcessState::ProcessState() : directory_(current_directory()), locale_(current_locale()) {
  for (int i = 1; i < kNumSignals; ++i) sigaction(i, nullptr, &actions_[static_cast<size_t>(i)]);
}

std::string ProcessState::restore() const {
  std::string changed;
  if (current_directory() != directory_) {
    changed = "the current directory changed";
    static_cast<void>(chdir(directory_.c_str()));
  }
  if (current_locale() != locale_) {
    changed = "the locale changed";
    std::setlocale(LC_ALL, locale_.c_str());
  }
  for (int i = 1; i < kNumSignals; ++i) {
    const struct sigaction& before = actions_[static_cast<size_t>(i)];
    struct sigaction now = {};
    if (sigaction(i, nullptr, &now) != 0 || is_same(now, before)) continue;
    changed = fmt::format("the action of signal {} changed", i);
    sigaction(i, &before, nullptr);
  }
  for (const auto& [file, name] :
       {std::pair(STDIN_FILENO, "standard input"), std::pair(STDOUT_FILENO, "standard output"),
        std::pair(STDERR_FILENO, "standard error stream")}) {
    if (fcntl(file, F_GETFD) >= 0) continue;
    changed = fmt::format("the {} closed", name);
    if (const int null = open("/dev/null", O_RDWR); null >= 0 && null != file) {
      dup2(null, file);
      close(null);
    }
  }
  return changed;
}

namespace surroundings {
namespace {

// The library whose requests for environment variables are answered otherwise; null: none.
std::atomic<const void*> g_library{nullptr};

const void* library_of(const void* address) {
  Dl_info info = {};
  return dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

void change_locale() {
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "ru_RU.UTF-8", "C.UTF-8"}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) continue;
    setenv("LC_ALL", locale, 1);
    return;
  }
}

}  // namespace

std::string name(uint8_t one) {
  switch (one) {
    case kVariables:
      return "an environment variable";
    case kDirectory:
      return "the current directory";
    case kTimeZone:
      return "the time zone";
    case kLocale:
      return "the locale";
    default:
      return "the environment of the process";
  }
}

void change(uint8_t which, const void* handler) {
  if ((which & kVariables) != 0) g_library = library_of(handler);
  if ((which & kDirectory) != 0) {
    static_cast<void>(chdir(current_directory() == "/" ? "/proc" : "/"));
  }
  if ((which & kTimeZone) != 0) {
    setenv("TZ", "FAR-5:45", 1);
    tzset();
  }
  if ((which & kLocale) != 0) change_locale();
}

const char* variable(const char* name, const char* value, const void* caller) {
  const void* const library = g_library.load(std::memory_order_relaxed);
  if (library == nullptr || library != library_of(caller)) return value;
  // Returned values must stay.
  static auto* const mutex = new std::mutex;
  static auto* const values = new std::map<std::string, std::string>;
  const std::lock_guard lock(*mutex);
  return values->try_emplace(name, std::string(value ? value : "") + "2").first->second.c_str();
}

}  // namespace surroundings
}  // namespace farcall::tools
