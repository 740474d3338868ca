// The structs of DLPack that describe a tensor (interface version 1.0 and earlier).
#pragma once

#include <cstdint>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>

namespace farcall {

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // elements; null: dense
  uint64_t byte_offset;
};
inline constexpr int32_t kDLCPU = 1;
inline constexpr int32_t kDLCUDA = 2;
inline constexpr int32_t kDLROCM = 10;

// kInvalid if farcall has no such dtype.
FARCALL_API DType dtype_of(DLDataType type);

}  // namespace farcall
