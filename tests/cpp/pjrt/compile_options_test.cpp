// The bytes of CompileOptionsProto.
#include <gtest/gtest.h>

#include "pjrt/compile_options.h"

namespace farcall::pjrt {
namespace {

TEST(CompileOptions, AreOneProgramOnOneDevice) {
  using namespace std::string_literals;
  // Build options (3) with one replica (4), one partition (5) and the assignment of devices (9).
  EXPECT_EQ(compile_options(0, false),
            "\x1a\x0f\x20\x01\x28\x01\x4a\x09\x08\x01\x10\x01\x1a\x03\x0a\x01\x00"s);
  EXPECT_EQ(compile_options(300, false),
            "\x1a\x10\x20\x01\x28\x01\x4a\x0a\x08\x01\x10\x01\x1a\x04\x0a\x02\xac\x02"s);
}

TEST(CompileOptions, KeepNanOnACpu) {
  const std::string options = compile_options(0, true);
  EXPECT_EQ(options.substr(0, 17), compile_options(0, false));
  EXPECT_EQ(options.substr(17),
            std::string("\x3a\x21\x0a\x1bxla_cpu_enable_fast_min_max\x12\x02\x10\x00", 35));
}

}  // namespace
}  // namespace farcall::pjrt
