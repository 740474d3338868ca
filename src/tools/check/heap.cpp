#include "tools/check/heap.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "tools/check/heap_zones.h"

namespace farcall::tools::heap {
namespace {

struct Block {
  void* address;
  size_t nbytes;
  int cycle;
};

constexpr size_t kMostBlocks = 1 << 16;
Block g_blocks[kMostBlocks];      // by hash of the address; address 0: free, 1: was used
runtime::StackFrame g_stack[16];  // where one block of the latest cycle was allocated
int g_stack_frames = 0;
void* g_stack_block = nullptr;
// Blocks that were freed lately.
constexpr size_t kMostKept = 64, kMostKeptBytes = 1 << 16;
std::atomic<void*> g_kept[kMostKept];
std::atomic<size_t> g_num_kept{0};
std::atomic<int> g_running{0};
std::atomic<int> g_fill{-1};
std::atomic<int> g_cycle{0};
std::atomic<bool> g_is_clock_back{false};
std::atomic<bool> g_has_blocks{false};
std::atomic<uint64_t> g_threads{0};
std::atomic<int> g_num_zones{0};
std::atomic_flag g_lock = ATOMIC_FLAG_INIT;
thread_local bool t_is_inside = false;  // set during allocations of this file, which do not count

class TableLock {
 public:
  TableLock() {
    while (g_lock.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~TableLock() { g_lock.clear(std::memory_order_release); }
};

thread_local runtime::StackFrame t_exception_stack[16];
thread_local int t_exception_frames = 0;

Exception& exception() {
  thread_local Exception last;
  return last;
}

size_t slot_of(const void* address) {
  return (reinterpret_cast<uintptr_t>(address) >> 4) * 0x9e3779b97f4a7c15 >> 48;
}

}  // namespace

size_t zone_bytes() {
  const bool is_called = g_running.load(std::memory_order_relaxed) != 0 && !t_is_inside;
  return is_called && g_fill.load(std::memory_order_relaxed) >= 0 ? kZoneBytes : 0;
}

void allocated(void* block, size_t nbytes, size_t usable) {
  if (g_running.load(std::memory_order_relaxed) == 0 || !block || t_is_inside) return;
  const int byte = g_fill.load(std::memory_order_relaxed);
  if (byte >= 0) {
    std::memset(block, byte, nbytes);
    // The zones of blocks allocated one after another differ, so that a copy past the ends of two
    // blocks changes bytes.
    set_zone(block, nbytes, usable,
             byte ^ (g_num_zones.fetch_add(1, std::memory_order_relaxed) & 3));
  }
  allocated_zeros(block, nbytes);
}

void allocated_zeros(void* block, size_t nbytes) {
  if (g_running.load(std::memory_order_relaxed) == 0 || !block || t_is_inside) return;
  const int cycle = g_cycle.load(std::memory_order_relaxed);
  if (cycle == 0) return;
  t_is_inside = true;
  {
    const TableLock lock;
    g_has_blocks = true;
    for (size_t i = 0, at = slot_of(block); i < 256; ++i, at = (at + 1) % kMostBlocks) {
      if (reinterpret_cast<uintptr_t>(g_blocks[at].address) > 1) continue;
      g_blocks[at] = {block, nbytes, cycle};
      break;
    }
  }
  if (!g_stack_block) {
    runtime::StackFrame frames[16];
    const int count = runtime::foreign_stack(frames, 16);
    const TableLock lock;
    g_stack_block = block;
    g_stack_frames = count;
    std::memcpy(g_stack, frames, sizeof(frames));
  }
  t_is_inside = false;
}

void freed(void* block, size_t usable) {
  check_zone(block, usable);
  if (!g_has_blocks.load(std::memory_order_relaxed) || !block || t_is_inside) return;
  const TableLock lock;
  for (size_t i = 0, at = slot_of(block); i < 256; ++i, at = (at + 1) % kMostBlocks) {
    if (!g_blocks[at].address) break;
    if (g_blocks[at].address != block) continue;
    g_blocks[at].address = reinterpret_cast<void*>(1);
    break;
  }
  if (g_stack_block == block) g_stack_block = nullptr;
}

void* keep_freed(void* block, size_t usable) {
  if (g_running.load(std::memory_order_relaxed) == 0 || !block || t_is_inside) return block;
  for (const std::atomic<void*>& kept : g_kept) {
    if (kept.load(std::memory_order_relaxed) != block) continue;
    constexpr std::string_view kText = "the handler frees a block of the heap twice\n";
    static_cast<void>(!write(STDERR_FILENO, kText.data(), kText.size()));
    std::abort();
  }
  const int byte = g_fill.load(std::memory_order_relaxed);
  if (byte < 0 || usable == 0 || usable > kMostKeptBytes) return block;
  std::memset(block, byte, usable);
  return g_kept[g_num_kept++ % kMostKept].exchange(block);
}

int64_t clock_shift() {
  // Other days of the month and the week, another hour, minute and second.
  constexpr int64_t kShift = -((32 * 24 + 1) * 60 + 1) * 60 - 1;
  return g_is_clock_back && g_running.load(std::memory_order_relaxed) != 0 ? kShift : 0;
}

void thrown(void* object, const std::type_info* type) {
  if (g_running.load(std::memory_order_relaxed) == 0) return;
  void* base = object;
  const bool is_standard = typeid(std::exception).__do_catch(type, &base, 1);
  exception() = {.type = type->name(),
                 .text = is_standard ? static_cast<const std::exception*>(base)->what() : "",
                 .is_standard = is_standard};
  t_exception_frames = runtime::foreign_stack(t_exception_stack, 16);
}

void thread_started() {
  if (g_running.load(std::memory_order_relaxed) != 0) g_threads.fetch_add(1);
}

void begin_call() { g_running.fetch_add(1); }
void end_call() { g_running.fetch_sub(1); }
void set_fill(int byte) {
  g_fill = byte;
  g_num_zones = 0;  // equal calls get equal zones
}
void set_clock_back(bool is_back) { g_is_clock_back = is_back; }
void set_cycle(int cycle) { g_cycle = cycle; }

Leaks leaks(int num_cycles) {
  Leaks found;
  found.blocks.resize(static_cast<size_t>(num_cycles));
  found.bytes.resize(static_cast<size_t>(num_cycles));
  const TableLock lock;
  for (const Block& block : g_blocks) {
    if (reinterpret_cast<uintptr_t>(block.address) <= 1) continue;
    if (block.cycle < 1 || block.cycle > num_cycles) continue;
    ++found.blocks[static_cast<size_t>(block.cycle) - 1];
    found.bytes[static_cast<size_t>(block.cycle) - 1] += block.nbytes;
  }
  if (g_stack_block) found.stack.assign(g_stack, g_stack + g_stack_frames);
  return found;
}

const Exception& last_exception() { return exception(); }
std::vector<runtime::StackFrame> exception_stack() {
  return {t_exception_stack, t_exception_stack + t_exception_frames};
}
void forget_exception() { exception() = {}; }
uint64_t num_threads_started() { return g_threads.load(); }

}  // namespace farcall::tools::heap
