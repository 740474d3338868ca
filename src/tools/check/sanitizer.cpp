#include "tools/check/sanitizer.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include "tools/child.h"

namespace farcall::tools::sanitizer {
namespace {

// GCC's and Clang's.
constexpr const char* kRuntimes[] = {"libasan.so", "libclang_rt.asan"};
constexpr const char* kRestarted = "FARCALL_STARTED_WITH_SANITIZER";

template <class F>
F* function(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
}

using Change = void(const volatile void*, size_t);
void (*g_on_report)(const Report&) = nullptr;

// Reads the first stack of a report: lines "    #0 0x7f0123 in …", up to an empty line.
int read_stack(const char* text, std::span<const void*> calls) {
  size_t count = 0;
  const char* next = std::strstr(text, "    #0 0x");
  for (; next && count < calls.size() && std::strncmp(next, "    #", 5) == 0; ++next) {
    const char* number = std::strstr(next, "0x");
    if (!number) break;
    calls[count++] = reinterpret_cast<const void*>(std::strtoull(number, nullptr, 16));
    next = std::strchr(next, '\n');
    if (!next) break;
  }
  return static_cast<int>(count);
}

void report(const char* text) {
  static const auto address = function<void*()>("__asan_get_report_address");
  static const auto access = function<int()>("__asan_get_report_access_type");
  static const auto size = function<size_t()>("__asan_get_report_access_size");
  static const auto description = function<const char*()>("__asan_get_report_description");
  if (!address || !access || !size || !description) return;
  Report found = {
      reinterpret_cast<uintptr_t>(address()), access() == 1, size(), description(), {}, 0};
  found.num_calls = read_stack(text, found.calls);
  g_on_report(found);
}

// The runtime that the library loads (GCC's), or the one of Clang, whose libraries do not name it.
std::string runtime_of(const std::string& library) {
  std::ifstream in(library, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  for (const char* prefix : kRuntimes) {
    const size_t begin = bytes.find(prefix);
    if (begin != std::string::npos) return bytes.c_str() + begin;
  }
  const ChildResult found =
      run_program({"clang", "-print-file-name=libclang_rt.asan-x86_64.so"}, /*timeout_seconds=*/10);
  return found.is_fine() ? found.output.substr(0, found.output.find('\n')) : "";
}

std::string joined(const char* name, const std::string& added, char separator) {
  const char* before = std::getenv(name);
  return before && *before ? fmt::format("{}{}{}", added, separator, before) : added;
}

}  // namespace

bool is_runtime(std::string_view library) {
  return std::ranges::any_of(
      kRuntimes, [&](const char* name) { return library.find(name) != std::string_view::npos; });
}

std::string restart_for(const std::string& library) {
  const std::string runtime = runtime_of(library);
  if (std::getenv(kRestarted))
    return fmt::format("the sanitizer's runtime {} does not load", runtime);
  if (runtime.empty()) return "the sanitizer's runtime is not installed (Debian: libclang-rt-dev)";
  // Signals are this command's, leaks too.
  const std::string options =
      "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:handle_sigill=0:"
      "use_sigaltstack=0:detect_leaks=0:allocator_may_return_null=1";
  setenv("ASAN_OPTIONS", joined("ASAN_OPTIONS", options, ':').c_str(), 1);
  setenv("LD_PRELOAD", joined("LD_PRELOAD", runtime, ' ').c_str(), 1);
  setenv(kRestarted, "1", 1);
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
  return "the command cannot be started again";
}

void forget_restart() {
  if (!std::getenv(kRestarted)) return;
  unsetenv("LD_PRELOAD");
}

void forbid(std::span<const std::byte> bytes) {
  static const auto change = function<Change>("__asan_poison_memory_region");
  if (change) change(bytes.data(), bytes.size());
}

void allow(std::span<const std::byte> bytes) {
  static const auto change = function<Change>("__asan_unpoison_memory_region");
  if (change) change(bytes.data(), bytes.size());
}

void set_handler(void (*on_report)(const Report& report)) {
  g_on_report = on_report;
  const auto set = function<void(void (*)(const char*))>("__asan_set_error_report_callback");
  if (set) set(report);
}

}  // namespace farcall::tools::sanitizer
