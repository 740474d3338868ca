// Host functions that are called from a program on a device: with host copies of the operands, by
// way of CUDA's driver, for which a small library stands in.
#include "pjrt/staging.h"

#include <dlfcn.h>

#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/ffi.h>

#include "fake_cuda_path.h"

namespace farcall::pjrt {
namespace {

// As in fake_cuda.c.
constexpr size_t kOffset = 4096;

struct Plan {
  std::string error;  // of Error_Create
  void* stream = nullptr;
  const void* seen_argument = nullptr;
  bool fails = false;
};
Plan plan;

FARCALL_FFI_Error* create_error(FARCALL_FFI_Error_Create_Args* args) {
  plan.error = args->message;
  return reinterpret_cast<FARCALL_FFI_Error*>(&plan);
}
FARCALL_FFI_Error* get_stream(FARCALL_FFI_Stream_Get_Args* args) {
  args->stream = plan.stream;
  return nullptr;
}

// Doubles its first argument, and fails if the plan says so.
FARCALL_FFI_Error* doubling(FARCALL_FFI_CallFrame* frame) {
  const auto* x = static_cast<const FARCALL_FFI_Buffer*>(frame->args.args[0]);
  auto* y = static_cast<FARCALL_FFI_Buffer*>(frame->rets.rets[0]);
  plan.seen_argument = x->data;
  for (int64_t i = 0; i < x->dims[0]; ++i) {
    static_cast<float*>(y->data)[i] = 2 * static_cast<const float*>(x->data)[i];
  }
  return plan.fails ? reinterpret_cast<FARCALL_FFI_Error*>(&plan) : nullptr;
}

class Staging : public ::testing::Test {
 protected:
  void SetUp() override {
    // From now on this library has the driver's name.
    library_ = dlopen(kFakeCudaPath, RTLD_NOW);
    ASSERT_TRUE(library_) << dlerror();
    copies_ = HostCopies::of("cuda");
    plan = Plan{.stream = &plan};
  }
  int count(const char* function) const {
    return reinterpret_cast<int (*)()>(dlsym(library_, function))();
  }
  int num_pending() const { return count("fake_cuda_num_pending"); }

  FARCALL_FFI_Error* call() {
    FARCALL_FFI_Api api{};
    api.Error_Create = create_error;
    api.Stream_Get = get_stream;
    const auto buffer = [&](float* data, int64_t* dims) {
      FARCALL_FFI_Buffer made{};
      made.dtype = FARCALL_FFI_DataType_F32;
      made.data = reinterpret_cast<std::byte*>(data) + kOffset;
      made.rank = 1;
      made.dims = dims;
      return made;
    };
    int64_t size = 3, none = 0;
    FARCALL_FFI_Buffer arguments[] = {buffer(x_.data(), &size), buffer(nullptr, &none)};
    FARCALL_FFI_Buffer result = buffer(y_.data(), &size);
    void* args[] = {&arguments[0], &arguments[1]};
    void* rets[] = {&result};
    FARCALL_FFI_CallFrame frame{};
    frame.api = &api;
    frame.args.size = 2;
    frame.args.args = args;
    frame.rets.size = 1;
    frame.rets.rets = rets;
    return call_with_copies(frame, *copies_, doubling);
  }

  void* library_ = nullptr;
  const HostCopies* copies_ = nullptr;
  std::array<float, 3> x_ = {1, 2, 3}, y_ = {0, 0, 0};
};

TEST_F(Staging, OperandsAreCopiedToTheHostAndResultsBack) {
  ASSERT_EQ(call(), nullptr) << plan.error;
  EXPECT_THAT(y_, ::testing::ElementsAre(2, 4, 6));
  EXPECT_NE(plan.seen_argument, x_.data());
  EXPECT_EQ(num_pending(), 0);
}

TEST_F(Staging, NothingIsCopiedBackAfterAnError) {
  plan.fails = true;
  ASSERT_NE(call(), nullptr);
  EXPECT_EQ(plan.error, "");  // it is the handler's
  EXPECT_THAT(y_, ::testing::ElementsAre(0, 0, 0));
}

TEST_F(Staging, ErrorsOfTheDriverAreErrorsOfTheCall) {
  plan.stream = nullptr;
  ASSERT_NE(call(), nullptr);
  EXPECT_EQ(plan.error, "pjrt: cuMemcpyDtoHAsync failed with 400 (CUDA_ERROR_INVALID_HANDLE)");
}

TEST_F(Staging, WaitingForLibrariesLeavesNoContext) {
  copies_->to_host(x_.data(), reinterpret_cast<std::byte*>(y_.data()) + kOffset, sizeof(x_), &plan);
  EXPECT_EQ(num_pending(), 1);
  copies_->wait_for_libraries(0);
  EXPECT_EQ(num_pending(), 0);
  EXPECT_EQ(count("fake_cuda_num_contexts"), 0);
  EXPECT_THROW(copies_->wait_for_libraries(1), Error);
  EXPECT_EQ(count("fake_cuda_num_contexts"), 0);
}

TEST_F(Staging, PlatformsWithoutCopiesAreTold) {
  EXPECT_NE(HostCopies::of("cpu"), nullptr);
  EXPECT_EQ(HostCopies::of("tpu"), nullptr);
}

}  // namespace
}  // namespace farcall::pjrt
