// The number of CPU devices of the native engine and of a PJRT plugin for CPUs.
#pragma once

#include <farcall/core/export.h>

namespace farcall {

inline constexpr int kMaxCpuDevices = 64;

// The number that was set, else the environment variable FARCALL_NUM_CPU_DEVICES, else 1. Raises
// INVALID_ARGUMENT if the variable is not a number from 1 to kMaxCpuDevices.
FARCALL_API int num_cpu_devices();
// Raises INVALID_ARGUMENT unless `count` is from 1 to kMaxCpuDevices. Raises FAILED_PRECONDITION if
// an engine has already made more devices, because devices live until the process ends, and for any
// change after the process has joined others.
FARCALL_API void set_num_cpu_devices(int count);

namespace detail {
// For engines: returns the number. From now on it may only grow.
FARCALL_API int use_cpu_devices();
// The same; from now on the number is fixed.
FARCALL_API int fix_cpu_devices();
}  // namespace detail

}  // namespace farcall
