#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include <farcall/core/storage_array.h>

namespace farcall {
namespace {

void count_one(void* context) { ++*static_cast<int*>(context); }

TEST(StorageArray, AreEmptyAndReleaseWhatTheyHold) {
  for (const size_t count : {0, 1, 8, 9, 100}) {
    int byte = 0, num_released = 0;
    {
      StorageArray results(count);
      ASSERT_EQ(results.span().size(), count);
      EXPECT_TRUE(std::ranges::none_of(results.span(), &Storage::operator bool));
      for (size_t i = 0; i < count; ++i) {
        results[i] = Storage::adopt(&byte, 1, count_one, &num_released);
      }
      if (count > 0) {
        const Storage taken = std::move(results[0]);
        EXPECT_FALSE(results[0]);
        EXPECT_EQ(num_released, 0);
      }
      EXPECT_EQ(num_released, count > 0 ? 1 : 0);
    }
    EXPECT_EQ(num_released, static_cast<int>(count));
  }
}

}  // namespace
}  // namespace farcall
