#include "ffi/internal/foreign_stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include <farcall/core/demangle.h>
#include <farcall/ffi/isolation.h>

namespace farcall::runtime {
namespace {

template <size_t size>
void copy_text(char (&to)[size], const char* from) {
  std::strncpy(to, from ? from : "", size - 1);
  to[size - 1] = '\0';
}

// The signal trampoline, which called the signal handler.
bool is_trampoline(const Dl_info& info) {
  const char* file = std::strrchr(info.dli_fname, '/');
  return file && std::strncmp(file, "/libc.so", 8) == 0 && !info.dli_sname;
}

bool is_own(const Dl_info& info) {
  static const char* own = [] {
    Dl_info found;
    return dladdr(reinterpret_cast<const void*>(&foreign_stack), &found) ? found.dli_fname : "";
  }();
  return std::strcmp(info.dli_fname, own) == 0;
}

StackFrame frame_at(const char* address, const Dl_info& info) {
  StackFrame frame;
  copy_text(frame.library, info.dli_fname);
  copy_text(frame.symbol, info.dli_sname);
  frame.offset = static_cast<uint64_t>(address - static_cast<const char*>(info.dli_fbase));
  frame.symbol_offset =
      info.dli_saddr ? static_cast<uint64_t>(address - static_cast<const char*>(info.dli_saddr))
                     : 0;
  return frame;
}

void (*g_report_crash)(const char* text) = nullptr;

void report_crash(int signal, siginfo_t* info, void*) {
  static std::atomic_flag is_first = ATOMIC_FLAG_INIT;
  while (is_first.test_and_set()) pause();  // the first thread ends the process
  std::signal(SIGALRM, SIG_DFL);
  alarm(2);  // the code below may wait for a lock that is held
  static CrashReport report;
  write_crash(report, signal, info);
  g_report_crash(crash_text(report).c_str());
  _exit(128 + signal);
}

}  // namespace

int foreign_stack(StackFrame* frames, int most) {
  void* addresses[64];
  const int count = backtrace(addresses, 64);
  int num_frames = 0;
  bool is_interrupted = false;  // by a signal, at this address
  bool has_begun = false;       // a sanitizer's runtime has its own backtrace()
  for (int i = 0; i < count && num_frames < most; ++i) {
    Dl_info info;
    // A return address may be past the last instruction of its function; an interrupted address is
    // exact.
    const auto* address = static_cast<const char*>(addresses[i]) - (is_interrupted ? 0 : 1);
    is_interrupted = false;
    if (dladdr(address, &info) == 0 || !info.dli_fname) continue;
    if (is_own(info)) {
      if (num_frames > 0) break;  // reached farcall, which called the handler
      has_begun = true;
      continue;
    }
    if (!has_begun) continue;
    if (num_frames == 0 && is_trampoline(info)) {
      is_interrupted = true;
      continue;
    }
    frames[num_frames++] = frame_at(address, info);
  }
  return num_frames;
}

int foreign_stack_of(const void* const* addresses, int count, StackFrame* frames, int most) {
  int num_frames = 0;
  for (int i = 0; i < count && num_frames < most; ++i) {
    Dl_info info;
    if (dladdr(addresses[i], &info) == 0 || !info.dli_fname) continue;
    if (!is_own(info)) {
      frames[num_frames++] = frame_at(static_cast<const char*>(addresses[i]), info);
    } else if (num_frames > 0) {
      break;
    }
  }
  return num_frames;
}

void prepare_foreign_stack() {
  void* addresses[4];
  backtrace(addresses, 4);
}

void use_signal_stack() {
  constexpr size_t kBytes = size_t{1} << 17;
  // Lasts until the thread ends.
  struct SignalStack {
    SignalStack() {
      stack_t stack = {};
      stack.ss_sp = memory.get();
      stack.ss_size = kBytes;
      sigaltstack(&stack, nullptr);
    }
    ~SignalStack() {
      stack_t none = {};
      none.ss_flags = SS_DISABLE;
      sigaltstack(&none, nullptr);
    }
    SignalStack(const SignalStack&) = delete;
    SignalStack& operator=(const SignalStack&) = delete;

    std::unique_ptr<std::byte[]> memory = std::make_unique<std::byte[]>(kBytes);
  };
  thread_local SignalStack own;
  static_cast<void>(own);
}

void catch_crashes(void (*on_signal)(int, siginfo_t*, void*)) {
  use_signal_stack();
  prepare_foreign_stack();
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) {
    sigaction(signal, &action, nullptr);
  }
}

void write_crash(CrashReport& report, int signal, const siginfo_t* info) {
  report.address = reinterpret_cast<uint64_t>(info->si_addr);
  report.signal = signal;
  report.num_frames = foreign_stack(report.frames, static_cast<int>(std::size(report.frames)));
}

std::string crash_text(const CrashReport& report) {
  std::string text = fmt::format("signal {} ({})", report.signal, strsignal(report.signal));
  if (report.signal == SIGSEGV || report.signal == SIGBUS) {
    text += fmt::format(", at address {:#x}", report.address);
  }
  if (report.num_frames > 0) text += ", in";
  for (int i = 0; i < report.num_frames; ++i) {
    const StackFrame& frame = report.frames[i];
    const char* file = std::strrchr(frame.library, '/');
    file = file ? file + 1 : frame.library;
    text += frame.symbol[0] != 0 ? fmt::format("\n    {}+{:#x} ({})", demangled(frame.symbol),
                                               frame.symbol_offset, file)
                                 : fmt::format("\n    {:#x} ({})", frame.offset, file);
  }
  return text;
}

}  // namespace farcall::runtime

void farcall::detail::report_crashes(void (*report)(const char* text)) {
  runtime::g_report_crash = report;
  runtime::catch_crashes(runtime::report_crash);
}
