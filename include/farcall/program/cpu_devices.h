// How many devices the host is divided into for programs: those of the native engine, and of a
// plugin for CPUs.
#pragma once

#include <farcall/core/export.h>

namespace farcall {

inline constexpr int kMaxCpuDevices = 64;

// 1, or the environment variable FARCALL_NUM_CPU_DEVICES, unless it is set. Raises INVALID_ARGUMENT
// for a variable that is no number from 1 to kMaxCpuDevices.
FARCALL_API int num_cpu_devices();
// Raises INVALID_ARGUMENT for another number, and FAILED_PRECONDITION for a smaller one than an
// engine has made devices of: devices live until the process ends. With other processes the number
// stays as it was when they met.
FARCALL_API void set_num_cpu_devices(int count);

namespace detail {
// For engines: the number, which may only grow from now on.
FARCALL_API int use_cpu_devices();
// The same; the number stays from now on.
FARCALL_API int fix_cpu_devices();
}  // namespace detail

}  // namespace farcall
