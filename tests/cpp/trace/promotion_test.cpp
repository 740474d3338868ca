// Promotion of dtypes, compared with JAX's table, written out by hand.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <farcall/ops/promotion.h>

#include "arrays.h"

namespace farcall {
namespace {

using testing::error_of;

// One row per left operand, in the order of the columns. i*, f* and c* are the weak types. With
// enable_x64 off, i64 without a 64-bit operand becomes i32.
constexpr const char* kNames[] = {"b1", "u8",  "u16", "u32", "u64", "i8",   "i16", "i32", "i64",
                                  "bf", "f16", "f32", "f64", "c64", "c128", "i*",  "f*",  "c*"};
constexpr const char* kTable =
    // b1   u8   u16  u32  u64  i8   i16  i32  i64  bf   f16  f32  f64  c64  c128 i*   f*   c*
    "  b1   u8   u16  u32  u64  i8   i16  i32  i64  bf   f16  f32  f64  c64  c128 i*   f*   c* "  // b1
    "  u8   u8   u16  u32  u64  i16  i16  i32  i64  bf   f16  f32  f64  c64  c128 u8   f*   c* "  // u8
    "  u16  u16  u16  u32  u64  i32  i32  i32  i64  bf   f16  f32  f64  c64  c128 u16  f*   c* "  // u16
    "  u32  u32  u32  u32  u64  i64  i64  i64  i64  bf   f16  f32  f64  c64  c128 u32  f*   c* "  // u32
    "  u64  u64  u64  u64  u64  f*   f*   f*   f*   bf   f16  f32  f64  c64  c128 u64  f*   c* "  // u64
    "  i8   i16  i32  i64  f*   i8   i16  i32  i64  bf   f16  f32  f64  c64  c128 i8   f*   c* "  // i8
    "  i16  i16  i32  i64  f*   i16  i16  i32  i64  bf   f16  f32  f64  c64  c128 i16  f*   c* "  // i16
    "  i32  i32  i32  i64  f*   i32  i32  i32  i64  bf   f16  f32  f64  c64  c128 i32  f*   c* "  // i32
    "  i64  i64  i64  i64  f*   i64  i64  i64  i64  bf   f16  f32  f64  c64  c128 i64  f*   c* "  // i64
    "  bf   bf   bf   bf   bf   bf   bf   bf   bf   bf   f32  f32  f64  c64  c128 bf   bf   c64"  // bf
    "  f16  f16  f16  f16  f16  f16  f16  f16  f16  f32  f16  f32  f64  c64  c128 f16  f16  c64"  // f16
    "  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f64  c64  c128 f32  f32  c64"  // f32
    "  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  c128 c128 f64  f64  c128"  // f64
    "  c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c128 c64  c128 c64  c64  c64"  // c64
    "  c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128"  // c128
    "  i*   u8   u16  u32  u64  i8   i16  i32  i64  bf   f16  f32  f64  c64  c128 i*   f*   c* "  // i*
    "  f*   f*   f*   f*   f*   f*   f*   f*   f*   bf   f16  f32  f64  c64  c128 f*   f*   c* "  // f*
    "  c*   c*   c*   c*   c*   c*   c*   c*   c*   c64  c64  c64  c128 c64  c128 c*   c*   c* ";  // c*

PromotedDType dtype_of(const std::string& name) {
  static const std::map<std::string, PromotedDType> dtypes = {
      {"b1", {DType::kBool, false}},         {"u8", {DType::kUInt8, false}},
      {"u16", {DType::kUInt16, false}},      {"u32", {DType::kUInt32, false}},
      {"u64", {DType::kUInt64, false}},      {"i8", {DType::kInt8, false}},
      {"i16", {DType::kInt16, false}},       {"i32", {DType::kInt32, false}},
      {"i64", {DType::kInt64, false}},       {"bf", {DType::kBFloat16, false}},
      {"f16", {DType::kFloat16, false}},     {"f32", {DType::kFloat32, false}},
      {"f64", {DType::kFloat64, false}},     {"c64", {DType::kComplex64, false}},
      {"c128", {DType::kComplex128, false}}, {"i*", {DType::kInt32, true}},
      {"f*", {DType::kFloat32, true}},       {"c*", {DType::kComplex64, true}}};
  return dtypes.at(name);
}

ShapeDtype type_of(const std::string& name) {
  const PromotedDType dtype = dtype_of(name);
  return ShapeDtype(dtype.dtype, {}, dtype.weak_type);
}

std::string to_string(PromotedDType dtype) {
  return std::string(dtype_name(dtype.dtype)) + (dtype.weak_type ? "*" : "");
}

TEST(Promotion, EveryPair) {
  std::istringstream table(kTable);
  const auto has_64_bits = [](const std::string& name) { return name == "i64" || name == "u64"; };
  for (const std::string left : kNames) {
    for (const std::string right : kNames) {
      std::string wanted;
      table >> wanted;
      const ShapeDtype types[] = {type_of(left), type_of(right)};
      if (wanted == "i64" && !has_64_bits(left) && !has_64_bits(right)) wanted = "i32";
      EXPECT_EQ(to_string(promote_types(types)), to_string(dtype_of(wanted)))
          << left << " and " << right;
    }
  }
}

TEST(Promotion, IsAssociative) {
  for (const std::string a : kNames) {
    for (const std::string b : kNames) {
      for (const std::string c : kNames) {
        const ShapeDtype all[] = {type_of(a), type_of(b), type_of(c)};
        const auto join = [](ShapeDtype x, ShapeDtype y) {
          const ShapeDtype types[] = {x, y};
          const PromotedDType to = promote_types(types);
          return ShapeDtype(to.dtype, {}, to.weak_type);
        };
        EXPECT_EQ(join(join(all[0], all[1]), all[2]), join(all[0], join(all[1], all[2])))
            << a << ' ' << b << ' ' << c;
      }
    }
  }
}

TEST(Promotion, OneTypeStaysAsItIs) {
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.kind == DTypeKind::kToken) continue;
    for (const bool weak : {false, true}) {
      if (weak && info.kind == DTypeKind::kBool) continue;
      const ShapeDtype type(info.dtype, {}, weak);
      EXPECT_EQ(promote_types({&type, 1}), (PromotedDType{info.dtype, weak})) << info.name;
    }
  }
}

TEST(Promotion, NarrowTypesMeetWeakNumbersAlone) {
  for (const DType dtype : {DType::kInt4, DType::kUInt2, DType::kFloat8E4M3FN, DType::kFloat8E5M2,
                            DType::kFloat4E2M1FN}) {
    const ShapeDtype with_int[] = {ShapeDtype(dtype, {}), ShapeDtype(DType::kInt32, {}, true)};
    EXPECT_EQ(promote_types(with_int), (PromotedDType{dtype, false}));
  }
  const ShapeDtype types[] = {ShapeDtype(DType::kFloat8E4M3FN, {2}),
                              ShapeDtype(DType::kFloat8E5M2, {2})};
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { promote_types(types); }),
            "operands (f8_e4m3fn[2], f8_e5m2[2]) have no common dtype: narrow types are not "
            "promoted to one another. Convert them with astype first");
  const ShapeDtype token(DType::kToken, {});
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [&] {
                       promote_types({&token, 1});
                     }),
            "a token has no elements to compute with");
}

TEST(Promotion, ToInexact) {
  const auto inexact = [](std::initializer_list<ShapeDtype> types) {
    return promote_to_inexact(std::span(types.begin(), types.size()));
  };
  const auto strong = [](DType dtype) { return ShapeDtype(dtype, {}); };
  const auto weak = [](DType dtype) { return ShapeDtype(dtype, {}, true); };
  const PromotedDType f32{DType::kFloat32, false}, weak_f32{DType::kFloat32, true};
  for (const DType dtype :
       {DType::kBool, DType::kInt4, DType::kUInt8, DType::kInt32, DType::kInt64, DType::kUInt64}) {
    EXPECT_EQ(inexact({strong(dtype)}), f32) << dtype_name(dtype);
  }
  EXPECT_EQ(inexact({weak(DType::kInt32)}), weak_f32);
  EXPECT_EQ(inexact({strong(DType::kInt32), weak(DType::kInt32)}), f32);
  EXPECT_EQ(inexact({strong(DType::kInt32), weak(DType::kFloat32)}), weak_f32);
  EXPECT_EQ(inexact({strong(DType::kInt32), strong(DType::kBFloat16)}),
            (PromotedDType{DType::kBFloat16, false}));
  EXPECT_EQ(inexact({strong(DType::kFloat16)}), (PromotedDType{DType::kFloat16, false}));
}

TEST(Promotion, OfArrays) {
  const Array i8 = Array::of<int8_t>({1}), f64 = Array::of<double>({1});
  EXPECT_EQ((i8 + 1).dtype(), DType::kInt8);
  EXPECT_EQ((i8 + 1.5).dtype(), DType::kFloat32);
  EXPECT_EQ((f64 + 1.5).dtype(), DType::kFloat64);
  EXPECT_EQ((i8 / i8).type(), ShapeDtype(DType::kFloat32, {1}));
  EXPECT_EQ((i8 + Array::of<uint8_t>({1})).dtype(), DType::kInt16);
  EXPECT_EQ((Array(1) + Array(2)).type(), ShapeDtype(DType::kInt32, {}, true));
  EXPECT_EQ(numpy::mean(i8).type(), ShapeDtype(DType::kFloat32, {}));
}

TEST(Promotion, OfANumberThatDoesNotFitTheLowBitsCount) {
  EXPECT_EQ((Array::of<int8_t>({1}) + 300).item<int8_t>(), 45);
  EXPECT_EQ((Array::of<uint32_t>({1}) + -2).item<uint32_t>(), 0xffffffffu);
  EXPECT_EQ((Array::of<uint64_t>({0}) + -1).item<uint64_t>(), ~uint64_t{0});
}

TEST(Promotion, Strengthen) {
  const Array weak(2.5);
  const Array strong = strengthen(weak);
  EXPECT_EQ(strong.type(), ShapeDtype(DType::kFloat32, {}));
  EXPECT_EQ(strong.data(), weak.data());  // no copy
}

}  // namespace
}  // namespace farcall
