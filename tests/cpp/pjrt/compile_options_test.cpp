// The serialized CompileOptionsProto.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pjrt/compile_options.h"

namespace farcall::pjrt {
namespace {

std::string of_one(int device, bool is_cpu) { return compile_options({&device, 1}, is_cpu); }

TEST(CompileOptions, AreOneProgramOnOneDevice) {
  using namespace std::string_literals;
  // Build options (3) with one replica (4), one partition (5) and the device assignment (9).
  EXPECT_EQ(of_one(0, false),
            "\x1a\x0f\x20\x01\x28\x01\x4a\x09\x08\x01\x10\x01\x1a\x03\x0a\x01\x00"s);
  EXPECT_EQ(of_one(300, false),
            "\x1a\x10\x20\x01\x28\x01\x4a\x0a\x08\x01\x10\x01\x1a\x04\x0a\x02\xac\x02"s);
}

TEST(CompileOptions, AreOneProgramCutAmongSeveral) {
  using namespace std::string_literals;
  // With SPMD (6) and Shardy (19), and a device (3) for each partition.
  const std::vector<int> devices = {1, 0};
  EXPECT_EQ(compile_options(devices, false),
            "\x1a\x19\x20\x01\x28\x02\x4a\x0e\x08\x01\x10\x02\x1a\x03\x0a\x01\x01"
            "\x1a\x03\x0a\x01\x00\x30\x01\x98\x01\x01"s);
}

TEST(CompileOptions, KeepNanOnACpu) {
  const std::string options = of_one(0, true);
  EXPECT_EQ(options.substr(0, 17), of_one(0, false));
  EXPECT_EQ(options.substr(17),
            std::string("\x3a\x21\x0a\x1bxla_cpu_enable_fast_min_max\x12\x02\x10\x00", 35));
}

}  // namespace
}  // namespace farcall::pjrt
