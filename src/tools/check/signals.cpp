#include "tools/check/signals.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

namespace farcall::tools::signals {
namespace {

constexpr size_t kMostRegions = 4096;
constexpr size_t kMostFormer = 64;
Region g_regions[kMostRegions];  // begin 0: free
Region g_former[kMostFormer];    // the latest ones that were removed
size_t g_num_removed = 0;
std::atomic_flag g_signal_lock = ATOMIC_FLAG_INIT;
Crash* g_crash = nullptr;
std::atomic<bool> g_is_in_call{false};
std::atomic_flag g_is_ending = ATOMIC_FLAG_INIT;
pid_t g_parent = 0;

class RegionLock {
 public:
  RegionLock() {
    while (g_signal_lock.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~RegionLock() { g_signal_lock.clear(std::memory_order_release); }
};

Access access_of([[maybe_unused]] const ucontext_t* context) {
#if defined(__x86_64__)
  return (context->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? Access::kWrite : Access::kRead;
#else
  return Access::kUnknown;
#endif
}

uintptr_t stack_pointer([[maybe_unused]] const ucontext_t* context) {
#if defined(__x86_64__)
  return static_cast<uintptr_t>(context->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return context->uc_mcontext.sp;
#else
  return 0;
#endif
}

// The operand, or its guard, that the address is in.
bool find_region(std::span<const Region> regions, Crash& crash) {
  for (const Region& region : regions) {
    if (region.begin == 0 || crash.address < region.begin || crash.address >= region.end) continue;
    crash.has_region = true;
    crash.name = region.name;
    crash.offset = static_cast<int64_t>(crash.address - region.data);
    crash.nbytes = region.nbytes;
    return true;
  }
  return false;
}

void on_report(const sanitizer::Report& report) {
  Crash& crash = *g_crash;
  crash.address = report.address;
  crash.access = report.is_write ? Access::kWrite : Access::kRead;
  crash.nbytes = report.nbytes;
  crash.sanitizer = report.kind;
  std::snprintf(crash.what, sizeof(crash.what), "%s", report.description);
  const char* slash = report.file ? std::strrchr(report.file, '/') : nullptr;
  const char* file = slash ? slash + 1 : report.file;
  std::snprintf(crash.message, sizeof(crash.message), file && *file ? "%s, at %s:%u" : "%s",
                report.message, file, report.line);
  if (crash.message[0] >= 'A' && crash.message[0] <= 'Z') crash.message[0] += 'a' - 'A';
  find_region(g_regions, crash);
  crash.is_set = true;
  crash.num_frames =
      report.kind == sanitizer::Kind::kUndefined
          ? runtime::foreign_stack(crash.frames, 16)
          : runtime::foreign_stack_of(report.calls, report.num_calls, crash.frames, 16);
  // The runtime, which holds locks, has an _exit of its own.
  syscall(SYS_exit_group, 99);
}

void on_signal(int number, siginfo_t* info, void* context_pointer) {
  const auto* context = static_cast<const ucontext_t*>(context_pointer);
  if (g_is_ending.test_and_set()) {
    while (true) pause();  // the first thread ends the process
  }
  signal(SIGALRM, SIG_DFL);
  alarm(2);  // the code below may deadlock on a lock that is held
  Crash& crash = *g_crash;
  crash.signal = number;
  if (number == SIGSEGV || number == SIGBUS) {
    crash.address = reinterpret_cast<uintptr_t>(info->si_addr);
    crash.access = access_of(context);
    crash.has_no_address = info->si_code == SI_KERNEL;
    const uintptr_t stack = stack_pointer(context);
    if (!find_region(g_regions, crash)) {
      crash.is_stack_overflow =
          crash.address + (1 << 16) > stack && crash.address < stack + (1 << 16);
      if (!crash.is_stack_overflow) crash.is_former = find_region(g_former, crash);
    }
  }
  crash.is_set = true;
  if (!crash.is_stack_overflow) crash.num_frames = runtime::foreign_stack(crash.frames, 16);
  _exit(99);
}

void on_exit() {
  if (!g_is_in_call || !g_crash || g_crash->is_set) return;
  g_crash->is_exit = true;
  g_crash->is_set = true;
  g_crash->num_frames = runtime::foreign_stack(g_crash->frames, 16);
  _exit(99);
}

}  // namespace

void add_region(const Region& region) {
  const RegionLock lock;
  for (Region& slot : g_regions) {
    if (slot.begin != 0) continue;
    slot = region;
    return;
  }
}

void remove_region(uintptr_t begin) {
  const RegionLock lock;
  for (Region& slot : g_regions) {
    if (slot.begin != begin) continue;
    g_former[g_num_removed++ % kMostFormer] = slot;
    slot.begin = 0;
  }
}

void install(Crash* crash) {
  g_crash = crash;
  g_parent = getppid();
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  runtime::prepare_foreign_stack();
  runtime::use_signal_stack();
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGTRAP}) {
    sigaction(number, &action, nullptr);
  }
  sanitizer::set_handler(on_report);
  std::atexit(on_exit);
}

void end_copy(int parent) {
  g_crash->is_copy = true;
  kill(parent, SIGABRT);
  _exit(0);
}

void before_kill(int process, int signal) {
  if (!g_is_in_call || signal == 0 || g_crash->is_set) return;
  const bool is_parent = process == g_parent || process == -getpgid(g_parent);
  if (!is_parent && process != -1) return;
  g_crash->is_kill = true;
  g_crash->signal = signal;
  g_crash->is_set = true;
  g_crash->num_frames = runtime::foreign_stack(g_crash->frames, 16);
  _exit(99);
}

bool is_ending() { return g_is_ending.test(); }

void set_in_call(bool is_in_call) { g_is_in_call = is_in_call; }

}  // namespace farcall::tools::signals
