#include <memory>

#include <gtest/gtest.h>

#include <farcall/core/short_list.h>

namespace farcall {
namespace {

TEST(ShortList, HoldsItsElementsInPlaceOrElsewhereAndDestroysThem) {
  const auto shared = std::make_shared<int>(7);
  for (const size_t count : {0, 1, 3, 4, 100}) {
    {
      ShortList<std::shared_ptr<int>, 3> list(count);
      EXPECT_TRUE(list.span().empty());
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(list.emplace_back(shared), shared);
      ASSERT_EQ(list.span().size(), count);
      EXPECT_EQ(shared.use_count(), static_cast<long>(count) + 1);
      const auto* first = reinterpret_cast<const std::byte*>(list.span().data());
      const auto* own = reinterpret_cast<const std::byte*>(&list);
      EXPECT_EQ(first >= own && first < own + sizeof(list), count <= 3);
      if (count > 0) {
        list[0] = nullptr;
        EXPECT_EQ(shared.use_count(), static_cast<long>(count));
      }
    }
    EXPECT_EQ(shared.use_count(), 1);
  }
}

}  // namespace
}  // namespace farcall
