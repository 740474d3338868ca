#include <farcall/engine/jit_loops.h>

#include <cstdlib>
#include <string_view>

namespace farcall {
namespace {

bool is_on_in_environment() {
  const char* value = std::getenv("FARCALL_JIT");
  return !value || std::string_view(value) != "0";
}

}  // namespace

std::atomic<bool> detail::jit_loops{is_on_in_environment()};

void set_jit_loops(bool is_on) { detail::jit_loops.store(is_on, std::memory_order_relaxed); }

}  // namespace farcall
