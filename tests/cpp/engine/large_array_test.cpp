// Arrays of more than 2^31 elements.
#include <sys/mman.h>

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "calls.h"

namespace farcall::native {
namespace {

using testing::Call;

constexpr int64_t kSize = (int64_t{1} << 31) + 100;

int64_t available_megabytes() {
  std::ifstream info("/proc/meminfo");
  for (std::string key, unit; info >> key;) {
    int64_t kilobytes = 0;
    info >> kilobytes;
    std::getline(info, unit);
    if (key == "MemAvailable:") return kilobytes / 1024;
  }
  return 0;
}

// Zeros that take no physical memory until they are written.
class Large : public ::testing::Test {
 protected:
  void SetUp() override {
    if (available_megabytes() < 6000) GTEST_SKIP() << "needs 6 GB of memory";
    memory_ = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory_, MAP_FAILED);
    bytes()[0] = 1;
    bytes()[kSize - 1] = 2;
    bytes()[kSize - 100] = 3;
  }
  void TearDown() override {
    if (memory_ != MAP_FAILED) munmap(memory_, kSize);
  }
  int8_t* bytes() const { return static_cast<int8_t*>(memory_); }
  Array array() const {
    return Array(ShapeDtype(DType::kInt8, {kSize}),
                 Storage::adopt(memory_, kSize, nullptr, nullptr));
  }

  void* memory_ = MAP_FAILED;
};

TEST_F(Large, ReachesAHandler) {
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    const auto& buffer = call.argument(0);
    if (buffer.dims[0] != kSize) return call.fail(FARCALL_FFI_Error_Code_INTERNAL, "size");
    const auto* data = static_cast<const int8_t*>(buffer.data);
    static_cast<int8_t*>(call.result(0).data)[0] = data[kSize - 1];
    return nullptr;
  });
  EXPECT_EQ(testing::call(name, {array()}, ShapeDtype(DType::kInt8, {})).item<int8_t>(), 2);
}

TEST_F(Large, OperationsReachTheEnd) {
  const auto f = jit([](const Array& x) {
    const numpy::Index tail[] = {numpy::Slice{-100, {}, 99}};
    return std::tuple(numpy::take(lax::neg(x), tail), lax::reduce_max(x, std::vector<int64_t>{0}),
                      lax::reduce_sum(x, std::vector<int64_t>{0}),
                      lax::argmax(x, 0, DType::kInt64));
  });
  const auto [tail, maximum, sum, where] = f(array());
  ASSERT_EQ(tail.size(), 2);
  EXPECT_EQ(tail.values<int8_t>()[0], -3);
  EXPECT_EQ(tail.values<int8_t>()[1], -2);
  EXPECT_EQ(maximum.item<int8_t>(), 3);
  EXPECT_EQ(sum.item<int8_t>(), 6);
  EXPECT_EQ(where.item<int64_t>(), kSize - 100);
}

}  // namespace
}  // namespace farcall::native
