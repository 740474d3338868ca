// Untyped targets: each calling convention and how it reports failure.
#include <cstring>

#include <farcall/ffi/library.h>

#include "ffi/custom_call_status.h"
#include "testing.h"

namespace farcall {
namespace {

using testing::error_of;

const ShapeDtype kS32(DType::kInt32, {});

void add(void* out, const void** in) {
  *static_cast<int*>(out) = *static_cast<const int*>(in[0]) + *static_cast<const int*>(in[1]);
}

void add_and_subtract(void* out, const void** in) {
  void** results = static_cast<void**>(out);
  const int a = *static_cast<const int*>(in[0]), b = *static_cast<const int*>(in[1]);
  *static_cast<int*>(results[0]) = a + b;
  *static_cast<int*>(results[1]) = a - b;
}

void add_positive(void* out, const void** in, XlaCustomCallStatus* status) {
  add(out, in);
  if (*static_cast<int*>(out) < 0) {
    XlaCustomCallStatusSetFailure(status, "negative sum", strlen("negative sum"));
  } else {
    XlaCustomCallStatusSetSuccess(status);
  }
}

void add_with_opaque(void* out, const void** in, const char* opaque, size_t opaque_length,
                     XlaCustomCallStatus* status) {
  add(out, in);
  *static_cast<int*>(out) += static_cast<int>(opaque_length);
  if (std::string_view(opaque, opaque_length) == "fail") {
    XlaCustomCallStatusSetFailure(status, "told to\0 fail", 13);
  }
}

void on_device(void* stream, void** buffers, const char* opaque, size_t opaque_length,
               XlaCustomCallStatus* status) {
  EXPECT_EQ(stream, reinterpret_cast<void*>(0x40));
  *static_cast<int*>(buffers[2]) = *static_cast<int*>(buffers[0]) - *static_cast<int*>(buffers[1]);
  if (opaque_length > 0) XlaCustomCallStatusSetFailure(status, opaque, opaque_length);
}

class Untyped : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto add_target = [](const char* name, auto* function, const char* platform = "cpu") {
      register_legacy_target(name, reinterpret_cast<void*>(function), platform);
    };
    add_target("untyped.add", add);
    add_target("untyped.two", add_and_subtract);
    add_target("untyped.status", add_positive);
    add_target("untyped.opaque", add_with_opaque);
    add_target("untyped.device", on_device, "cuda");
  }

  // Runs with two arguments and returns the first result.
  int run(const char* name, int version, int num_results = 1, std::string config = "",
          const char* platform = "cpu") {
    const ForeignCall call({.target = find_target(name, platform, version),
                            .arguments = {kS32, kS32},
                            .results = std::vector<ShapeDtype>(num_results, kS32),
                            .custom_call_api_version = version,
                            .legacy_backend_config = std::move(config)});
    Invocation invocation(call);
    const ExecutionOptions options = {.stream = reinterpret_cast<void*>(0x40)};
    invocation.begin(options);
    invocation.set_argument(0, &a_);
    invocation.set_argument(1, &b_);
    for (int i = 0; i < num_results; ++i) invocation.set_result(i, &results_[i]);
    invocation.execute();
    return results_[0];
  }

  int a_ = 40, b_ = 2;
  int results_[2] = {};
};

TEST_F(Untyped, Original) {
  EXPECT_EQ(run("untyped.add", 0), 42);
  EXPECT_EQ(run("untyped.add", 1), 42);
}

TEST_F(Untyped, SeveralResultsAreAnArray) {
  EXPECT_EQ(run("untyped.two", 1, 2), 42);
  EXPECT_EQ(results_[1], 38);
}

TEST_F(Untyped, WithStatus) {
  EXPECT_EQ(run("untyped.status", 2), 42);
  a_ = -40;
  EXPECT_EQ(error_of(ErrorCode::kInternal, [&] { run("untyped.status", 2); }),
            "INTERNAL: negative sum (ffi target \"untyped.status\")");
  a_ = 40;
  EXPECT_EQ(run("untyped.status", 2), 42);
}

TEST_F(Untyped, WithStatusAndOpaque) {
  EXPECT_EQ(run("untyped.opaque", 3), 42);
  EXPECT_EQ(run("untyped.opaque", 3, 1, std::string("a\0b", 3)), 45);
  EXPECT_EQ(error_of(ErrorCode::kInternal, [&] { run("untyped.opaque", 3, 1, "fail"); }),
            "INTERNAL: told to (ffi target \"untyped.opaque\")");
}

TEST_F(Untyped, OfADevice) {
  EXPECT_EQ(run("untyped.device", 3, 1, "", "cuda"), 38);
  EXPECT_EQ(error_of(ErrorCode::kInternal, [&] { run("untyped.device", 3, 1, "no", "cuda"); }),
            "INTERNAL: no (ffi target \"untyped.device\")");
}

// A library built separately finds the status functions of the runtime.
TEST_F(Untyped, OfALibrary) {
  const Library library = load_library(FARCALL_UNTYPED_LIBRARY);
  register_legacy_target("untyped.negate", library.symbol("untyped_negate"));
  EXPECT_EQ(run("untyped.negate", 2), -40);
  a_ = 0;
  EXPECT_EQ(error_of(ErrorCode::kInternal, [&] { run("untyped.negate", 2); }),
            "INTERNAL: zero (ffi target \"untyped.negate\")");
}

TEST_F(Untyped, RefusesWhatIsForTypedTargets) {
  const auto target = find_target("untyped.add", "cpu", 1);
  EXPECT_EQ(
      error_of(ErrorCode::kInvalidArgument,
               [&] {
                 ForeignCall({.target = target,
                              .attributes = {{"eps", 1.5}},
                              .custom_call_api_version = 2});
               }),
      "ffi_call(\"untyped.add\"): attributes {eps=1.5:f64} are for custom_call_api_version 4, "
      "not 2; use legacy_backend_config");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { ForeignCall({.target = target}); }),
            "ffi_call(\"untyped.add\"): the target is untyped: use custom_call_api_version 0 to 3, "
            "got 4");
}

}  // namespace
}  // namespace farcall
