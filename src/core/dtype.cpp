#include <farcall/core/dtype.h>

#include <array>

#include <farcall/core/dlpack.h>

namespace farcall {
namespace {

using K = DTypeKind;
using D = DType;

// DLPack's DLDataTypeCode numbers.
constexpr uint8_t kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLComplex = 5, kDLBool = 6;
constexpr uint8_t kDLFloat8E3M4 = 7, kDLFloat8E4M3 = 8, kDLFloat8E4M3B11FNUZ = 9,
                  kDLFloat8E4M3FN = 10, kDLFloat8E4M3FNUZ = 11, kDLFloat8E5M2 = 12,
                  kDLFloat8E5M2FNUZ = 13, kDLFloat8E8M0FNU = 14;
constexpr uint8_t kDLNone = 255;

constexpr DTypeInfo kRows[] = {
    {D::kBool, K::kBool, 8, 1, "bool", "bool", "i1", kDLBool},
    {D::kInt8, K::kSigned, 8, 1, "int8", "i8", "i8", kDLInt},
    {D::kInt16, K::kSigned, 16, 2, "int16", "i16", "i16", kDLInt},
    {D::kInt32, K::kSigned, 32, 4, "int32", "i32", "i32", kDLInt},
    {D::kInt64, K::kSigned, 64, 8, "int64", "i64", "i64", kDLInt},
    {D::kUInt8, K::kUnsigned, 8, 1, "uint8", "u8", "ui8", kDLUInt},
    {D::kUInt16, K::kUnsigned, 16, 2, "uint16", "u16", "ui16", kDLUInt},
    {D::kUInt32, K::kUnsigned, 32, 4, "uint32", "u32", "ui32", kDLUInt},
    {D::kUInt64, K::kUnsigned, 64, 8, "uint64", "u64", "ui64", kDLUInt},
    {D::kFloat16, K::kFloat, 16, 2, "float16", "f16", "f16", kDLFloat},
    {D::kFloat32, K::kFloat, 32, 4, "float32", "f32", "f32", kDLFloat},
    {D::kFloat64, K::kFloat, 64, 8, "float64", "f64", "f64", kDLFloat},
    {D::kComplex64, K::kComplex, 64, 8, "complex64", "c64", "complex<f32>", kDLComplex},
    {D::kBFloat16, K::kFloat, 16, 2, "bfloat16", "bf16", "bf16", kDLBfloat},
    {D::kToken, K::kToken, 0, 0, "token", "token", "!stablehlo.token", kDLNone},
    {D::kComplex128, K::kComplex, 128, 16, "complex128", "c128", "complex<f64>", kDLComplex},
    {D::kFloat8E5M2, K::kFloat, 8, 1, "float8_e5m2", "f8_e5m2", "f8E5M2", kDLFloat8E5M2},
    {D::kFloat8E4M3FN, K::kFloat, 8, 1, "float8_e4m3fn", "f8_e4m3fn", "f8E4M3FN", kDLFloat8E4M3FN},
    {D::kInt4, K::kSigned, 4, 1, "int4", "i4", "i4", kDLNone},
    {D::kUInt4, K::kUnsigned, 4, 1, "uint4", "u4", "ui4", kDLNone},
    {D::kFloat8E4M3B11FNUZ, K::kFloat, 8, 1, "float8_e4m3b11fnuz", "f8_e4m3b11fnuz",
     "f8E4M3B11FNUZ", kDLFloat8E4M3B11FNUZ},
    {D::kFloat8E5M2FNUZ, K::kFloat, 8, 1, "float8_e5m2fnuz", "f8_e5m2fnuz", "f8E5M2FNUZ",
     kDLFloat8E5M2FNUZ},
    {D::kFloat8E4M3FNUZ, K::kFloat, 8, 1, "float8_e4m3fnuz", "f8_e4m3fnuz", "f8E4M3FNUZ",
     kDLFloat8E4M3FNUZ},
    {D::kInt2, K::kSigned, 2, 1, "int2", "i2", "i2", kDLNone},
    {D::kUInt2, K::kUnsigned, 2, 1, "uint2", "u2", "ui2", kDLNone},
    {D::kFloat8E4M3, K::kFloat, 8, 1, "float8_e4m3", "f8_e4m3", "f8E4M3", kDLFloat8E4M3},
    {D::kFloat8E3M4, K::kFloat, 8, 1, "float8_e3m4", "f8_e3m4", "f8E3M4", kDLFloat8E3M4},
    {D::kInt1, K::kSigned, 1, 1, "int1", "i1", "i1", kDLNone},
    {D::kUInt1, K::kUnsigned, 1, 1, "uint1", "u1", "ui1", kDLNone},
    {D::kFloat4E2M1FN, K::kFloat, 4, 1, "float4_e2m1fn", "f4_e2m1fn", "f4E2M1FN", kDLNone},
    {D::kFloat8E8M0FNU, K::kFloat, 8, 1, "float8_e8m0fnu", "f8_e8m0fnu", "f8E8M0FNU",
     kDLFloat8E8M0FNU},
};

// Dtypes that only farcall has.
constexpr DTypeInfo kOwnRows[] = {
    {D::kThreefryKey, K::kKey, 64, 8, "key<fry>", "key<fry>", "ui64", kDLNone},
};

constexpr DTypeInfo kInvalidRow = {D::kInvalid, K::kInvalid, 0,         0,
                                   "invalid",   "invalid",   "invalid", kDLNone};

constexpr auto kByCode = [] {
  std::array<DTypeInfo, kNumDTypes> table{};
  for (auto& row : table) row = kInvalidRow;
  for (const auto& row : kRows) table[static_cast<size_t>(row.dtype)] = row;
  for (const auto& row : kOwnRows) table[static_cast<size_t>(row.dtype)] = row;
  return table;
}();

}  // namespace

const DTypeInfo& dtype_info(DType dtype) {
  const auto code = static_cast<size_t>(dtype);
  return kByCode[code < kByCode.size() ? code : 0];
}

std::span<const DTypeInfo> all_dtypes() { return kRows; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const auto& row : kByCode) {
    const bool has_name = row.name == name || row.short_name == name;
    if (has_name && row.dtype != D::kInvalid) return row.dtype;
  }
  return std::nullopt;
}

DType dtype_of(DLDataType type) {
  for (const DTypeInfo& row : all_dtypes()) {
    const bool is_known = row.dlpack_code != kDLNone && row.dlpack_code == type.code;
    if (is_known && row.bits == type.bits && type.lanes == 1) return row.dtype;
  }
  return DType::kInvalid;
}

bool is_integer(DType dtype) {
  const auto kind = dtype_info(dtype).kind;
  return kind == K::kSigned || kind == K::kUnsigned;
}
bool is_floating(DType dtype) { return dtype_info(dtype).kind == K::kFloat; }
bool is_complex(DType dtype) { return dtype_info(dtype).kind == K::kComplex; }
bool is_inexact(DType dtype) { return is_floating(dtype) || is_complex(dtype); }
bool is_number(DType dtype) { return is_integer(dtype) || is_inexact(dtype); }
bool is_ordered(DType dtype) {
  return dtype == DType::kBool || is_integer(dtype) || is_floating(dtype);
}
bool is_key(DType dtype) { return dtype_info(dtype).kind == K::kKey; }

DType real_dtype(DType dtype) {
  return dtype == D::kComplex64 ? D::kFloat32 : dtype == D::kComplex128 ? D::kFloat64 : dtype;
}
DType complex_dtype(DType dtype) {
  return dtype == D::kFloat32 ? D::kComplex64 : dtype == D::kFloat64 ? D::kComplex128 : dtype;
}

}  // namespace farcall
