// Calls with check_foreign_calls: writes to memory that is not the handler's, and results that are
// not written.
#include <cstring>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/config.h>
#include <farcall/core/storage.h>
#include <farcall/ffi/foreign_call.h>

#include "ffi/future.h"
#include "testing.h"

namespace farcall {
namespace {

using testing::argument;
using testing::error_of;
using ::testing::HasSubstr;
using testing::result;

const ShapeDtype kRow(DType::kFloat32, {8});
constexpr size_t kRowBytes = 32;

std::byte* bytes_of(FARCALL_FFI_Buffer* buffer) { return static_cast<std::byte*>(buffer->data); }

// One call site with an argument and a result of 8 floats. The handler copies, then calls `then`.
class CheckedCall : public ::testing::Test {
 protected:
  using Then = std::function<FARCALL_FFI_Error*(FARCALL_FFI_CallFrame*)>;

  // With `is_alias`, the result shares the argument's memory.
  void make(Then then, ShapeDtype type = kRow, bool is_alias = false) {
    const FlagScope scope(Flag::kCheckForeignCalls, 1);
    input_ = Storage::allocate(type.nbytes());
    output_ = is_alias ? input_ : Storage::allocate(type.nbytes());
    std::memset(input_.data(), 3, type.nbytes());
    call_ = std::make_unique<ForeignCall>(ForeignCallSpec{
        .target = make_target("handler",
                              [then](FARCALL_FFI_CallFrame* frame) {
                                FARCALL_FFI_Buffer* x = argument(frame, 0);
                                size_t nbytes = kRowBytes;
                                if (x->rank == 1) {
                                  nbytes = byte_width(static_cast<DType>(x->dtype)) *
                                           static_cast<size_t>(x->dims[0]);
                                }
                                std::memmove(result(frame, 0)->data, x->data, nbytes);
                                return then(frame);
                              }),
        .arguments = {type},
        .results = {type},
        .where = "model.cpp:7 (forward)"});
    invocation_ = std::make_unique<Invocation>(*call_);
    invocation_->set_argument(0, input_.data());
    invocation_->set_result(0, output_.data());
    invocation_->begin(options_);
  }
  std::string finding() {
    return error_of(ErrorCode::kInternal, [&] { invocation_->execute(); });
  }

  ExecutionOptions options_;
  Storage input_, output_;
  std::unique_ptr<ForeignCall> call_;
  std::unique_ptr<Invocation> invocation_;
};

TEST_F(CheckedCall, ASoundHandlerGivesItsResults) {
  make([](auto*) { return nullptr; });
  for (int i = 0; i < 3; ++i) {
    std::memset(output_.data(), 0, kRowBytes);
    invocation_->execute();
    EXPECT_EQ(std::memcmp(output_.data(), input_.data(), kRowBytes), 0);
  }
}

TEST_F(CheckedCall, AWriteBehindAResultIsFound) {
  make([](auto* frame) {
    bytes_of(result(frame, 0))[kRowBytes + 4] ^= std::byte{1};
    return nullptr;
  });
  EXPECT_EQ(finding(),
            "INTERNAL: check_foreign_calls: oob-write: it wrote past the end of result 0, at byte "
            "offset 36 of 32 bytes, in the call (f32[8]) -> (f32[8]) (ffi target \"handler\")\n"
            "  at model.cpp:7 (forward)");
  // The guards are restored after each call, so a later call is checked separately.
  EXPECT_THAT(finding(), HasSubstr("byte offset 36"));
}

TEST_F(CheckedCall, AWriteBeforeAnArgumentIsFound) {
  make([](auto* frame) {
    bytes_of(argument(frame, 0))[-256] ^= std::byte{1};
    bytes_of(argument(frame, 0))[-3] ^= std::byte{1};
    return nullptr;
  });
  EXPECT_THAT(finding(), HasSubstr("oob-write: it wrote before the beginning of argument 0, at "
                                   "byte offset -3 of 32 bytes"));
}

TEST_F(CheckedCall, GuardsAreAsLongAsTheRowOfAMatrix) {
  const ShapeDtype type(DType::kFloat32, {2048});
  make(
      [&](auto* frame) {
        bytes_of(result(frame, 0))[type.nbytes() + 4095] ^= std::byte{1};
        return nullptr;
      },
      type);
  EXPECT_THAT(finding(), HasSubstr("at byte offset 12287 of 8192 bytes"));
}

TEST_F(CheckedCall, AWriteToAnArgumentIsFoundAndUndone) {
  make([](auto* frame) {
    bytes_of(argument(frame, 0))[8] ^= std::byte{1};
    return nullptr;
  });
  EXPECT_THAT(finding(),
              HasSubstr("input-write: it wrote to argument 0, f32[8], which no result aliases, at "
                        "byte offset 8"));
  EXPECT_EQ(static_cast<std::byte*>(input_.data())[8], std::byte{3});
}

TEST_F(CheckedCall, AnAliasedArgumentMayBeWritten) {
  make(
      [](auto* frame) {
        EXPECT_EQ(argument(frame, 0)->data, result(frame, 0)->data);
        bytes_of(argument(frame, 0))[8] = std::byte{9};
        return nullptr;
      },
      kRow, /*is_alias=*/true);
  invocation_->execute();
  EXPECT_EQ(static_cast<std::byte*>(input_.data())[8], std::byte{9});
  EXPECT_EQ(static_cast<std::byte*>(input_.data())[7], std::byte{3});
}

TEST_F(CheckedCall, NothingIsUnwrittenInAnAlias) {
  make([](auto*) { return nullptr; }, kRow, /*is_alias=*/true);
  EXPECT_NO_THROW(invocation_->execute());
}

// Calls a handler that does not write the last elements of its result.
std::string unwritten(ShapeDtype type, size_t num_left, int num_calls = 1) {
  const FlagScope scope(Flag::kCheckForeignCalls, 1);
  const size_t written = type.nbytes() - num_left * byte_width(type.dtype());
  const ForeignCall call({.target = make_target("lazy",
                                                [&](FARCALL_FFI_CallFrame* frame) {
                                                  std::memset(result(frame, 0)->data, 1, written);
                                                  return static_cast<FARCALL_FFI_Error*>(nullptr);
                                                }),
                          .results = {type}});
  Invocation invocation(call);
  const Storage memory = Storage::allocate(type.nbytes());
  invocation.set_result(0, memory.data());
  try {
    for (int i = 0; i < num_calls; ++i) invocation.execute();
  } catch (const FfiError& error) {
    return error.detail();
  }
  return "";
}

TEST(UnwrittenResult, IsFoundInEveryDtype) {
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.kind == DTypeKind::kToken || info.kind == DTypeKind::kInvalid) continue;
    const size_t left = info.byte_width == 1 ? 8 : 4;
    EXPECT_THAT(unwritten(ShapeDtype(info.dtype, {100}), left),
                HasSubstr("check_foreign_calls: unwritten-result: it left"))
        << info.name;
    EXPECT_EQ(unwritten(ShapeDtype(info.dtype, {100}), 0), "") << info.name;
    EXPECT_EQ(unwritten(ShapeDtype(info.dtype, {0}), 0), "") << info.name;
  }
}

TEST(UnwrittenResult, OneFloatOrBoolIsEnough) {
  EXPECT_EQ(unwritten(kRow, 1),
            "check_foreign_calls: unwritten-result: it left 4 of 32 bytes of result 0, f32[8], "
            "unwritten, from byte offset 28 on, in the call () -> (f32[8])");
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat64, DType::kComplex64,
                            DType::kBool, DType::kInt64}) {
    EXPECT_THAT(unwritten(ShapeDtype(dtype, {100000}), 1), HasSubstr("unwritten-result"))
        << dtype_name(dtype);
  }
}

// A byte keeps its value by chance once in 256 calls.
TEST(UnwrittenResult, OneSmallNumberIsFoundAfterSomeCalls) {
  const ShapeDtype type(DType::kInt8, {100});
  EXPECT_EQ(unwritten(type, 1), "");
  EXPECT_THAT(unwritten(type, 1, 6), HasSubstr("from byte offset 99 on"));
  EXPECT_THAT(unwritten(ShapeDtype(DType::kInt32, {100000}), 1, 3), HasSubstr("399996"));
}

// Bytes that occasionally have the same value are not reported: here all values occur.
TEST(UnwrittenResult, ChanceIsNoFinding) {
  const FlagScope scope(Flag::kCheckForeignCalls, 1);
  uint32_t state = 1;
  const ForeignCall call({.target = make_target("random",
                                                [&](FARCALL_FFI_CallFrame* frame) {
                                                  for (int i = 0; i < 4096; ++i) {
                                                    state = state * 1664525 + 1013904223;
                                                    bytes_of(result(frame, 0))[i] =
                                                        static_cast<std::byte>(state >> 24);
                                                  }
                                                  return static_cast<FARCALL_FFI_Error*>(nullptr);
                                                }),
                          .results = {ShapeDtype(DType::kUInt8, {4096})}});
  Invocation invocation(call);
  const Storage memory = Storage::allocate(4096);
  invocation.set_result(0, memory.data());
  for (int i = 0; i < 300; ++i) EXPECT_NO_THROW(invocation.execute());
}

TEST_F(CheckedCall, AnErrorOfTheHandlerIsKeptAndResultsAreNotAskedFor) {
  make([](auto* frame) {
    return testing::fail(frame, FARCALL_FFI_Error_Code_OUT_OF_RANGE, "too far");
  });
  EXPECT_THAT(error_of(ErrorCode::kOutOfRange, [&] { invocation_->execute(); }),
              HasSubstr("too far"));
  make([](auto* frame) {
    bytes_of(result(frame, 0))[kRowBytes] ^= std::byte{1};
    return testing::fail(frame, FARCALL_FFI_Error_Code_OUT_OF_RANGE, "too far");
  });
  EXPECT_THAT(finding(), HasSubstr("-> (f32[8]). The handler reported OUT_OF_RANGE: too far (ffi"));
}

TEST_F(CheckedCall, AnExceptionLeavesNothingBehind) {
  bool throws = true;
  make([&](auto* frame) -> FARCALL_FFI_Error* {
    if (!throws) return nullptr;
    bytes_of(result(frame, 0))[kRowBytes] ^= std::byte{1};
    throw std::runtime_error("no");
  });
  EXPECT_THROW(invocation_->execute(), std::runtime_error);
  throws = false;
  EXPECT_NO_THROW(invocation_->execute());
}

TEST_F(CheckedCall, ALateWriteOfAnAsynchronousHandlerIsFound) {
  std::thread late;
  make([&](auto* frame) {
    auto* future = new FARCALL_FFI_Future;
    frame->future = future;
    late = std::thread([frame, future] {
      bytes_of(result(frame, 0))[kRowBytes] ^= std::byte{1};
      future->complete(nullptr);
    });
    return nullptr;
  });
  EXPECT_THAT(finding(), HasSubstr("oob-write"));
  late.join();
}

TEST_F(CheckedCall, OperandsAreAlignedAsTheyAreAndNoBetter) {
  make([](auto* frame) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(argument(frame, 0)->data) % kAlignment, 4u);
    return nullptr;
  });
  const Storage memory = Storage::allocate(kRowBytes + 4);
  invocation_->set_argument(0, static_cast<std::byte*>(memory.data()) + 4);
  EXPECT_NO_THROW(invocation_->execute());
}

TEST_F(CheckedCall, ScratchLiesBetweenGuardsAndHoldsNan) {
  size_t offset = 0;
  make([&](auto* frame) {
    auto* memory = static_cast<std::byte*>(frame->ctx->scratch.allocate(100, 8));
    EXPECT_EQ(memory[0], std::byte{0xff});
    EXPECT_EQ(memory[99], std::byte{0xff});
    if (offset > 0) memory[offset] ^= std::byte{1};
    if (offset == 101) frame->ctx->scratch.free(memory);
    return nullptr;
  });
  EXPECT_NO_THROW(invocation_->execute());
  for (const size_t at : {100, 101}) {
    offset = at;
    EXPECT_THAT(finding(), HasSubstr("oob-write: it wrote past the end of a block of scratch, at "
                                     "byte offset 10" +
                                     std::to_string(at - 100) + " of 100 bytes"));
  }
  offset = 0;
  EXPECT_NO_THROW(invocation_->execute());
}

TEST_F(CheckedCall, WithoutTheFlagTheHandlerSeesTheProgramsMemory) {
  const void* seen = nullptr;
  const ForeignCall call({.target = make_target("looks",
                                                [&](FARCALL_FFI_CallFrame* frame) {
                                                  seen = argument(frame, 0)->data;
                                                  return static_cast<FARCALL_FFI_Error*>(nullptr);
                                                }),
                          .arguments = {kRow}});
  Invocation invocation(call);
  const Storage memory = Storage::allocate(kRowBytes);
  invocation.set_argument(0, memory.data());
  const FlagScope scope(Flag::kCheckForeignCalls, 1);  // too late
  invocation.execute();
  EXPECT_EQ(seen, memory.data());
  EXPECT_FALSE(call.spec().is_checked);
}

}  // namespace
}  // namespace farcall
