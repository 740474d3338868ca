// Arena: live ranges never overlap, and freed ones are reused.
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "engine/native/arena.h"

namespace farcall::native {
namespace {

TEST(Arena, OffsetsAreAligned) {
  Arena arena;
  EXPECT_EQ(arena.allocate(1), 0u);
  EXPECT_EQ(arena.allocate(65), 64u);
  EXPECT_EQ(arena.allocate(0), 192u);  // a value of zero bytes has its own address
  EXPECT_EQ(arena.size(), 256u);
}

TEST(Arena, AFreedRangeIsUsedAgain) {
  Arena arena;
  const size_t a = arena.allocate(128);
  arena.allocate(64);
  arena.release(a, 128);
  EXPECT_EQ(arena.allocate(64), a);
  EXPECT_EQ(arena.allocate(64), a + 64);
  EXPECT_EQ(arena.size(), 192u);
}

TEST(Arena, TheBestFitIsTaken) {
  Arena arena;
  const size_t big = arena.allocate(256);
  arena.allocate(64);
  const size_t small = arena.allocate(64);
  arena.allocate(64);
  arena.release(big, 256);
  arena.release(small, 64);
  EXPECT_EQ(arena.allocate(64), small);
}

TEST(Arena, NeighboursMerge) {
  Arena arena;
  const size_t a = arena.allocate(64), b = arena.allocate(64), c = arena.allocate(64);
  arena.allocate(64);
  arena.release(a, 64);
  arena.release(c, 64);
  arena.release(b, 64);
  EXPECT_EQ(arena.allocate(192), a);
}

TEST(Arena, AFreeRangeAtTheEndGrows) {
  Arena arena;
  arena.allocate(64);
  const size_t last = arena.allocate(64);
  arena.release(last, 64);
  EXPECT_EQ(arena.allocate(256), last);
  EXPECT_EQ(arena.size(), 320u);
}

TEST(Arena, RandomUseNeverOverlaps) {
  std::mt19937 random(7);
  Arena arena;
  std::map<size_t, size_t> live;  // offset to end
  size_t live_bytes = 0, peak = 0;
  for (int step = 0; step < 20000; ++step) {
    if (live.size() < 40 && random() % 2 == 0) {
      const size_t size = random() % 1000;
      const size_t offset = arena.allocate(size);
      const size_t end = offset + std::max<size_t>(1, (size + 63) / 64) * 64;
      EXPECT_EQ(offset % 64, 0u);
      EXPECT_LE(end, arena.size());
      const auto next = live.lower_bound(offset);
      if (next != live.end()) {
        ASSERT_LE(end, next->first);
      }
      if (next != live.begin()) {
        ASSERT_LE(std::prev(next)->second, offset);
      }
      live.emplace(offset, end);
      live_bytes += end - offset;
      peak = std::max(peak, live_bytes);
    } else if (!live.empty()) {
      const auto it = std::next(live.begin(), static_cast<long>(random() % live.size()));
      arena.release(it->first, it->second - it->first);
      live_bytes -= it->second - it->first;
      live.erase(it);
    }
  }
  EXPECT_LE(arena.size(), 2 * peak);
}

}  // namespace
}  // namespace farcall::native
