#include "ffi/internal/foreign_stack.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>

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

}  // namespace

int foreign_stack(StackFrame* frames, int most) {
  void* addresses[64];
  const int count = backtrace(addresses, 64);
  static const char* own = [] {
    Dl_info info;
    return dladdr(reinterpret_cast<const void*>(&foreign_stack), &info) ? info.dli_fname : "";
  }();
  int num_frames = 0;
  bool is_interrupted = false;  // by a signal, at this address
  for (int i = 0; i < count && num_frames < most; ++i) {
    Dl_info info;
    // A return address may be past the last instruction of its function; an interrupted address is
    // exact.
    const auto* address = static_cast<const char*>(addresses[i]) - (is_interrupted ? 0 : 1);
    is_interrupted = false;
    if (dladdr(address, &info) == 0 || !info.dli_fname) continue;
    if (std::strcmp(info.dli_fname, own) == 0) {
      if (num_frames > 0) break;  // reached farcall, which called the handler
      continue;
    }
    if (num_frames == 0 && is_trampoline(info)) {
      is_interrupted = true;
      continue;
    }
    StackFrame& frame = frames[num_frames++];
    copy_text(frame.library, info.dli_fname);
    copy_text(frame.symbol, info.dli_sname);
    frame.offset = static_cast<uint64_t>(address - static_cast<const char*>(info.dli_fbase));
    frame.symbol_offset =
        info.dli_saddr ? static_cast<uint64_t>(address - static_cast<const char*>(info.dli_saddr))
                       : 0;
  }
  return num_frames;
}

void prepare_foreign_stack() {
  void* addresses[4];
  backtrace(addresses, 4);
}

void use_signal_stack() {
  constexpr size_t kBytes = size_t{1} << 17;
  thread_local bool is_done = false;
  if (is_done) return;
  is_done = true;
  stack_t stack = {};
  stack.ss_sp = std::malloc(kBytes);  // never freed
  stack.ss_size = kBytes;
  sigaltstack(&stack, nullptr);
}

}  // namespace farcall::runtime
