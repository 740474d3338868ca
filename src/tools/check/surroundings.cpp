#include "tools/check/surroundings.h"

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <clocale>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <mutex>

namespace farcall::tools::surroundings {
namespace {

// The library whose requests for environment variables are answered otherwise; null: none.
std::atomic<const void*> g_library{nullptr};

const void* library_of(const void* address) {
  Dl_info info = {};
  return dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

std::atomic<bool> g_has_one_processor{false};

void use_one_processor() {
  g_has_one_processor = true;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof(one), &one);
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
    case kProcessors:
      return "the number of processors";
    default:
      return "the environment of the process";
  }
}

void change(uint8_t which, const void* handler) {
  if ((which & kVariables) != 0) g_library = library_of(handler);
  if ((which & kDirectory) != 0) {
    std::error_code ignored;
    const bool is_root = std::filesystem::current_path(ignored) == "/";
    static_cast<void>(chdir(is_root ? "/proc" : "/"));
  }
  if ((which & kTimeZone) != 0) {
    setenv("TZ", "FAR-5:45", 1);
    tzset();
  }
  if ((which & kLocale) != 0) change_locale();
  if ((which & kProcessors) != 0) use_one_processor();
}

int num_processors(int count) { return g_has_one_processor ? 1 : count; }

const char* variable(const char* name, const char* value, const void* caller) {
  const void* const library = g_library.load(std::memory_order_relaxed);
  if (library == nullptr || library != library_of(caller)) return value;
  // Returned values must stay.
  static auto* const mutex = new std::mutex;
  static auto* const values = new std::map<std::string, std::string>;
  const std::lock_guard lock(*mutex);
  return values->try_emplace(name, std::string(value ? value : "") + "2").first->second.c_str();
}

}  // namespace farcall::tools::surroundings
