#include "tools/check/heap_zones.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>

namespace farcall::tools::heap {
namespace {

// The last bytes of the block: its size and the byte of the zone, in a form that other blocks do
// not have.
constexpr size_t kMarkBytes = 8, kMostUnused = 64;

uint64_t mark_of(const void* block, size_t nbytes, int byte) {
  const uint64_t fact = (uint64_t{nbytes} << 8) | static_cast<uint64_t>(byte & 0xff);
  return (reinterpret_cast<uintptr_t>(block) * 0x9e3779b97f4a7c15) ^ fact;
}

constexpr int kMostFrames = 16;
std::atomic<bool> g_is_taken{false}, g_is_set{false};
size_t g_offset, g_nbytes;
runtime::StackFrame g_frames[kMostFrames];
int g_num_frames = 0;

}  // namespace

void set_zone(void* block, size_t nbytes, size_t usable, int byte) {
  if (!block || usable < nbytes + kZoneBytes) return;
  auto* bytes = static_cast<char*>(block);
  std::memset(bytes + nbytes, byte, usable - kMarkBytes - nbytes);
  const uint64_t mark = mark_of(block, nbytes, byte);
  std::memcpy(bytes + usable - kMarkBytes, &mark, kMarkBytes);
}

void check_zone(void* block, size_t usable) {
  if (!block || usable < kZoneBytes) return;
  auto* bytes = static_cast<unsigned char*>(block);
  uint64_t mark;
  std::memcpy(&mark, bytes + usable - kMarkBytes, kMarkBytes);
  const uint64_t fact = mark ^ mark_of(block, 0, 0);
  const size_t nbytes = fact >> 8, byte = fact & 0xff;
  if (nbytes > usable - kZoneBytes || nbytes + kZoneBytes + kMostUnused < usable) return;
  // The memory may become a block without a zone.
  std::memset(bytes + usable - kMarkBytes, 0, kMarkBytes);
  for (size_t i = nbytes; i < usable - kMarkBytes; ++i) {
    if (bytes[i] == byte) continue;
    if (g_is_taken.exchange(true)) return;
    g_offset = i;
    g_nbytes = nbytes;
    g_num_frames = runtime::foreign_stack(g_frames, kMostFrames);
    g_is_set = true;
    return;
  }
}

std::optional<Overflow> take_overflow() {
  if (!g_is_set) return std::nullopt;
  Overflow overflow = {g_offset, g_nbytes, {g_frames, g_frames + g_num_frames}};
  g_is_set = false;
  g_is_taken = false;
  return overflow;
}

}  // namespace farcall::tools::heap
