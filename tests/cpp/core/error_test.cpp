#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/abi.h>
#include <farcall/core/error.h>

namespace farcall {
namespace {

TEST(Error, CodesAreTheInterfaces) {
  struct Row {
    ErrorCode code;
    FARCALL_FFI_Error_Code abi;
    const char* name;
  };
#define ROW(code, NAME) \
  Row { ErrorCode::code, FARCALL_FFI_Error_Code_##NAME, #NAME }
  const Row rows[] = {
      ROW(kOk, OK),
      ROW(kCancelled, CANCELLED),
      ROW(kUnknown, UNKNOWN),
      ROW(kInvalidArgument, INVALID_ARGUMENT),
      ROW(kDeadlineExceeded, DEADLINE_EXCEEDED),
      ROW(kNotFound, NOT_FOUND),
      ROW(kAlreadyExists, ALREADY_EXISTS),
      ROW(kPermissionDenied, PERMISSION_DENIED),
      ROW(kResourceExhausted, RESOURCE_EXHAUSTED),
      ROW(kFailedPrecondition, FAILED_PRECONDITION),
      ROW(kAborted, ABORTED),
      ROW(kOutOfRange, OUT_OF_RANGE),
      ROW(kUnimplemented, UNIMPLEMENTED),
      ROW(kInternal, INTERNAL),
      ROW(kUnavailable, UNAVAILABLE),
      ROW(kDataLoss, DATA_LOSS),
      ROW(kUnauthenticated, UNAUTHENTICATED),
  };
#undef ROW
  for (const Row& row : rows) {
    EXPECT_EQ(static_cast<int>(row.code), static_cast<int>(row.abi)) << row.name;
    EXPECT_EQ(error_code_name(row.code), row.name);
  }
  EXPECT_EQ(error_code_name(static_cast<ErrorCode>(17)), "UNKNOWN");
  EXPECT_EQ(error_code_name(static_cast<ErrorCode>(-1)), "UNKNOWN");
}

TEST(Error, CarriesCodeAndMessage) {
  const Error error(ErrorCode::kNotFound, "no such target");
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_EQ(error.message(), "no such target");
  EXPECT_STREQ(error.what(), "no such target");
}

TEST(Error, TypeErrorIsAnInvalidArgument) {
  try {
    throw TypeError("a list is no array");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(dynamic_cast<const TypeError*>(&error), nullptr);
  }
}

TEST(Error, FfiErrorNamesTargetAndCode) {
  const FfiError error(ErrorCode::kUnavailable, "rms_norm", "no device");
  EXPECT_EQ(error.message(), "UNAVAILABLE: no device (ffi target \"rms_norm\")");
  EXPECT_EQ(error.target_name(), "rms_norm");
  EXPECT_EQ(error.detail(), "no device");
}

TEST(Error, AssertionTellsConditionAndPlace) {
  FARCALL_ASSERT(1 + 1 == 2);
  try {
    FARCALL_ASSERT(1 + 1 == 3);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    EXPECT_THAT(error.message(),
                testing::MatchesRegex(
                    "internal error.*: 1 \\+ 1 == 3 does not hold \\(.*error_test.cpp:[0-9]+\\)"));
  }
}

}  // namespace
}  // namespace farcall
