// Transfers of arrays between the host's memory and that of devices: how many there were, and
// guards against unwanted ones. Memory of the host, device 0, needs none.
//
// A transfer is explicit if device_put or device_get asks for it, and implicit if something else
// needs the values in another memory: a call with arguments elsewhere, or reading values. What an
// engine moves to run a program over a mesh, and the constants of programs, is counted only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/core/storage.h>
#include <farcall/program/device.h>

namespace farcall {

enum class Transfer : uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };
inline constexpr size_t kNumTransfers = 3;

struct TransferCount {
  int64_t transfers = 0, bytes = 0;
};
// Since the process began, by Transfer. Each shard of a sharded array counts.
FARCALL_API std::array<TransferCount, kNumTransfers> transfer_counts();

// kLog sends a message for each implicit transfer, kDisallow raises FAILED_PRECONDITION; the others
// do so for explicit ones too.
enum class TransferGuard : uint8_t { kAllow, kLog, kDisallow, kLogExplicit, kDisallowExplicit };
inline constexpr int kNoGuardOfThread = -1;

// For the process; kAllow by default.
FARCALL_API void set_transfer_guard(Transfer transfer, TransferGuard guard);
// For this thread: a TransferGuard, or kNoGuardOfThread for that of the process. Returns what was
// set before.
FARCALL_API int set_transfer_guard_of_thread(Transfer transfer, int guard);

// Transfers of this thread are explicit during the scope.
class FARCALL_API ExplicitTransfers {
 public:
  ExplicitTransfers();
  ~ExplicitTransfers();
  ExplicitTransfers(const ExplicitTransfers&) = delete;
  ExplicitTransfers& operator=(const ExplicitTransfers&) = delete;
};

// Applies the guard to a transfer of `memory` to `device`, if that is one.
FARCALL_API void guard_transfer(ShapeDtype type, const Storage& memory, const Device& device);

namespace detail {
FARCALL_API void count_transfer(Transfer transfer, size_t nbytes);
}  // namespace detail

}  // namespace farcall
