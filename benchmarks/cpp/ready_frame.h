// A call frame made by hand through the C interface, ready to be called: what a foreign call costs
// at the least. Its arguments and its one result are f32[4].
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <farcall/abi.h>

class ReadyFrame {
 public:
  explicit ReadyFrame(int num_args)
      : buffers_(num_args + 1), pointers_(num_args + 1), kinds_(num_args) {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      buffers_[i] = {
          sizeof(FARCALL_FFI_Buffer), nullptr, FARCALL_FFI_DataType_F32, data_, 1, &dim_};
      pointers_[i] = &buffers_[i];
    }
    for (auto& kind : kinds_) kind = FARCALL_FFI_ArgType_BUFFER;
    api_.struct_size = sizeof(FARCALL_FFI_Api);
    api_.api_version = {sizeof(FARCALL_FFI_Api_Version), nullptr, 0, FARCALL_FFI_API_MINOR};
    api_.Error_Create = [](FARCALL_FFI_Error_Create_Args* args) -> FARCALL_FFI_Error* {
      std::fprintf(stderr, "the handler failed: %s\n", args->message);
      std::exit(1);
    };
    frame_.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_CallFrame, attrs);
    frame_.api = &api_;
    frame_.stage = FARCALL_FFI_ExecutionStage_EXECUTE;
    frame_.args = {sizeof(FARCALL_FFI_Args), nullptr, num_args, kinds_.data(), pointers_.data()};
    frame_.rets = {sizeof(FARCALL_FFI_Rets), nullptr, 1, &ret_kind_, pointers_.data() + num_args};
    frame_.attrs.struct_size = sizeof(FARCALL_FFI_Attrs);
  }
  ReadyFrame(const ReadyFrame&) = delete;
  ReadyFrame& operator=(const ReadyFrame&) = delete;

  FARCALL_FFI_CallFrame* get() { return &frame_; }

 private:
  alignas(64) float data_[4] = {};
  int64_t dim_ = 4;
  FARCALL_FFI_RetType ret_kind_ = FARCALL_FFI_RetType_BUFFER;
  std::vector<FARCALL_FFI_Buffer> buffers_;
  std::vector<void*> pointers_;
  std::vector<FARCALL_FFI_ArgType> kinds_;
  FARCALL_FFI_Api api_ = {};
  FARCALL_FFI_CallFrame frame_ = {};
};
