#include <cstddef>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <farcall/core/free_blocks.h>
#include <farcall/core/storage.h>

namespace farcall {
namespace {

constexpr size_t kBytes = 48;
using Blocks = detail::FreeBlocks<kBytes>;

TEST(FreeBlocks, InUseAreDistinctAndWritable) {
  for (const int count : {1, 16, 17, 100}) {
    std::vector<void*> blocks;
    for (int i = 0; i < count; ++i) {
      blocks.push_back(Blocks::take());
      ASSERT_NE(blocks.back(), nullptr);
      std::memset(blocks.back(), i, kBytes);
    }
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(static_cast<unsigned char*>(blocks[static_cast<size_t>(i)])[kBytes - 1], i);
    }
    for (void* block : blocks) Blocks::give(block);
  }
}

// The address and thread sanitizers find errors here.
TEST(FreeBlocks, AreFreedOnOtherThreadsAndAtTheEndOfThreads) {
  std::vector<void*> blocks;
  std::thread([&] {
    for (int i = 0; i < 40; ++i) blocks.push_back(Blocks::take());
  }).join();
  std::thread([&] {
    for (void* block : blocks) Blocks::give(block);
    void* again = Blocks::take();
    std::memset(again, 1, kBytes);
    Blocks::give(again);
  }).join();
}

// Runs after the thread's other objects have ended.
struct HeldByThread {
  Storage storage;
};

TEST(FreeBlocks, AreTakenAndGivenWhileAThreadEnds) {
  std::thread([] {
    static thread_local HeldByThread first;
    first.storage = Storage::allocate(8);
    { const Storage dropped = Storage::allocate(8); }  // the thread keeps this block
    static thread_local HeldByThread second;
    second.storage = Storage::allocate(8);
  }).join();
}

TEST(SmallStorages, AreAlignedAndKeepTheirBytesAroundTheSmallSize) {
  for (const size_t nbytes : {0, 1, 63, 64, 65, 128}) {
    std::vector<Storage> storages;
    for (int i = 0; i < 40; ++i) {
      storages.push_back(Storage::allocate(nbytes));
      ASSERT_TRUE(is_aligned(storages.back().data()));
      std::memset(storages.back().data(), i, nbytes);
    }
    for (size_t i = 0; i < storages.size(); ++i) {
      const auto* bytes = static_cast<const unsigned char*>(storages[i].data());
      for (size_t j = 0; j < nbytes; ++j) ASSERT_EQ(bytes[j], i);
    }
  }
}

}  // namespace
}  // namespace farcall
