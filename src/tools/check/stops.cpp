#include "tools/check/stops.h"

#include <link.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "tools/check/instructions.h"
#include "tools/check/sanitizer.h"

namespace farcall::tools {

#if defined(__x86_64__)
namespace {

constexpr uint8_t kBreakpoint = 0xcc;
constexpr long long kSingleStep = 0x100;  // in the flags

struct Code {
  uintptr_t begin = 0, end = 0;
  bool has(uintptr_t address) const { return address >= begin && address < end; }
};

struct Breakpoint {
  uint8_t* address;  // null: free
  uint8_t original;
  bool is_set;
  bool is_end_of_call;
};

constexpr size_t kMostBreakpoints = 1 << 15, kMostWalks = 1 << 12;
Breakpoint g_breakpoints[kMostBreakpoints];  // by hash of the address
size_t g_num_breakpoints = 0;
Code g_code;
std::atomic_flag g_stops_lock = ATOMIC_FLAG_INIT;
std::span<uint32_t> g_places;
std::atomic<size_t>* g_num_places = nullptr;  // null: nothing is noted
void (*g_work)() = nullptr;
thread_local bool t_is_stepping = false;
struct sigaction g_previous = {};

class StopsLock {
 public:
  StopsLock() {
    while (g_stops_lock.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~StopsLock() { g_stops_lock.clear(std::memory_order_release); }
};

// The executable part of the library.
Code code_of(const void* function) {
  std::pair<uintptr_t, Code> wanted = {reinterpret_cast<uintptr_t>(function), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& [address, found] = *static_cast<std::pair<uintptr_t, Code>*>(data);
        for (size_t i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = info->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
          const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
          const Code code = {begin, begin + part.p_memsz};
          if (code.has(address)) found = code;
        }
        return 0;
      },
      &wanted);
  return wanted.second;
}

Breakpoint* slot_of(const uint8_t* address) {
  const uint64_t hash = reinterpret_cast<uintptr_t>(address) * 0x9e3779b97f4a7c15;
  for (size_t i = 0, at = hash >> 49; i < 64; ++i, at = (at + 1) % kMostBreakpoints) {
    if (!g_breakpoints[at].address || g_breakpoints[at].address == address)
      return &g_breakpoints[at];
  }
  return nullptr;
}

bool set(Breakpoint& breakpoint, uint8_t* address) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* begin = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) & ~(page - 1));
  if (mprotect(begin, page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  breakpoint = {.address = address,
                .original = *address,
                .is_set = true,
                .is_end_of_call = breakpoint.is_end_of_call};
  *address = kBreakpoint;
  ++g_num_breakpoints;
  return true;
}

uint8_t byte_of(uint8_t* address) {
  const Breakpoint* known = slot_of(address);
  return known && known->address == address ? known->original : *address;
}

std::optional<Instruction> instruction_at(uint8_t* address) {
  uint8_t copy[15];
  auto* end = reinterpret_cast<uint8_t*>(g_code.end);
  size_t count = 0;
  for (; count < sizeof(copy) && address + count < end; ++count)
    copy[count] = byte_of(address + count);
  auto found = decode(copy, copy + count);
  if (found && found->target) found->target = address + (found->target - copy);
  return found;
}

// Sets breakpoints on the instructions that can be reached from here without a computed address.
void walk(uint8_t* start) {
  static uint8_t* waiting[kMostWalks];  // the stack of a signal may be small
  size_t num_waiting = 0;
  const auto push = [&](const uint8_t* address) {
    if (address && num_waiting < kMostWalks) waiting[num_waiting++] = const_cast<uint8_t*>(address);
  };
  push(start);
  while (num_waiting > 0) {
    uint8_t* at = waiting[--num_waiting];
    bool is_end_of_call = false;
    while (g_code.has(reinterpret_cast<uintptr_t>(at))) {
      Breakpoint* slot = slot_of(at);
      if (!slot || slot->address || g_num_breakpoints > kMostBreakpoints / 2) break;
      const auto found = instruction_at(at);
      if (!found) break;
      slot->is_end_of_call = is_end_of_call;
      if (!set(*slot, at)) return;
      push(found->target);
      if (!found->returns) break;
      is_end_of_call =
          found->flow == Instruction::Flow::kCall || found->flow == Instruction::Flow::kIndirect;
      at += found->length;
    }
  }
}

// Numbers of registers in instructions, and in the context of a signal.
uintptr_t value_of(int number, const ucontext_t& context) {
  static constexpr int kRegisters[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                       REG_R12, REG_R13, REG_R14, REG_R15};
  return static_cast<uintptr_t>(context.uc_mcontext.gregs[kRegisters[number]]);
}

bool is_on_stack(uintptr_t address, const ucontext_t& context) {
  constexpr int kStackPointer = 4;
  constexpr uintptr_t kBelow = 128, kAbove = 1 << 16;
  const uintptr_t stack = value_of(kStackPointer, context);
  return address + kBelow >= stack && address < stack + kAbove;
}

bool may_be_shared(const Instruction& instruction, const ucontext_t& context, uintptr_t next) {
  if (!instruction.memory) return false;
  const Instruction::Memory& memory = *instruction.memory;
  auto address = static_cast<uintptr_t>(memory.displacement);
  if (memory.is_relative) address += next;
  if (memory.base >= 0) address += value_of(memory.base, context);
  if (memory.index >= 0)
    address += value_of(memory.index, context) * static_cast<uintptr_t>(memory.scale);
  return !is_on_stack(address, context);
}

// At a breakpoint: restores the instruction.
void pass(uint8_t* at, Breakpoint& breakpoint, ucontext_t& context) {
  context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<long long>(at);
  if (!std::exchange(breakpoint.is_set, false)) return;  // another thread was faster
  *at = breakpoint.original;
  if (!g_num_places) return;
  const auto instruction = instruction_at(at);
  if (!instruction) return;
  if (instruction->flow == Instruction::Flow::kIndirect) {
    t_is_stepping = true;
    context.uc_mcontext.gregs[REG_EFL] |= kSingleStep;
  }
  const uintptr_t next = reinterpret_cast<uintptr_t>(at) + instruction->length;
  const size_t count = *g_num_places;
  if ((breakpoint.is_end_of_call || may_be_shared(*instruction, context, next)) &&
      count < g_places.size()) {
    g_places[count] = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(at) - g_code.begin);
    *g_num_places = count + 1;
  }
}

void on_trap(int number, siginfo_t* info, void* context_pointer) {
  auto& context = *static_cast<ucontext_t*>(context_pointer);
  const auto here = static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
  if (std::exchange(t_is_stepping, false)) {
    context.uc_mcontext.gregs[REG_EFL] &= ~kSingleStep;
    const StopsLock lock;
    if (g_num_places) walk(reinterpret_cast<uint8_t*>(here));
    return;
  }
  auto* at = reinterpret_cast<uint8_t*>(here - 1);
  bool is_ours = false, is_first = false;
  if (g_code.has(here - 1)) {
    const StopsLock lock;
    Breakpoint* breakpoint = slot_of(at);
    is_ours = breakpoint && breakpoint->address == at;
    is_first = is_ours && breakpoint->is_set;
    if (is_ours) pass(at, *breakpoint, context);
  }
  if (is_first && g_work) {
    const int error = errno;  // of the stopped code
    g_work();
    errno = error;
  }
  if (!is_ours && g_previous.sa_sigaction) g_previous.sa_sigaction(number, info, context_pointer);
}

void catch_traps() {
  if (g_previous.sa_sigaction) return;
  struct sigaction action = {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGTRAP, &action, &g_previous);
}

}  // namespace

PlaceFinder::PlaceFinder(const void* function, std::span<uint32_t> places,
                         std::atomic<size_t>& count) {
  count = 0;
  // Its runtime delays signals.
  if (sanitizer::is_loaded("thread")) return;
  catch_traps();
  g_code = code_of(function);
  g_places = places;
  g_num_places = &count;
  const StopsLock lock;
  walk(const_cast<uint8_t*>(static_cast<const uint8_t*>(function)));
}

PlaceFinder::~PlaceFinder() {
  const StopsLock lock;
  g_num_places = nullptr;
  for (Breakpoint& each : g_breakpoints) {
    if (std::exchange(each.is_set, false)) *each.address = each.original;
  }
}

void stop_at(const void* function, uint32_t place, void (*work)()) {
  catch_traps();
  g_code = code_of(function);
  auto* at = reinterpret_cast<uint8_t*>(g_code.begin + place);
  g_work = work;
  if (Breakpoint* slot = slot_of(at)) set(*slot, at);
}

#else

PlaceFinder::PlaceFinder(const void*, std::span<uint32_t>, std::atomic<size_t>& count) {
  count = 0;
}
PlaceFinder::~PlaceFinder() = default;
void stop_at(const void*, uint32_t, void (*)()) {}

#endif

}  // namespace farcall::tools
