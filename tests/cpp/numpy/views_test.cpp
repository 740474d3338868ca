// The bits of elements as those of other dtypes.
#include <farcall/numpy/views.h>

#include <complex>
#include <cstdint>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/jit.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace farcall {
namespace {

using ::testing::ElementsAre;

template <class T>
std::vector<T> values(const Array& x) {
  const auto elements = x.values<T>();
  return {elements.begin(), elements.end()};
}

TEST(View, HasTheBitsInElementsOfAnySize) {
  const Array x = numpy::reshape(Array::of<uint16_t>({0x0201, 0x0403, 0x8584, 0xFFFE}), {1, 4});
  const Array bytes = numpy::view(x, DType::kUInt8);
  EXPECT_THAT(values<uint8_t>(bytes), ElementsAre(1, 2, 3, 4, 0x84, 0x85, 0xFE, 0xFF));
  EXPECT_EQ(bytes.type(), ShapeDtype(DType::kUInt8, {1, 8}));
  const Array words = numpy::view(x, DType::kUInt32);
  EXPECT_THAT(values<uint32_t>(words), ElementsAre(0x04030201u, 0xFFFE8584u));
  EXPECT_EQ(words.type(), ShapeDtype(DType::kUInt32, {1, 2}));
  EXPECT_THAT(values<int64_t>(numpy::view(x, DType::kInt64)), ElementsAre(-0x17A7BFBFCFDFF));
  EXPECT_THAT(values<float>(numpy::view(Array(0x3FC00000), DType::kFloat32)), ElementsAre(1.5F));
  EXPECT_THAT(values<bool>(numpy::view(x, DType::kBool)), ::testing::Each(true));
}

TEST(View, PutsThePartsOfComplexNumbersOneAfterTheOther) {
  const Array z = Array::of<std::complex<float>>({{1, 2}, {3, 4}});
  const Array parts = jit([](const Array& x) { return numpy::view(x, DType::kFloat32); })(z);
  EXPECT_THAT(values<float>(parts), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(values<std::complex<float>>(numpy::view(parts, DType::kComplex64)),
              ElementsAre(std::complex<float>(1, 2), std::complex<float>(3, 4)));
}

TEST(View, RefusesAPartOfAnElement) {
  const auto message = [](const Array& x, DType dtype) {
    try {
      numpy::view(x, dtype);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(numpy::zeros({2, 3}, DType::kUInt8), DType::kUInt16),
            "view: the last dimension of u8[2,3] does not hold a whole number of elements of "
            "uint16");
  EXPECT_THAT(message(Array(1), DType::kUInt8), ::testing::StartsWith("view: the last dimension"));
}

TEST(Byteswap, ReversesTheBytesOfEachPart) {
  const Array x = Array::of<uint32_t>({0x01020304, 0xFF});
  EXPECT_THAT(values<uint32_t>(numpy::byteswap(x)), ElementsAre(0x04030201u, 0xFF000000u));
  const Array z = numpy::view(Array::of<uint32_t>({0x01020304, 0x05060708}), DType::kComplex64);
  EXPECT_THAT(values<uint32_t>(numpy::view(numpy::byteswap(z), DType::kUInt32)),
              ElementsAre(0x04030201u, 0x08070605u));
  const Array bytes = Array::of<int8_t>({1, -2});
  EXPECT_THAT(values<int8_t>(numpy::byteswap(bytes)), ElementsAre(1, -2));
}

}  // namespace
}  // namespace farcall
