#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/abi.h>
#include <farcall/core/dtype.h>

namespace farcall {
namespace {

// The name, number and size of each dtype in the binary interface, written out, not derived.
struct Expected {
  DType dtype;
  FARCALL_FFI_DataType abi;
  int bits;
  size_t byte_width;
  const char* name;
};

constexpr Expected kExpected[] = {
    {DType::kBool, FARCALL_FFI_DataType_PRED, 8, 1, "bool"},
    {DType::kInt8, FARCALL_FFI_DataType_S8, 8, 1, "int8"},
    {DType::kInt16, FARCALL_FFI_DataType_S16, 16, 2, "int16"},
    {DType::kInt32, FARCALL_FFI_DataType_S32, 32, 4, "int32"},
    {DType::kInt64, FARCALL_FFI_DataType_S64, 64, 8, "int64"},
    {DType::kUInt8, FARCALL_FFI_DataType_U8, 8, 1, "uint8"},
    {DType::kUInt16, FARCALL_FFI_DataType_U16, 16, 2, "uint16"},
    {DType::kUInt32, FARCALL_FFI_DataType_U32, 32, 4, "uint32"},
    {DType::kUInt64, FARCALL_FFI_DataType_U64, 64, 8, "uint64"},
    {DType::kFloat16, FARCALL_FFI_DataType_F16, 16, 2, "float16"},
    {DType::kFloat32, FARCALL_FFI_DataType_F32, 32, 4, "float32"},
    {DType::kFloat64, FARCALL_FFI_DataType_F64, 64, 8, "float64"},
    {DType::kComplex64, FARCALL_FFI_DataType_C64, 64, 8, "complex64"},
    {DType::kBFloat16, FARCALL_FFI_DataType_BF16, 16, 2, "bfloat16"},
    {DType::kToken, FARCALL_FFI_DataType_TOKEN, 0, 0, "token"},
    {DType::kComplex128, FARCALL_FFI_DataType_C128, 128, 16, "complex128"},
    {DType::kFloat8E5M2, FARCALL_FFI_DataType_F8E5M2, 8, 1, "float8_e5m2"},
    {DType::kFloat8E4M3FN, FARCALL_FFI_DataType_F8E4M3FN, 8, 1, "float8_e4m3fn"},
    {DType::kInt4, FARCALL_FFI_DataType_S4, 4, 1, "int4"},
    {DType::kUInt4, FARCALL_FFI_DataType_U4, 4, 1, "uint4"},
    {DType::kFloat8E4M3B11FNUZ, FARCALL_FFI_DataType_F8E4M3B11FNUZ, 8, 1, "float8_e4m3b11fnuz"},
    {DType::kFloat8E5M2FNUZ, FARCALL_FFI_DataType_F8E5M2FNUZ, 8, 1, "float8_e5m2fnuz"},
    {DType::kFloat8E4M3FNUZ, FARCALL_FFI_DataType_F8E4M3FNUZ, 8, 1, "float8_e4m3fnuz"},
    {DType::kInt2, FARCALL_FFI_DataType_S2, 2, 1, "int2"},
    {DType::kUInt2, FARCALL_FFI_DataType_U2, 2, 1, "uint2"},
    {DType::kFloat8E4M3, FARCALL_FFI_DataType_F8E4M3, 8, 1, "float8_e4m3"},
    {DType::kFloat8E3M4, FARCALL_FFI_DataType_F8E3M4, 8, 1, "float8_e3m4"},
    {DType::kInt1, FARCALL_FFI_DataType_S1, 1, 1, "int1"},
    {DType::kUInt1, FARCALL_FFI_DataType_U1, 1, 1, "uint1"},
    {DType::kFloat4E2M1FN, FARCALL_FFI_DataType_F4E2M1FN, 4, 1, "float4_e2m1fn"},
    {DType::kFloat8E8M0FNU, FARCALL_FFI_DataType_F8E8M0FNU, 8, 1, "float8_e8m0fnu"},
};

TEST(DType, TableAgreesWithTheInterface) {
  ASSERT_EQ(all_dtypes().size(), std::size(kExpected));
  for (size_t i = 0; i < std::size(kExpected); ++i) {
    const Expected& expected = kExpected[i];
    SCOPED_TRACE(expected.name);
    EXPECT_EQ(static_cast<int>(expected.dtype), static_cast<int>(expected.abi));
    EXPECT_EQ(all_dtypes()[i].dtype, expected.dtype);
    EXPECT_EQ(dtype_info(expected.dtype).bits, expected.bits);
    EXPECT_EQ(byte_width(expected.dtype), expected.byte_width);
    EXPECT_EQ(dtype_name(expected.dtype), expected.name);
  }
}

TEST(DType, RowsAreOrderedByCode) {
  int last = 0;
  for (const DTypeInfo& row : all_dtypes()) {
    EXPECT_GT(static_cast<int>(row.dtype), last);
    last = static_cast<int>(row.dtype);
  }
  EXPECT_LT(last, kNumDTypes);
}

// Random keys are not among the dtypes of the binary interface.
TEST(DType, KeysAreApart) {
  const DTypeInfo& row = dtype_info(DType::kThreefryKey);
  EXPECT_EQ(row.dtype, DType::kThreefryKey);
  EXPECT_EQ(static_cast<int>(row.dtype) + 1, kNumDTypes);
  EXPECT_EQ(row.name, "key<fry>");
  EXPECT_EQ(row.byte_width, 8);
  EXPECT_EQ(parse_dtype("key<fry>"), DType::kThreefryKey);
  EXPECT_TRUE(is_key(row.dtype));
  EXPECT_FALSE(is_integer(row.dtype) || is_floating(row.dtype) || is_complex(row.dtype));
  EXPECT_FALSE(is_key(DType::kUInt64));
  for (const DTypeInfo& other : all_dtypes()) EXPECT_FALSE(is_key(other.dtype)) << other.name;
}

TEST(DType, NumbersWithoutADtypeAreInvalid) {
  for (const int number : {0, 13, 14, 34, 255}) {
    const DTypeInfo& row = dtype_info(static_cast<DType>(number));
    EXPECT_EQ(row.dtype, DType::kInvalid) << number;
    EXPECT_EQ(row.kind, DTypeKind::kInvalid) << number;
    EXPECT_EQ(row.name, "invalid") << number;
  }
}

TEST(DType, ParsesLongAndShortNames) {
  for (const DTypeInfo& row : all_dtypes()) {
    EXPECT_EQ(parse_dtype(row.name), row.dtype);
    EXPECT_EQ(parse_dtype(row.short_name), row.dtype);
  }
  for (const char* name : {"", "float", "F32", "invalid", "f32 "}) {
    EXPECT_EQ(parse_dtype(name), std::nullopt) << name;
  }
}

TEST(DType, NamesAreUnique) {
  std::set<std::string_view> names, short_names;
  for (const DTypeInfo& row : all_dtypes()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(short_names.insert(row.short_name).second) << row.short_name;
  }
}

TEST(DType, EveryDtypeHasOneKind) {
  for (const DTypeInfo& row : all_dtypes()) {
    const int kinds = is_integer(row.dtype) + is_floating(row.dtype) + is_complex(row.dtype) +
                      (row.dtype == DType::kBool) + (row.dtype == DType::kToken);
    EXPECT_EQ(kinds, 1) << row.name;
  }
  EXPECT_TRUE(is_integer(DType::kUInt4));
  EXPECT_FALSE(is_integer(DType::kBool));
  EXPECT_TRUE(is_floating(DType::kBFloat16));
  EXPECT_FALSE(is_floating(DType::kComplex64));
}

// Elements of less than eight bits take one byte here. DLPack packs them, so they have no DLPack
// code.
TEST(DType, DLPackCodesAreThoseOfDtypesWithWholeBytes) {
  for (const DTypeInfo& row : all_dtypes()) {
    EXPECT_EQ(row.dlpack_code != 255, row.bits >= 8) << row.name;
  }
  EXPECT_EQ(dtype_info(DType::kFloat32).dlpack_code, 2);
  EXPECT_EQ(dtype_info(DType::kBFloat16).dlpack_code, 4);
  EXPECT_EQ(dtype_info(DType::kBool).dlpack_code, 6);
}

TEST(DType, StableHloNames) {
  EXPECT_EQ(dtype_info(DType::kBool).stablehlo, "i1");
  EXPECT_EQ(dtype_info(DType::kUInt8).stablehlo, "ui8");
  EXPECT_EQ(dtype_info(DType::kComplex128).stablehlo, "complex<f64>");
  EXPECT_EQ(dtype_info(DType::kFloat8E4M3B11FNUZ).stablehlo, "f8E4M3B11FNUZ");
}

TEST(DType, ComplexNumbersHavePartsOfAFloatDType) {
  EXPECT_EQ(real_dtype(DType::kComplex64), DType::kFloat32);
  EXPECT_EQ(real_dtype(DType::kComplex128), DType::kFloat64);
  EXPECT_EQ(complex_dtype(DType::kFloat32), DType::kComplex64);
  EXPECT_EQ(complex_dtype(DType::kFloat64), DType::kComplex128);
  for (const DTypeInfo& row : all_dtypes()) {
    SCOPED_TRACE(row.name);
    if (row.kind == DTypeKind::kComplex) {
      EXPECT_EQ(dtype_info(real_dtype(row.dtype)).bits * 2, row.bits);
      EXPECT_EQ(complex_dtype(row.dtype), row.dtype);
    } else {
      EXPECT_EQ(real_dtype(row.dtype), row.dtype);
    }
    EXPECT_EQ(is_inexact(row.dtype),
              row.kind == DTypeKind::kFloat || row.kind == DTypeKind::kComplex);
  }
}

}  // namespace
}  // namespace farcall
