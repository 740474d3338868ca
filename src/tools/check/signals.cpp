#include "tools/check/signals.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace farcall::tools::signals {
namespace {

constexpr size_t kMostRegions = 4096;
Region g_regions[kMostRegions];  // begin of 0: free
std::atomic_flag g_signal_lock = ATOMIC_FLAG_INIT;
Crash* g_crash = nullptr;
std::atomic<bool> g_is_in_call{false};

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

void copy_text(char* to, size_t size, const char* from) {
  std::strncpy(to, from ? from : "", size - 1);
  to[size - 1] = '\0';
}

void on_signal(int number, siginfo_t* info, void* context_pointer) {
  const auto* context = static_cast<const ucontext_t*>(context_pointer);
  static std::atomic_flag is_first = ATOMIC_FLAG_INIT;
  if (is_first.test_and_set()) {
    while (true) pause();  // the first one ends the process
  }
  signal(SIGALRM, SIG_DFL);
  alarm(2);  // the code below may find locks taken
  Crash& crash = *g_crash;
  crash.signal = number;
  if (number == SIGSEGV || number == SIGBUS) {
    crash.address = reinterpret_cast<uintptr_t>(info->si_addr);
    crash.access = access_of(context);
    for (const Region& region : g_regions) {
      if (region.begin == 0 || crash.address < region.begin || crash.address >= region.end)
        continue;
      crash.has_region = true;
      crash.name = region.name;
      crash.offset = static_cast<int64_t>(crash.address - region.data);
      crash.nbytes = region.nbytes;
      break;
    }
    const uintptr_t stack = stack_pointer(context);
    crash.is_stack_overflow =
        !crash.has_region && crash.address + (1 << 16) > stack && crash.address < stack + (1 << 16);
  }
  crash.is_set = true;
  if (!crash.is_stack_overflow) crash.num_frames = capture_stack(crash.frames, 16);
  _exit(99);
}

void on_exit() {
  if (!g_is_in_call || !g_crash || g_crash->is_set) return;
  g_crash->is_exit = true;
  g_crash->is_set = true;
  g_crash->num_frames = capture_stack(g_crash->frames, 16);
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
    if (slot.begin == begin) slot.begin = 0;
  }
}

int capture_stack(Frame* frames, int most) {
  void* addresses[64];
  const int count = backtrace(addresses, 64);
  static const char* own = [] {
    Dl_info info;
    return dladdr(reinterpret_cast<const void*>(&add_region), &info) ? info.dli_fname : "";
  }();
  int num_frames = 0;
  for (int i = 0; i < count && num_frames < most; ++i) {
    Dl_info info;
    // A return address may lie behind the last instruction of its function.
    const auto* address = static_cast<const char*>(addresses[i]) - (i == 0 ? 0 : 1);
    if (dladdr(address, &info) == 0 || !info.dli_fname) continue;
    if (std::strcmp(info.dli_fname, own) == 0) {
      if (num_frames > 0) break;  // the caller of the handler
      continue;
    }
    // The trampoline that called the signal's handler.
    const char* file = std::strrchr(info.dli_fname, '/');
    if (num_frames == 0 && file && std::strncmp(file, "/libc.so", 8) == 0 && !info.dli_sname)
      continue;
    Frame& frame = frames[num_frames++];
    copy_text(frame.library, sizeof(frame.library), info.dli_fname);
    copy_text(frame.symbol, sizeof(frame.symbol), info.dli_sname);
    frame.offset = static_cast<uint64_t>(address - static_cast<const char*>(info.dli_fbase));
  }
  return num_frames;
}

void use_own_stack() {
  constexpr size_t kBytes = 1 << 17;
  thread_local bool is_done = false;
  if (is_done) return;
  is_done = true;
  stack_t stack = {};
  stack.ss_sp = std::malloc(kBytes);  // for as long as the process lives
  stack.ss_size = kBytes;
  sigaltstack(&stack, nullptr);
}

void install(Crash* crash) {
  g_crash = crash;
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  void* warm[4];
  backtrace(warm, 4);  // loads what it needs
  use_own_stack();
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGTRAP}) {
    sigaction(number, &action, nullptr);
  }
  std::atexit(on_exit);
}

void set_in_call(bool is_in_call) { g_is_in_call = is_in_call; }

}  // namespace farcall::tools::signals
