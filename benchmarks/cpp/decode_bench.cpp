// Time to decode a call frame: farcall's header against XLA's, on the same frame, with handlers
// that do nothing. A pair of rows for each number of arguments and attributes.
#include "decode_handlers.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <benchmark/benchmark.h>

namespace {

constexpr int kMost = 8;

// A frame with up to eight f32[4,8] arguments and eight scalar attributes.
class Frame {
 public:
  Frame(int num_args, int num_attrs) {
    for (int i = 0; i < kMost; ++i) {
      buffers_[i] = {sizeof(FARCALL_FFI_Buffer),
                     nullptr,
                     FARCALL_FFI_DataType_F32,
                     data_.data(),
                     2,
                     dims_.data()};
      args_[i] = &buffers_[i];
      kinds_[i] = FARCALL_FFI_ArgType_BUFFER;
      names_[i] = {kNames[i], std::strlen(kNames[i])};
      name_pointers_[i] = &names_[i];
      scalars_[i] = {kTypes[i], data_.data()};
      attrs_[i] = &scalars_[i];
      attr_kinds_[i] = FARCALL_FFI_AttrType_SCALAR;
    }
    frame_.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_CallFrame, attrs);
    frame_.api = &api_;
    frame_.stage = FARCALL_FFI_ExecutionStage_EXECUTE;
    frame_.args = {sizeof(FARCALL_FFI_Args), nullptr, num_args, kinds_.data(), args_.data()};
    frame_.rets.struct_size = sizeof(FARCALL_FFI_Rets);
    frame_.attrs = {sizeof(FARCALL_FFI_Attrs), nullptr,      num_attrs, attr_kinds_.data(),
                    name_pointers_.data(),     attrs_.data()};
    api_.struct_size = sizeof(FARCALL_FFI_Api);
    api_.api_version = {sizeof(FARCALL_FFI_Api_Version), nullptr, 0, FARCALL_FFI_API_MINOR};
    api_.Error_Create = [](FARCALL_FFI_Error_Create_Args* args) -> FARCALL_FFI_Error* {
      std::fprintf(stderr, "decode failed: %s\n", args->message);
      std::exit(1);
    };
  }

  FARCALL_FFI_CallFrame* get() { return &frame_; }

 private:
  static constexpr const char* kNames[kMost] = {"axis",   "beta",  "count", "epsilon",
                                                "factor", "gamma", "scale", "window_size"};
  static constexpr FARCALL_FFI_DataType kTypes[kMost] = {
      FARCALL_FFI_DataType_S64, FARCALL_FFI_DataType_F32, FARCALL_FFI_DataType_S64,
      FARCALL_FFI_DataType_F64, FARCALL_FFI_DataType_F32, FARCALL_FFI_DataType_F32,
      FARCALL_FFI_DataType_F64, FARCALL_FFI_DataType_S64};

  std::array<float, 32> data_ = {};
  std::array<int64_t, 2> dims_ = {4, 8};
  std::array<FARCALL_FFI_Buffer, kMost> buffers_;
  std::array<FARCALL_FFI_ArgType, kMost> kinds_;
  std::array<void*, kMost> args_;
  std::array<FARCALL_FFI_Scalar, kMost> scalars_;
  std::array<FARCALL_FFI_AttrType, kMost> attr_kinds_;
  std::array<FARCALL_FFI_ByteSpan, kMost> names_;
  std::array<FARCALL_FFI_ByteSpan*, kMost> name_pointers_;
  std::array<void*, kMost> attrs_;
  FARCALL_FFI_Api api_ = {};
  FARCALL_FFI_CallFrame frame_ = {};
};

void decode(benchmark::State& state, FARCALL_FFI_Handler* handler, int num_args, int num_attrs) {
  Frame frame(num_args, num_attrs);
  for (auto _ : state) {
    benchmark::DoNotOptimize(handler(frame.get()));
  }
}

#define FARCALL_DECODE_BENCHMARK(args, attrs)                                                      \
  BENCHMARK_CAPTURE(decode, args_##args##_attrs_##attrs##_farcall,                                 \
                    farcall_decode_##args##_##attrs, args, attrs);                                 \
  BENCHMARK_CAPTURE(decode, args_##args##_attrs_##attrs##_ownxla, own_xla_decode_##args##_##attrs, \
                    args, attrs);                                                                  \
  BENCHMARK_CAPTURE(decode, args_##args##_attrs_##attrs##_xla, xla_decode_##args##_##attrs, args,  \
                    attrs);
FARCALL_DECODE_CASES(FARCALL_DECODE_BENCHMARK)

}  // namespace

BENCHMARK_MAIN();
