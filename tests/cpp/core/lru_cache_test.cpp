// LruCache: lookup, order of eviction, counters.
#include <farcall/core/lru_cache.h>

#include <gmock/gmock.h>

#include <farcall/core/error.h>

namespace farcall {
namespace {

class Limit {
 public:
  explicit Limit(size_t limit) { set_cache_limit(limit); }
  ~Limit() { set_cache_limit(before_); }

 private:
  size_t before_ = cache_limit();
};

class LruCacheTest : public testing::Test {
 protected:
  std::shared_ptr<const int> find(int value) {
    return cache_.find(hash(value), [&](int known) { return known == value; });
  }
  size_t insert(int value) {
    return cache_.insert(hash(value), std::make_shared<const int>(value)).size();
  }
  // Every third value collides with another one.
  static size_t hash(int value) { return static_cast<size_t>(value % 3); }

  LruCache<const int> cache_;
};

TEST_F(LruCacheTest, FindsWhatMatchesAmongValuesOfOneHash) {
  insert(1);
  insert(4);
  ASSERT_TRUE(find(1));
  EXPECT_EQ(*find(4), 4);
  EXPECT_FALSE(find(7));
  EXPECT_EQ(cache_.candidates(1).size(), 2u);
}

TEST_F(LruCacheTest, WhatWasUsedLeastRecentlyGoesFirst) {
  const Limit limit(3);
  for (const int value : {1, 2, 3}) EXPECT_EQ(insert(value), 0u);
  find(1);
  cache_.touch(hash(2), cache_.candidates(hash(2)).front());
  EXPECT_EQ(insert(4), 1u);  // evicts 3
  EXPECT_FALSE(find(3));
  EXPECT_TRUE(find(1) && find(2) && find(4));
}

TEST_F(LruCacheTest, ASmallerLimitHoldsFromTheNextInsertionOn) {
  for (int value = 0; value < 10; ++value) insert(value);
  const Limit limit(2);
  EXPECT_EQ(cache_.size(), 10u);
  EXPECT_EQ(insert(10), 9u);
  EXPECT_TRUE(find(10) && find(9));
}

TEST_F(LruCacheTest, ValuesComeBackAliveWhenTheCacheIsCleared) {
  insert(1);
  const auto held = cache_.clear();
  EXPECT_EQ(*held.front(), 1);
  EXPECT_FALSE(find(1));
  cache_.touch(hash(1), held.front());  // no effect
  EXPECT_EQ(cache_.size(), 0u);
}

TEST_F(LruCacheTest, InfoCountsWhatWasMadeAndWhatWent) {
  const Limit limit(2);
  for (const int value : {1, 2, 3}) insert(value);
  const CacheInfo info = cache_.info();
  EXPECT_EQ(info.size, 2u);
  EXPECT_EQ(info.limit, 2u);
  EXPECT_EQ(info.misses, 3u);
  EXPECT_EQ(info.evictions, 1u);
}

TEST(CacheLimit, ZeroIsRefused) {
  EXPECT_THROW(set_cache_limit(0), Error);
  EXPECT_GT(cache_limit(), 0u);
}

}  // namespace
}  // namespace farcall
