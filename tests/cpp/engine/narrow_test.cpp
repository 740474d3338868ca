// Conversions between 16-bit floats and float32: the same bits as the types of the handler header,
// for each instruction set.
#include <bit>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <farcall/handler/small_float.h>

#include "engine/instruction_sets.h"
#include "engine/native/kernels/elementwise/convert.h"
#include "engine/native/kernels/vector/narrow.h"

namespace farcall::native {
namespace {

// Converts `from` between addresses that are aligned to the elements only.
template <class To, class From>
std::vector<To> converted(const Conversion& conversion, const std::vector<From>& from) {
  std::vector<From> source(1);
  source.insert(source.end(), from.begin(), from.end());
  std::vector<To> target(from.size() + 1);
  conversion.run(source.data() + 1, target.data() + 1, static_cast<int64_t>(from.size()));
  target.erase(target.begin());
  return target;
}

// Numbers of T, the midpoints between them, the neighbours of both, and NaNs of all kinds.
template <class T>
std::vector<uint32_t> corners() {
  std::vector<uint32_t> bits;
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const auto at = std::bit_cast<uint32_t>(static_cast<float>(T::from_bits(uint16_t(i))));
    const auto next = std::bit_cast<uint32_t>(static_cast<float>(T::from_bits(uint16_t(i + 1))));
    const uint32_t middle = at + (next - at) / 2;
    bits.insert(bits.end(), {at, middle - 1, middle, middle + 1});
  }
  for (uint32_t i = 0; i < 256; ++i) bits.push_back(i % 2 << 31 | 0x7f800000u | i << 15 | i);
  for (uint32_t i = 0; i < 64; ++i)
    bits.insert(bits.end(), {i, 0x80000000u | i, 0x477fe000u + i * 64});
  std::mt19937 random(2);
  for (int i = 0; i < 100'003; ++i) bits.push_back(static_cast<uint32_t>(random()));
  return bits;
}

template <class T>
void expect_bits_of(DType dtype) {
  std::vector<uint16_t> all(0x10000);
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  const std::vector<uint32_t> floats = corners<T>();
  testing::for_each_instruction_set([&](int64_t) {
    const Conversion widen = make_conversion(dtype, DType::kFloat32);
    const Conversion narrow = make_conversion(DType::kFloat32, dtype);
    const std::vector<uint32_t> wide = converted<uint32_t>(widen, all);
    for (uint32_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(wide[i], std::bit_cast<uint32_t>(static_cast<float>(T::from_bits(all[i])))) << i;
    }
    const std::vector<uint16_t> halves = converted<uint16_t>(narrow, floats);
    const std::vector<uint32_t> rounded = converted<uint32_t>(rounding_to(dtype), floats);
    for (size_t i = 0; i < floats.size(); ++i) {
      const T expected(std::bit_cast<float>(floats[i]));
      ASSERT_EQ(halves[i], expected.bits()) << floats[i];
      ASSERT_EQ(rounded[i], std::bit_cast<uint32_t>(static_cast<float>(expected))) << floats[i];
    }
    for (size_t size = 1; size < 70; ++size) {
      const std::vector<uint32_t> first(floats.begin(),
                                        floats.begin() + static_cast<int64_t>(size));
      const std::vector<uint16_t> few = converted<uint16_t>(narrow, first);
      ASSERT_TRUE(std::equal(few.begin(), few.end(), halves.begin())) << size;
      const std::vector<uint32_t> back = converted<uint32_t>(widen, few);
      ASSERT_TRUE(std::equal(back.begin(), back.end(), rounded.begin())) << size;
    }
  });
}

TEST(NarrowFloats, Float16HasTheBitsOfTheType) { expect_bits_of<ffi::float16>(DType::kFloat16); }
TEST(NarrowFloats, BFloat16HasTheBitsOfTheType) { expect_bits_of<ffi::bfloat16>(DType::kBFloat16); }

TEST(NarrowFloats, RoundInPlace) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat8E4M3FN}) {
    testing::for_each_instruction_set([&](int64_t) {
      std::vector<float> x(1003), y(1003);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 0.37f - 100;
      const auto size = static_cast<int64_t>(x.size());
      rounding_to(dtype).run(x.data(), y.data(), size);
      rounding_to(dtype).run(x.data(), x.data(), size);
      EXPECT_EQ(x, y);
      EXPECT_NE(x[1], 0.37f - 100);
    });
  }
}

}  // namespace
}  // namespace farcall::native
