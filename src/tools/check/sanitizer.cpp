#include "tools/check/sanitizer.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/child.h"

namespace farcall::tools::sanitizer {
namespace {

struct Sanitizer {
  std::string_view name;    // of the compiler's flag
  const char* runtimes[2];  // GCC's and Clang's
  const char* init;         // a function of the runtime
  const char* variable;     // for options
  const char* options;
};
// Signals are this command's, leaks too.
#define FARCALL_NO_SIGNALS                                                                        \
  "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:handle_sigill=0:use_sigaltstack=" \
  "0:"
constexpr Sanitizer kSanitizers[] = {
    {"address",
     {"libasan.so", "libclang_rt.asan"},
     "__asan_init",
     "ASAN_OPTIONS",
     FARCALL_NO_SIGNALS "detect_leaks=0:allocator_may_return_null=1"},
    {"thread",
     {"libtsan.so", "libclang_rt.tsan"},
     "__tsan_init",
     "TSAN_OPTIONS",
     FARCALL_NO_SIGNALS
     "ignore_noninstrumented_modules=1:exitcode=0:report_thread_leaks=0:report_signal_unsafe=0:"
     "report_mutex_bugs=0:allocator_may_return_null=1"},
    {"undefined",
     {"libubsan.so", "libclang_rt.ubsan_standalone"},
     "__ubsan_get_current_report_data",
     "UBSAN_OPTIONS",
     FARCALL_NO_SIGNALS}};
#undef FARCALL_NO_SIGNALS
constexpr const char* kRestarted = "FARCALL_STARTED_WITH_SANITIZER";

const Sanitizer* find_sanitizer(std::string_view name) {
  const auto found = std::ranges::find(kSanitizers, name, &Sanitizer::name);
  return found == std::end(kSanitizers) ? nullptr : found;
}

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
  Report found = {.kind = Kind::kAddress,
                  .address = reinterpret_cast<uintptr_t>(address()),
                  .is_write = access() == 1,
                  .nbytes = size(),
                  .description = description()};
  found.num_calls = read_stack(text, found.calls);
  g_on_report(found);
}

// Called by ThreadSanitizer's runtime; `report` is valid until this returns.
[[maybe_unused]] void report_race(void* report) {
  using Data =
      int(void*, const char**, int*, int*, int*, int*, int*, int*, int*, void**, uintptr_t);
  static const auto get_data = function<Data>("__tsan_get_report_data");
  int counts[7] = {};  // duplicates, stacks, accesses, locations, mutexes, threads, their ids
  const char* description = nullptr;
  void* trace[1] = {};
  if (!get_data || !get_data(report, &description, &counts[0], &counts[1], &counts[2], &counts[3],
                             &counts[4], &counts[5], &counts[6], trace, std::size(trace))) {
    return;
  }
  const int num_accesses = counts[2];
  if (num_accesses == 0) return;  // another report, such as of a signal handler
  using Mop = int(void*, uintptr_t, int*, void**, int*, int*, int*, void**, uintptr_t);
  static const auto get_access = function<Mop>("__tsan_get_report_mop");
  if (!get_access) return;
  Report found = {.kind = Kind::kThread, .description = "data-race"};
  int thread = 0, nbytes = 0, is_write = 0, is_atomic = 0;
  void* address = nullptr;
  void* calls[std::size(Report{}.calls)] = {};
  if (!get_access(report, 0, &thread, &address, &nbytes, &is_write, &is_atomic, calls,
                  std::size(calls))) {
    return;
  }
  found.address = reinterpret_cast<uintptr_t>(address);
  found.is_write = is_write != 0;
  found.nbytes = static_cast<size_t>(nbytes);
  while (found.num_calls < static_cast<int>(std::size(calls)) && calls[found.num_calls]) {
    found.calls[found.num_calls] = calls[found.num_calls];
    ++found.num_calls;
  }
  g_on_report(found);
}

// Called by UndefinedBehaviorSanitizer's runtime.
[[maybe_unused]] void report_undefined() {
  using Get = void(const char**, const char**, const char**, unsigned*, unsigned*, char**);
  const auto get = function<Get>("__ubsan_get_current_report_data");
  if (!get) return;
  Report found = {.kind = Kind::kUndefined};
  unsigned column = 0;
  char* address = nullptr;
  get(&found.description, &found.message, &found.file, &found.line, &column, &address);
  found.address = reinterpret_cast<uintptr_t>(address);
  g_on_report(found);
}

// The address that the runtime knows an event by. The event's own memory may be free already.
const void* key_of(const void* event) {
  static char keys[4096];
  return &keys[reinterpret_cast<uintptr_t>(event) / 16 * 0x9e3779b97f4a7c15 >> 52];
}

// The runtime that the library loads (GCC's), or the one of Clang, whose libraries do not name it.
std::string runtime_of(const std::string& library, const Sanitizer& sanitizer) {
  std::ifstream in(library, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  for (const char* prefix : sanitizer.runtimes) {
    const size_t begin = bytes.find(prefix);
    if (begin != std::string::npos) return bytes.c_str() + begin;
  }
  const ChildResult found =
      run_program({"clang", fmt::format("-print-file-name={}-x86_64.so", sanitizer.runtimes[1])},
                  /*timeout_seconds=*/10);
  // Clang repeats the name of a file that it does not have.
  const std::string path = found.output.substr(0, found.output.find('\n'));
  return found.is_fine() && path.starts_with('/') ? path : "";
}

std::string joined(const char* name, const std::string& added, char separator) {
  const char* before = std::getenv(name);
  return before && *before ? fmt::format("{}{}{}", added, separator, before) : added;
}

}  // namespace

bool is_runtime(std::string_view library) {
  return std::ranges::any_of(kSanitizers, [&](const Sanitizer& each) {
    return std::ranges::any_of(each.runtimes, [&](const char* name) {
      return library.find(name) != std::string_view::npos;
    });
  });
}

bool can_preload(std::string_view sanitizer) { return find_sanitizer(sanitizer) != nullptr; }

bool is_loaded(std::string_view sanitizer) {
  const Sanitizer* found = find_sanitizer(sanitizer);
  return found && dlsym(RTLD_DEFAULT, found->init);
}

namespace {

bool is_in_process([[maybe_unused]] const std::string& name) {
#ifdef FARCALL_HAS_SANITIZER
  return true;
#else
  return is_loaded(name);
#endif
}

}  // namespace

std::string problem_of(const ElfFile& file) {
  if (file.sanitizer.empty() || is_in_process(file.sanitizer)) return "";
  if (file.sanitizer == "memory") {
    return "it was built with -fsanitize=memory, which works only in programs that are built with "
           "it as a whole. Build the handler without; uninitialized reads are found by filling "
           "memory in several ways";
  }
  if (file.sanitizer == "undefined") {
    return "it was built with Clang's -fsanitize=undefined, whose runtime has to be in the "
           "program. Build it without, or with GCC; or use farcall check, which loads the runtime";
  }
  return fmt::format(
      "it was built with -fsanitize={0}, which takes over memory and signals as this command does. "
      "Build it without; or load it in a program of yours, with the sanitizer's runtime first: "
      "LD_PRELOAD=$(c++ -print-file-name=lib{1}san.so) python my_test.py",
      file.sanitizer, file.sanitizer[0]);
}

std::vector<std::string> missing_for(const ElfFile& file) {
  std::vector<std::string> missing;
  if (!file.sanitizer.empty() && !is_in_process(file.sanitizer)) missing.push_back(file.sanitizer);
  if (file.loads_ubsan && !is_in_process("undefined")) missing.emplace_back("undefined");
  return missing;
}

std::string restart_for(const std::string& library, std::span<const std::string> names) {
  std::vector<std::string> with_runtimes = {"env"};
  std::string runtimes;
  for (const std::string& name : names) {
    const Sanitizer& sanitizer = *find_sanitizer(name);
    const std::string runtime = runtime_of(library, sanitizer);
    if (std::getenv(kRestarted))
      return fmt::format("the sanitizer's runtime {} does not load", runtime);
    if (runtime.empty()) {
      return "the sanitizer's runtime is not installed as a shared library: install Debian's "
             "libclang-rt-dev, or build with GCC, which has its runtimes";
    }
    runtimes += (runtimes.empty() ? "" : " ") + runtime;
    with_runtimes.push_back(fmt::format("{}={}", sanitizer.variable,
                                        joined(sanitizer.variable, sanitizer.options, ':')));
  }
  // Some of Clang's runtimes work only in programs that are built with them.
  with_runtimes.push_back(fmt::format("LD_PRELOAD={}", runtimes));
  with_runtimes.emplace_back("true");
  if (!run_program(with_runtimes, /*timeout_seconds=*/20).is_fine()) {
    return fmt::format(
        "its runtime {} does not work in programs that are built without it; build "
        "the handler with GCC: g++ -fsanitize={}",
        runtimes, fmt::join(names, ","));
  }
  for (const std::string& name : names) {
    const Sanitizer& sanitizer = *find_sanitizer(name);
    setenv(sanitizer.variable, joined(sanitizer.variable, sanitizer.options, ':').c_str(), 1);
  }
  setenv("LD_PRELOAD", joined("LD_PRELOAD", runtimes, ' ').c_str(), 1);
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

void send(const void* event) {
  static const auto release = function<void(const void*)>("__tsan_release");
  if (release) release(key_of(event));
}

void receive(const void* event) {
  static const auto acquire = function<void(const void*)>("__tsan_acquire");
  if (acquire) acquire(key_of(event));
}

void set_handler(void (*on_report)(const Report& report)) {
  g_on_report = on_report;
  const auto set = function<void(void (*)(const char*))>("__asan_set_error_report_callback");
  if (set) set(report);
}

}  // namespace farcall::tools::sanitizer

#ifndef FARCALL_HAS_SANITIZER
// In place of the runtimes' functions of these names, which do nothing.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" __attribute__((visibility("default"))) void __tsan_on_report(void* report) {
  using namespace farcall::tools::sanitizer;
  if (g_on_report) report_race(report);
}
extern "C" __attribute__((visibility("default"))) void __ubsan_on_report() {
  using namespace farcall::tools::sanitizer;
  if (g_on_report) report_undefined();
}
// NOLINTEND(bugprone-reserved-identifier)
#endif
