// Arrays in memory that another library owns.
#include <array>
#include <cstdlib>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/program/engine.h>

#include "plugin_path.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;

constexpr DType kF32 = DType::kFloat32;

class SharedBuffer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!*kPluginPath) GTEST_SKIP() << "the package lammps-jax-pjrt-cpu is not installed";
    setenv("FARCALL_PJRT_PLUGIN", kPluginPath, 0);
    device_ = find_engine("pjrt").devices()[0];
  }

  const Device* device_ = nullptr;
};

TEST_F(SharedBuffer, IsViewedAndReleasedOnce) {
  struct alignas(64) Memory {
    std::array<float, 6> values = {1, 2, 3, 4, 5, 6};
  };
  auto memory = std::make_shared<Memory>();
  const ShapeDtype type(kF32, std::array<int64_t, 2>{2, 3});
  {
    const Storage made = device_->from_library(type, memory->values.data(), memory);
    EXPECT_EQ(&device_of(made), device_);
    EXPECT_GE(memory.use_count(), 2);
    const Storage host = to_host(made);
    const auto* values = static_cast<const float*>(host.data());
    EXPECT_EQ(values, memory->values.data());
    EXPECT_THAT(std::vector(values, values + 6), ElementsAre(1, 2, 3, 4, 5, 6));
  }
  EXPECT_EQ(memory.use_count(), 1);
}

TEST_F(SharedBuffer, IsNotOfferedOnACpu) {
  EXPECT_FALSE(device_->dlpack_device());
  const ShapeDtype type(kF32, std::array<int64_t, 1>{4});
  EXPECT_EQ(device_->allocate(type).buffer()->address(), nullptr);
}

TEST(HostDevice, DoesNotShareMemoryOfLibraries) {
  EXPECT_THROW(host_device().from_library(ShapeDtype(kF32, {}), nullptr, nullptr), Error);
}

}  // namespace
}  // namespace farcall
