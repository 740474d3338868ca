#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <utility>
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

// Sizes below and above each size of the blocks that are kept.
TEST(FreeBlocks, OfAnySizeAreDistinctAndWritable) {
  for (const size_t nbytes :
       {0, 1, 1000, 1001, 1024, 1025, 2048, 2049, 4096, 4097, 8192, 8193, 16384, 16385, 100000}) {
    for (int round = 0; round < 2; ++round) {
      std::vector<unsigned char*> blocks;
      for (int i = 0; i < 20; ++i) {
        blocks.push_back(static_cast<unsigned char*>(detail::take_kept_block(nbytes)));
        ASSERT_NE(blocks.back(), nullptr);
        std::memset(blocks.back(), i, nbytes);
      }
      for (size_t i = 0; i < blocks.size(); ++i) {
        for (size_t j = 0; j < nbytes; j += 97) ASSERT_EQ(blocks[i][j], i);
        detail::give_kept_block(blocks[i], nbytes);
      }
    }
  }
}

TEST(KeptMemory, VectorsGrowMoveAndCompare) {
  std::vector<int64_t, KeptMemory<int64_t>> numbers;
  for (int64_t i = 0; i < 5000; ++i) numbers.push_back(i);
  auto copy = numbers;
  const auto moved = std::move(numbers);
  EXPECT_EQ(copy, moved);
  copy.resize(130);
  copy.shrink_to_fit();
  EXPECT_EQ(copy.back(), 129);
  EXPECT_EQ(moved.back(), 4999);
}

TEST(SmallStorages, AreAlignedAndKeepTheirBytesAroundTheSmallSize) {
  for (const size_t nbytes : {0, 1, 63, 64, 65, 128, 900, 1000, 2000, 4096, 16384, 20000}) {
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
