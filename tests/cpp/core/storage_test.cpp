#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/core/storage.h>

namespace farcall {
namespace {

void count_release(void* context) { ++*static_cast<int*>(context); }

TEST(Storage, DefaultIsEmpty) {
  const Storage storage;
  EXPECT_FALSE(storage);
  EXPECT_EQ(storage.data(), nullptr);
  EXPECT_EQ(storage.nbytes(), 0u);
  EXPECT_FALSE(storage.is_unique());
  EXPECT_FALSE(storage.is_owned());
}

TEST(Storage, AllocationsAreAlignedAndWritable) {
  for (const size_t nbytes : {0, 1, 63, 64, 65, 4096, 1 << 20}) {
    const Storage storage = Storage::allocate(nbytes);
    ASSERT_TRUE(storage);
    EXPECT_TRUE(is_aligned(storage.data())) << nbytes;
    EXPECT_EQ(storage.nbytes(), nbytes);
    EXPECT_TRUE(storage.is_owned());
    std::memset(storage.data(), 0xAB, nbytes);
  }
}

TEST(Storage, CopyOfBytesIsIndependent) {
  std::vector<char> bytes(100, 'a');
  const Storage first = Storage::copy_of(bytes.data(), bytes.size());
  bytes.assign(100, 'b');
  const Storage second = first.copy();
  std::memset(first.data(), 'c', 100);
  EXPECT_TRUE(second.is_owned() && second.is_unique() && is_aligned(second.data()));
  EXPECT_EQ(std::string(static_cast<const char*>(second.data()), second.nbytes()),
            std::string(100, 'a'));
  EXPECT_EQ(Storage::copy_of(nullptr, 0).nbytes(), 0u);
}

TEST(Storage, CopiesShareTheBlock) {
  Storage first = Storage::allocate(8);
  EXPECT_TRUE(first.is_unique());
  {
    const Storage second = first;
    EXPECT_EQ(second.data(), first.data());
    EXPECT_FALSE(first.is_unique());
  }
  EXPECT_TRUE(first.is_unique());
  const Storage moved = std::move(first);
  EXPECT_TRUE(moved.is_unique());
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): a moved-from Storage is empty
}

TEST(Storage, AssignmentLetsTheOldBlockGo) {
  int first_releases = 0, second_releases = 0;
  char bytes[2];
  Storage storage = Storage::adopt(&bytes[0], 1, count_release, &first_releases);
  storage = Storage::adopt(&bytes[1], 1, count_release, &second_releases);
  EXPECT_EQ(first_releases, 1);
  const Storage& same = storage;
  storage = same;
  EXPECT_EQ(storage.data(), &bytes[1]);
  EXPECT_EQ(second_releases, 0);
  storage = Storage();
  EXPECT_EQ(second_releases, 1);
}

TEST(Storage, AdoptedMemoryIsReleasedOnceByTheLast) {
  int releases = 0;
  char bytes[3];
  {
    const Storage first = Storage::adopt(bytes, sizeof bytes, count_release, &releases);
    EXPECT_EQ(first.data(), bytes);
    EXPECT_EQ(first.nbytes(), 3u);
    EXPECT_TRUE(first.is_unique());
    EXPECT_FALSE(first.is_owned());
    const Storage second = first;
    EXPECT_EQ(releases, 0);
  }
  EXPECT_EQ(releases, 1);
}

TEST(Storage, AdoptedMemoryMayNeedNoRelease) {
  char byte = 7;
  const Storage storage = Storage::adopt(&byte, 1, nullptr, nullptr);
  EXPECT_FALSE(storage.is_owned());
}

TEST(Storage, CountsFromManyThreads) {
  int releases = 0;
  char byte;
  {
    const Storage storage = Storage::adopt(&byte, 1, count_release, &releases);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([storage] {
        for (int j = 0; j < 1000; ++j) const Storage copy = storage;
      });
    }
    for (auto& thread : threads) thread.join();
    threads.clear();
    EXPECT_TRUE(storage.is_unique());
  }
  EXPECT_EQ(releases, 1);
}

TEST(SerialReference, KeepsTheBytesAfterTheLastStorage) {
  int releases = 0;
  char byte;
  Storage storage = Storage::adopt(&byte, 1, count_release, &releases);
  {
    const SerialReference first(storage);
    {
      const SerialReference second(storage);
      storage = Storage();
      EXPECT_EQ(releases, 0);
    }
    EXPECT_EQ(releases, 0);
  }
  EXPECT_EQ(releases, 1);
}

TEST(SerialReference, LeavesTheBytesToTheStorages) {
  Storage storage = Storage::allocate(8);
  {
    const SerialReference reference(storage);
    EXPECT_FALSE(storage.is_unique());
    const Storage copy = storage;
  }
  EXPECT_TRUE(storage.is_unique());
  std::memset(storage.data(), 0, 8);
  const SerialReference none{Storage()};
}

TEST(Storage, SaysHowMuchMemoryThereIsNot) {
  const size_t largest = std::numeric_limits<size_t>::max();
  try {
    Storage::allocate(largest);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kResourceExhausted);
    EXPECT_EQ(error.message(), "out of memory: cannot allocate 18446744073709551615 bytes");
  }
}

}  // namespace
}  // namespace farcall
