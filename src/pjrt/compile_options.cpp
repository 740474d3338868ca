#include "pjrt/compile_options.h"

#include <string_view>

namespace farcall::pjrt {
namespace {

// The encoding of protocol buffers: a tag (field number and kind), then a number or a sized string.
constexpr uint64_t kNumber = 0, kText = 2;

std::string varint(uint64_t number) {
  std::string bytes;
  for (; number >= 128; number >>= 7) bytes += static_cast<char>(number % 128 + 128);
  return bytes + static_cast<char>(number);
}
std::string field(uint64_t number, uint64_t value) {
  return varint(number << 3 | kNumber) + varint(value);
}
std::string field(uint64_t number, std::string_view value) {
  return varint(number << 3 | kText) + varint(value.size()) + std::string(value);
}

// Field numbers.
constexpr uint64_t kBuildOptions = 3;
constexpr uint64_t kNumReplicas = 4, kNumPartitions = 5, kDeviceAssignment = 9;
constexpr uint64_t kUseSpmdPartitioning = 6, kUseShardyPartitioner = 19;
constexpr uint64_t kReplicaCount = 1, kComputationCount = 2, kComputationDevices = 3;
constexpr uint64_t kReplicaDevices = 1;
constexpr uint64_t kFlags = 7, kFlagName = 1, kFlagValue = 2, kBool = 2;

}  // namespace

std::string compile_options(std::span<const int> devices, bool is_cpu) {
  std::string assignment = field(kReplicaCount, 1) + field(kComputationCount, devices.size());
  for (const int device : devices) {
    assignment +=
        field(kComputationDevices, field(kReplicaDevices, varint(static_cast<uint64_t>(device))));
  }
  std::string build = field(kNumReplicas, 1) + field(kNumPartitions, devices.size()) +
                      field(kDeviceAssignment, assignment);
  if (devices.size() > 1) build += field(kUseSpmdPartitioning, 1) + field(kUseShardyPartitioner, 1);
  std::string options = field(kBuildOptions, build);
  // Otherwise maxima of two numbers, and small reductions, ignore NaN.
  constexpr std::string_view kFastMinMax = "xla_cpu_enable_fast_min_max";
  if (is_cpu) {
    options += field(kFlags, field(kFlagName, kFastMinMax) + field(kFlagValue, field(kBool, 0)));
  }
  return options;
}

}  // namespace farcall::pjrt
