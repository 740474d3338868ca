#include <farcall/engine/jit_loops.h>

#include <cstdlib>
#include <string_view>

#include "engine/native/jit/at_once.h"

namespace farcall {
namespace {

std::string_view setting() {
  const char* value = std::getenv("FARCALL_JIT");
  return value ? value : "";
}

}  // namespace

std::atomic<bool> detail::jit_loops{setting() != "0"};

bool native::jit::makes_code_at_once() {
  static const bool is_at_once = setting() == "always";
  return is_at_once;
}

void set_jit_loops(bool is_on) { detail::jit_loops.store(is_on, std::memory_order_relaxed); }

}  // namespace farcall
