// Arguments and results: every kind of parameter, and the errors when they do not fit.
#include <gtest/gtest.h>

#include "frame.h"

namespace ffi = farcall::ffi;
using ffi::testing::Frame;
using ffi::testing::invalid;
using ffi::testing::ok;

namespace {

void Scale(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = 2 * x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(scale, Scale);

TEST(Buffers, AHandlerReadsArgumentsAndWritesResults) {
  float x[] = {1, 2, 3};
  float y[3];
  EXPECT_EQ(Frame().arg(ffi::F32, {3}, x).ret(ffi::F32, {3}, y).call(scale), ok());
  EXPECT_EQ(y[2], 6);
}

TEST(Buffers, WrongDtypesAreNamedTogether) {
  EXPECT_EQ(Frame().arg(ffi::F64, {2, 3}).ret(ffi::S32, {}).call(scale),
            invalid("scale: 2 problems: argument 0: wanted f32, got f64[2,3]; "
                    "result 0: wanted f32, got s32[]"));
}

TEST(Buffers, WrongCountsSayWantedAndGot) {
  EXPECT_EQ(Frame().ret(ffi::F32, {}).ret(ffi::F32, {}).call(scale),
            invalid("scale: 2 problems: wanted 1 argument, got 0; wanted 1 result, got 2"));
}

void Ranks(ffi::BufferR2<ffi::F64> matrix, ffi::BufferR0<ffi::S32> number,
           ffi::ResultBufferR1<ffi::F64> row) {
  row->typed_data()[0] = matrix.typed_data()[*number.typed_data()];
}
FARCALL_DEFINE_HANDLER(ranks, Ranks);

TEST(Buffers, FixedRanks) {
  double matrix[] = {1, 2, 3, 4};
  int32_t number = 3;
  double row[2];
  EXPECT_EQ(Frame()
                .arg(ffi::F64, {2, 2}, matrix)
                .arg(ffi::S32, {}, &number)
                .ret(ffi::F64, {2}, row)
                .call(ranks),
            ok());
  EXPECT_EQ(row[0], 4);
  EXPECT_EQ(
      Frame().arg(ffi::F64, {2}).arg(ffi::S32, {1}).ret(ffi::F64, {2, 2}).call(ranks),
      invalid("ranks: 3 problems: argument 0: wanted f64[?,?], got f64[2]; argument 1: wanted "
              "s32[], got s32[1]; result 0: wanted f64[?], got f64[2,2]"));
}

void Any(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  EXPECT_EQ(x.element_type(), ffi::BF16);
  EXPECT_EQ(x.dimensions().size(), 2u);
  EXPECT_EQ(x.dimensions()[1], 3);
  EXPECT_EQ(x.element_count(), 6u);
  EXPECT_EQ(x.size_bytes(), 12u);
  EXPECT_EQ(x.untyped_data(), x.typed_data<ffi::bfloat16>());
  EXPECT_EQ(x.untyped_data(), x.reinterpret_data<uint16_t>());
  EXPECT_EQ(y->element_count(), 1u);
}
FARCALL_DEFINE_HANDLER(any, Any);

TEST(Buffers, AnyBufferTellsItsDtypeAndShape) {
  uint16_t x[6] = {};
  EXPECT_EQ(Frame().arg(ffi::BF16, {2, 3}, x).ret(ffi::PRED, {}).call(any), ok());
}

void Optional(ffi::Buffer<ffi::F32> x, std::optional<ffi::Buffer<ffi::F32>> bias,
              ffi::ResultBuffer<ffi::F32> y, std::optional<ffi::ResultBuffer<ffi::S32>> count) {
  y->typed_data()[0] = x.typed_data()[0] + (bias ? bias->typed_data()[0] : 0);
  if (count) *(*count)->typed_data() = 1;
}
FARCALL_DEFINE_HANDLER(optional, Optional);

TEST(Buffers, OptionalOnesMayBeAbsent) {
  float x = 1, bias = 10, y = 0;
  int32_t count = 0;
  EXPECT_EQ(Frame().arg(ffi::F32, {}, &x).ret(ffi::F32, {}, &y).call(optional), ok());
  EXPECT_EQ(y, 1);
  EXPECT_EQ(Frame()
                .arg(ffi::F32, {}, &x)
                .arg(ffi::F32, {}, &bias)
                .ret(ffi::F32, {}, &y)
                .ret(ffi::S32, {}, &count)
                .call(optional),
            ok());
  EXPECT_EQ(y, 11);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(Frame().arg(ffi::F32, {}).arg(ffi::S8, {4}).ret(ffi::F32, {}).call(optional),
            invalid("optional: argument 1: wanted f32, got s8[4]"));
  EXPECT_EQ(Frame().ret(ffi::F32, {}).call(optional),
            invalid("optional: wanted at least 1 argument, got 0"));
  EXPECT_EQ(Frame()
                .arg(ffi::F32, {})
                .arg(ffi::F32, {})
                .arg(ffi::F32, {})
                .ret(ffi::F32, {})
                .call(optional),
            invalid("optional: wanted at least 1 and at most 2 arguments, got 3"));
}

// Parameters may come in any order: results, arguments and the rest are distinguished by type.
ffi::Error Sum(ffi::ResultBuffer<ffi::F32> sum, ffi::RemainingRets rets,
               ffi::Buffer<ffi::F32> first, ffi::RemainingArgs more) {
  float total = *first.typed_data();
  for (size_t i = 0; i < more.size(); ++i) {
    auto buffer = more.get<ffi::BufferR0<ffi::F32>>(i);
    if (!buffer) return buffer.error();
    total += *buffer->typed_data();
  }
  *sum->typed_data() = total;
  if (!rets.empty()) {
    auto count = rets.get<ffi::Buffer<ffi::S32>>(0);
    if (!count) return count.error();
    *(*count)->typed_data() = static_cast<int32_t>(more.size());
  }
  EXPECT_FALSE(more.isa<ffi::AnyBuffer>(more.size()));
  return more.get<ffi::AnyBuffer>(more.size()).error().failure()
             ? ffi::Error::Success()
             : ffi::Error::Internal("found an argument past the end");
}
FARCALL_DEFINE_HANDLER(sum, Sum);

TEST(Buffers, RemainingOnesAreDecodedByTheFunction) {
  float a = 1, b = 2, total = 0;
  int32_t count = 0;
  EXPECT_EQ(Frame().arg(ffi::F32, {}, &a).ret(ffi::F32, {}, &total).call(sum), ok());
  EXPECT_EQ(total, 1);
  EXPECT_EQ(Frame()
                .arg(ffi::F32, {}, &a)
                .arg(ffi::F32, {}, &b)
                .ret(ffi::F32, {}, &total)
                .ret(ffi::S32, {}, &count)
                .call(sum),
            ok());
  EXPECT_EQ(total, 3);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(Frame().arg(ffi::F32, {}, &a).arg(ffi::F64, {}).ret(ffi::F32, {}, &total).call(sum),
            invalid("remaining argument 0: wanted f32[], got f64[]"));
  EXPECT_EQ(Frame().ret(ffi::F32, {}).call(sum), invalid("sum: wanted at least 1 argument, got 0"));
}

TEST(Buffers, AnIndexPastTheEndIsOutOfRange) {
  ffi::RemainingArgs none(nullptr, nullptr, 0);
  const ffi::ErrorOr<ffi::AnyBuffer> got = none.get<ffi::AnyBuffer>(2);
  EXPECT_EQ(got.error().errc(), ffi::ErrorCode::kOutOfRange);
  EXPECT_EQ(got.error().message(), "remaining argument 2: there are 0");
}

void TakesToken(ffi::Token, ffi::Result<ffi::Token>) {}
FARCALL_DEFINE_HANDLER(takes_token, TakesToken);

TEST(Buffers, TokensAreBuffersOfRankZero) {
  EXPECT_EQ(Frame().arg(ffi::TOKEN, {}).ret(ffi::TOKEN, {}).call(takes_token), ok());
  EXPECT_EQ(Frame().arg(ffi::F32, {}).ret(ffi::TOKEN, {}).call(takes_token),
            invalid("takes_token: argument 0: wanted token[], got f32[]"));
}

TEST(Buffers, MalformedFramesAreErrorsAndNoCrash) {
  Frame null_buffer;
  null_buffer.arg(ffi::F32, {}).ret(ffi::F32, {});
  null_buffer.args[0] = nullptr;
  EXPECT_EQ(null_buffer.call(scale), invalid("scale: argument 0: wanted f32, got null"));

  Frame unknown_kind;
  unknown_kind.arg(ffi::F32, {}).ret(ffi::F32, {});
  unknown_kind.arg_kinds[0] = static_cast<FARCALL_FFI_ArgType>(9);
  EXPECT_EQ(unknown_kind.call(scale), invalid("scale: argument 0: wanted f32, got unknown kind 9"));

  Frame unknown_dtype;
  unknown_dtype.arg(static_cast<ffi::DataType>(99), {}).ret(ffi::F32, {});
  EXPECT_EQ(unknown_dtype.call(scale),
            invalid("scale: argument 0: wanted f32, got invalid dtype[]"));

  Frame no_tables;
  no_tables.frame.args.size = 1;
  no_tables.frame.rets.size = 1;
  EXPECT_EQ(no_tables.call_as_it_is(scale),
            invalid("scale: 2 problems: arguments: the call frame is malformed; "
                    "results: the call frame is malformed"));

  Frame negative;
  negative.frame.args.size = -1;
  EXPECT_EQ(negative.call_as_it_is(scale),
            invalid("scale: 2 problems: arguments: the call frame is malformed; "
                    "wanted 1 result, got 0"));

  Frame small;
  small.frame.struct_size = 40;
  EXPECT_EQ(small.call(scale), invalid("scale: the call frame has 40 bytes, wanted at least 168"));
}

TEST(Buffers, AFrameOfAnotherStageIsRefused) {
  EXPECT_EQ(Frame().stage(ffi::ExecutionStage::kInitialize).call(scale),
            invalid("scale: wanted stage execute, got initialize"));
  Frame unknown;
  unknown.frame.stage = static_cast<FARCALL_FFI_ExecutionStage>(12);
  EXPECT_EQ(unknown.call(scale), invalid("scale: wanted stage execute, got unknown"));
}

void Prepare() {}
FARCALL_DEFINE_HANDLER(prepare, Prepare, ffi::kPrepare);
FARCALL_DEFINE_HANDLER(execute_nothing, Prepare);

TEST(Buffers, OnlyStagesBeforeExecuteIgnoreBuffers) {
  EXPECT_EQ(Frame().stage(ffi::kPrepare).arg(ffi::F32, {}).ret(ffi::F32, {}).call(prepare), ok());
  EXPECT_EQ(Frame().arg(ffi::F32, {}).call(execute_nothing),
            invalid("execute_nothing: wanted 0 arguments, got 1"));
}

constexpr auto kDouble = [](ffi::Buffer<ffi::S32> x, ffi::ResultBuffer<ffi::S32> y) {
  *y->typed_data() = 2 * *x.typed_data();
};
FARCALL_DEFINE_HANDLER(from_lambda, kDouble);

template <ffi::DataType dtype, int factor>
void Times(const ffi::Buffer<dtype>& x, ffi::ResultBuffer<dtype> y) {
  *y->typed_data() = factor * *x.typed_data();
}
FARCALL_DEFINE_HANDLER(from_template, Times<ffi::S32, 5>);

TEST(Buffers, LambdasAndTemplatesAreFunctionsToo) {
  int32_t x = 3, y = 0;
  EXPECT_EQ(Frame().arg(ffi::S32, {}, &x).ret(ffi::S32, {}, &y).call(from_lambda), ok());
  EXPECT_EQ(y, 6);
  EXPECT_EQ(Frame().arg(ffi::S32, {}, &x).ret(ffi::S32, {}, &y).call(from_template), ok());
  EXPECT_EQ(y, 15);
}

}  // namespace
