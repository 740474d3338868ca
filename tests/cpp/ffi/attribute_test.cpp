#include <farcall/ffi/attribute.h>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "ffi/attribute_frame.h"
#include "testing.h"

namespace farcall {
namespace {

using testing::error_of;

std::span<const std::byte> raw(const void* data, size_t size) {
  return {static_cast<const std::byte*>(data), size};
}

TEST(Attribute, TextIsExactAndTyped) {
  EXPECT_EQ(Attribute(1e-5f).to_string(), "1e-05:f32");
  EXPECT_EQ(Attribute(1.0).to_string(), "1.0:f64");
  EXPECT_EQ(Attribute(0.1).to_string(), "0.1:f64");
  EXPECT_EQ(Attribute(-0.0).to_string(), "-0.0:f64");
  EXPECT_EQ(Attribute(true).to_string(), "True:bool");
  EXPECT_EQ(Attribute(int8_t{-3}).to_string(), "-3:i8");
  EXPECT_EQ(Attribute(std::numeric_limits<uint64_t>::max()).to_string(),
            "18446744073709551615:u64");
  EXPECT_EQ(Attribute(std::complex<float>(1, -2)).to_string(), "(1.0-2.0j):c64");
  EXPECT_EQ(Attribute(std::vector<int64_t>{1, 2}).to_string(), "[1,2]:i64");
  EXPECT_EQ(Attribute(std::vector<float>{}).to_string(), "[]:f32");
  EXPECT_EQ(Attribute("a\"b\n\x01\xff").to_string(), "\"a\\\"b\\n\\x01\\xff\"");
  EXPECT_EQ(Attribute("\u00fc").to_string(), "\"\u00fc\"");
  EXPECT_EQ(Attribute(Attributes{{"b", 2}, {"a", "x"}}).to_string(), "{a=\"x\", b=2:i32}");
  EXPECT_EQ(Attributes({{"a b", true}}).to_string(), "{\"a b\"=True:bool}");
}

TEST(Attribute, TextOfSpecialNumbers) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Attribute(infinity).to_string(), "inf:f32");
  EXPECT_EQ(Attribute(-infinity).to_string(), "-inf:f32");
  EXPECT_EQ(Attribute(std::numeric_limits<float>::quiet_NaN()).to_string(), "nan:f32");
}

TEST(Attribute, TextOfNarrowTypes) {
  const uint16_t half[] = {0x3c00, 0x0001, 0xfc00, 0x7e00};
  EXPECT_EQ(Attribute::array(DType::kFloat16, 4, raw(half, 8)).to_string(),
            "[1.0,6e-08,-inf,nan]:f16");
  const uint16_t brain = 0x4049;
  EXPECT_EQ(Attribute::scalar(DType::kBFloat16, raw(&brain, 2)).to_string(), "3.14:bf16");
  const uint8_t byte = 0x3c;
  EXPECT_EQ(Attribute::scalar(DType::kFloat8E5M2, raw(&byte, 1)).to_string(), "1.0:f8_e5m2");
  const int8_t nibble = -7;
  EXPECT_EQ(Attribute::scalar(DType::kInt4, raw(&nibble, 1)).to_string(), "-7:i4");
}

TEST(Attribute, EqualityIsOfTypeAndBits) {
  const Attribute twos[] = {2, int64_t{2}, 2.0, 2.0f, uint32_t{2}, true, "2", Attributes{}};
  for (size_t i = 0; i < std::size(twos); ++i) {
    for (size_t j = 0; j < std::size(twos); ++j) EXPECT_EQ(twos[i] == twos[j], i == j) << i << j;
  }
  EXPECT_EQ(Attribute(std::nan("")), Attribute(std::nan("")));
  EXPECT_FALSE(Attribute(0.0) == Attribute(-0.0));
  EXPECT_FALSE(Attribute(2) == Attribute(std::vector<int>{2}));
  EXPECT_EQ(Attribute(2).hash(), Attribute(2).hash());
  EXPECT_NE(Attribute(2).hash(), Attribute(int64_t{2}).hash());
  EXPECT_NE(Attribute(2).hash(), Attribute(2.0f).hash());
}

TEST(Attribute, ReadsBackOnlyAsItsOwnType) {
  EXPECT_EQ(Attribute(7).as<int32_t>(), 7);
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { Attribute(7).as<int64_t>(); }),
            "attribute: expected a scalar of type int64, got 7:i32");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { Attribute(7).as_string(); }),
            "attribute: expected a string, got a scalar (7:i32)");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { Attribute("x").as_dictionary(); }),
            "attribute: expected a dictionary, got a string (\"x\")");
}

TEST(Attribute, RawBytesMustFit) {
  const char bytes[4] = {};
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [&] { Attribute::scalar(DType::kFloat64, raw(bytes, 4)); }),
            "attribute: 1 element(s) of type float64 take 8 bytes, got 4");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [&] { Attribute::array(DType::kToken, 1, raw(bytes, 0)); }),
            "attribute: elements of type token have no value");
  error_of(ErrorCode::kInvalidArgument, [&] {
    Attribute::array(DType::kInt64, size_t{1} << 61, raw(bytes, 0));  // the product overflows
  });
}

TEST(Attributes, SortedByBytesAndUnique) {
  Attributes attributes = {{"b", 1}, {"a", 2}, {"B", 3}, {"\xc3\xbc", 4}};
  std::string names;
  for (const auto& [name, value] : attributes) names += name + " ";
  EXPECT_EQ(names, "B a b \xc3\xbc ");
  EXPECT_EQ(attributes.find("a")->as<int>(), 2);
  EXPECT_EQ(attributes.find("c"), nullptr);
  attributes.set("a", 5.0);
  attributes.set("aa", 6);
  EXPECT_EQ(attributes.size(), 5u);
  EXPECT_EQ(attributes.find("a")->as<double>(), 5.0);
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [] {
                       Attributes({{"x", 1}, {"x", 2}});
                     }),
            "attributes: the name \"x\" is given twice");
}

TEST(AttributeFrame, IsWhatHandlersRead) {
  const AttributeFrame frame(
      {{"d", Attributes{{"inner", 1.5f}}}, {"a", std::vector<int32_t>{1, 2, 3}}, {"s", "text"}});
  const FARCALL_FFI_Attrs& attrs = frame.attrs();
  ASSERT_EQ(attrs.size, 3);
  EXPECT_EQ(std::string(attrs.names[1]->ptr, attrs.names[1]->len), "d");
  ASSERT_EQ(attrs.types[0], FARCALL_FFI_AttrType_ARRAY);
  const auto* array = static_cast<FARCALL_FFI_Array*>(attrs.attrs[0]);
  EXPECT_EQ(array->size, 3u);
  EXPECT_EQ(static_cast<int32_t*>(array->data)[2], 3);
  ASSERT_EQ(attrs.types[1], FARCALL_FFI_AttrType_DICTIONARY);
  const auto* inner = static_cast<FARCALL_FFI_Attrs*>(attrs.attrs[1]);
  ASSERT_EQ(inner->types[0], FARCALL_FFI_AttrType_SCALAR);
  const auto* scalar = static_cast<FARCALL_FFI_Scalar*>(inner->attrs[0]);
  EXPECT_EQ(scalar->dtype, FARCALL_FFI_DataType_F32);
  EXPECT_EQ(*static_cast<float*>(scalar->value), 1.5f);
  ASSERT_EQ(attrs.types[2], FARCALL_FFI_AttrType_STRING);
  const auto* text = static_cast<FARCALL_FFI_ByteSpan*>(attrs.attrs[2]);
  EXPECT_EQ(std::string(text->ptr, text->len), "text");
}

}  // namespace
}  // namespace farcall
