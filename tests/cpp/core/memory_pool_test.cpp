// The pool of large blocks: freed blocks are reused, kept up to a limit, and released on demand.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/core/memory_pool.h>
#include <farcall/core/storage.h>

namespace farcall {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class MemoryPoolTest : public ::testing::Test {
 protected:
  MemoryPoolTest() {
    clear_memory_pool();
    before_ = memory_pool_info();
  }
  ~MemoryPoolTest() override {
    set_memory_pool_limit(before_.limit);
    clear_memory_pool();
  }
  static size_t kept() { return memory_pool_info().bytes_kept; }
  size_t in_use() const { return memory_pool_info().bytes_in_use - before_.bytes_in_use; }
  size_t misses() const { return memory_pool_info().misses - before_.misses; }
  size_t hits() const { return memory_pool_info().hits - before_.hits; }

  MemoryPoolInfo before_;
};

TEST_F(MemoryPoolTest, AFreedBlockIsUsedAgain) {
  Storage storage = Storage::allocate(8 * kMiB);
  void* const data = storage.data();
  EXPECT_EQ(in_use(), 8 * kMiB);
  EXPECT_EQ(kept(), 0u);
  storage = Storage();
  EXPECT_EQ(in_use(), 0u);
  EXPECT_EQ(kept(), 8 * kMiB);
  storage = Storage::allocate(8 * kMiB - 100);  // a size that is close enough
  EXPECT_EQ(storage.data(), data);
  EXPECT_EQ(storage.nbytes(), 8 * kMiB - 100);
  EXPECT_EQ(hits(), 1u);
  EXPECT_EQ(misses(), 1u);
}

TEST_F(MemoryPoolTest, SmallSizesAreNotThePools) {
  const Storage storage = Storage::allocate(kMiB - 1);
  EXPECT_EQ(in_use(), 0u);
  EXPECT_EQ(misses(), 0u);
}

TEST_F(MemoryPoolTest, BlocksAreAlignedToHugePagesAndWritable) {
  for (const size_t nbytes : {kMiB, kMiB + 1, 2 * kMiB, 3 * kMiB - 1, 17 * kMiB + 5}) {
    const Storage storage = Storage::allocate(nbytes);
    const size_t alignment = nbytes < 2 * kMiB ? 4096 : 2 * kMiB;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(storage.data()) % alignment, 0u) << nbytes;
    EXPECT_TRUE(storage.is_owned());
    std::memset(storage.data(), 0xAB, nbytes);
  }
}

TEST_F(MemoryPoolTest, BlocksAreAtMostAnEighthLargerThanAskedFor) {
  for (size_t nbytes = kMiB; nbytes < 40 * kMiB; nbytes = nbytes * 21 / 20 + 1) {
    const Storage storage = Storage::allocate(nbytes);
    EXPECT_GE(in_use(), nbytes);
    EXPECT_LE(in_use(), nbytes + nbytes / 8);
  }
}

TEST_F(MemoryPoolTest, NoMoreThanTheLimitIsKept) {
  set_memory_pool_limit(10 * kMiB);
  EXPECT_EQ(memory_pool_limit(), 10 * kMiB);
  {
    std::vector<Storage> held;
    for (int i = 0; i < 6; ++i) held.push_back(Storage::allocate(4 * kMiB));
    EXPECT_EQ(in_use(), 24 * kMiB);  // the limit does not bound memory in use
  }
  EXPECT_EQ(kept(), 8 * kMiB);
  Storage::allocate(11 * kMiB);  // larger than the limit: not kept, and evicts nothing
  EXPECT_EQ(kept(), 8 * kMiB);
}

TEST_F(MemoryPoolTest, ALowerLimitGivesMemoryBack) {
  { const Storage a = Storage::allocate(4 * kMiB), b = Storage::allocate(2 * kMiB); }
  EXPECT_EQ(kept(), 6 * kMiB);
  set_memory_pool_limit(5 * kMiB);
  EXPECT_EQ(kept(), 4 * kMiB);  // b was freed first
  set_memory_pool_limit(0);
  EXPECT_EQ(kept(), 0u);
  Storage::allocate(2 * kMiB);
  EXPECT_EQ(kept(), 0u);
}

TEST_F(MemoryPoolTest, ClearingGivesFreeBlocksBackAlone) {
  const Storage used = Storage::allocate(2 * kMiB);
  std::memset(used.data(), 1, used.nbytes());
  Storage::allocate(64 * kMiB);
  EXPECT_EQ(kept(), 64 * kMiB);
  clear_memory_pool();
  EXPECT_EQ(kept(), 0u);
  EXPECT_EQ(in_use(), 2 * kMiB);
  EXPECT_EQ(memory_pool_info().peak_bytes_in_use, memory_pool_info().bytes_in_use);
  EXPECT_EQ(static_cast<const char*>(used.data())[2 * kMiB - 1], 1);
}

TEST_F(MemoryPoolTest, WhatIsKeptDoesNotRaiseThePeak) {
  // 96 MiB were in use, so total memory may reach that again, whatever the pool keeps.
  Storage::allocate(96 * kMiB);
  for (const size_t nbytes : {80 * kMiB, 40 * kMiB, 30 * kMiB, 96 * kMiB, 20 * kMiB}) {
    const Storage storage = Storage::allocate(nbytes);
    EXPECT_LE(in_use() + kept(), 96 * kMiB) << nbytes;
  }
}

TEST_F(MemoryPoolTest, SmallProgramsKeepBlocksOfSeveralSizes) {
  for (int i = 0; i < 3; ++i) {
    for (const size_t nbytes : {kMiB, 2 * kMiB, 8 * kMiB}) Storage::allocate(nbytes);
  }
  EXPECT_EQ(misses(), 3u);
  EXPECT_EQ(hits(), 6u);
}

TEST_F(MemoryPoolTest, NoMemoryIsAnError) {
  for (const size_t nbytes : {std::numeric_limits<size_t>::max(), size_t{1} << 62}) {
    try {
      Storage::allocate(nbytes);
      ADD_FAILURE() << nbytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kResourceExhausted);
      EXPECT_EQ(error.message(),
                "out of memory: cannot allocate " + std::to_string(nbytes) + " bytes");
    }
  }
  EXPECT_EQ(in_use(), 0u);
}

TEST_F(MemoryPoolTest, ThreadsTakeAndGiveBlocks) {
  set_memory_pool_limit(8 * kMiB);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      for (size_t i = 0; i < 300; ++i) {
        const Storage storage = Storage::allocate(kMiB + i % 5 * kMiB);
        auto* data = static_cast<int*>(storage.data());
        for (size_t j = 0; j < storage.nbytes() / sizeof(int); j += 4096) data[j] = t;
        for (size_t j = 0; j < storage.nbytes() / sizeof(int); j += 4096) wrong += data[j] != t;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(in_use(), 0u);
  EXPECT_LE(kept(), 8 * kMiB);
}

TEST_F(MemoryPoolTest, AChildOfAForkWhileThreadsTakeBlocksHasAPool) {
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) Storage::allocate(kMiB);
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      const Storage storage = Storage::allocate(kMiB);
      std::memset(storage.data(), 1, kMiB);
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  is_over = true;
  other.join();
}

}  // namespace
}  // namespace farcall
