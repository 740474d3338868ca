#include <farcall/engine/jit_loops.h>

#include <farcall/core/environment.h>

#include "engine/native/jit/at_once.h"

namespace farcall {

std::atomic<bool> detail::jit_loops{environment_switch_at_load("FARCALL_JIT", true, "always")};

bool native::jit::makes_code_at_once() {
  static const bool is_at_once = environment("FARCALL_JIT") == "always";
  return is_at_once;
}

void set_jit_loops(bool is_on) { detail::jit_loops.store(is_on, std::memory_order_relaxed); }

}  // namespace farcall
