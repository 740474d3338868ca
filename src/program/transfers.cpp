#include <farcall/program/transfers.h>

#include <atomic>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/message.h>
#include <farcall/program/sharding.h>

namespace farcall {
namespace {

struct Counter {
  std::atomic<int64_t> transfers{0}, bytes{0};
};
constinit std::array<Counter, kNumTransfers> counters;

constinit std::array<std::atomic<TransferGuard>, kNumTransfers> guards_of_process;
constinit thread_local std::array<int, kNumTransfers> guards_of_thread = {
    kNoGuardOfThread, kNoGuardOfThread, kNoGuardOfThread};
constinit thread_local int explicit_scopes = 0;

constexpr const char* kNames[] = {"host-to-device", "device-to-host", "device-to-device"};

TransferGuard guard_of(Transfer transfer) {
  const auto i = static_cast<size_t>(transfer);
  return guards_of_thread[i] == kNoGuardOfThread
             ? guards_of_process[i].load(std::memory_order_relaxed)
             : static_cast<TransferGuard>(guards_of_thread[i]);
}

}  // namespace

std::array<TransferCount, kNumTransfers> transfer_counts() {
  std::array<TransferCount, kNumTransfers> counts;
  for (size_t i = 0; i < kNumTransfers; ++i) {
    counts[i] = {counters[i].transfers.load(std::memory_order_relaxed),
                 counters[i].bytes.load(std::memory_order_relaxed)};
  }
  return counts;
}

void set_transfer_guard(Transfer transfer, TransferGuard guard) {
  guards_of_process[static_cast<size_t>(transfer)].store(guard, std::memory_order_relaxed);
}

int set_transfer_guard_of_thread(Transfer transfer, int guard) {
  return std::exchange(guards_of_thread[static_cast<size_t>(transfer)], guard);
}

ExplicitTransfers::ExplicitTransfers() { ++explicit_scopes; }
ExplicitTransfers::~ExplicitTransfers() { --explicit_scopes; }

void guard_transfer(ShapeDtype type, const Storage& memory, const Device& device) {
  if (is_on(device, memory)) return;
  const Transfer transfer = !memory.buffer()   ? Transfer::kHostToDevice
                            : device.is_host() ? Transfer::kDeviceToHost
                                               : Transfer::kDeviceToDevice;
  const TransferGuard guard = guard_of(transfer);
  if (guard == TransferGuard::kAllow) return;
  const bool is_explicit = explicit_scopes > 0;
  if (is_explicit && (guard == TransferGuard::kLog || guard == TransferGuard::kDisallow)) return;
  const std::string text =
      fmt::format("{} {} transfer of {} from {} to {}", is_explicit ? "explicit" : "implicit",
                  kNames[static_cast<size_t>(transfer)], type.to_string(),
                  memory.buffer() ? device_of(memory).to_string() : "the host",
                  device.is_host() ? "the host" : device.to_string());
  if (guard == TransferGuard::kLog || guard == TransferGuard::kLogExplicit) {
    return send_message(MessageKind::kLog, text);
  }
  throw Error(
      ErrorCode::kFailedPrecondition,
      fmt::format("transfer_guard: {} is disallowed here. {}", text,
                  is_explicit ? "Leave it out, or set the guard to \"disallow\""
                              : "Ask for it with device_put or device_get, or allow it with "
                                "transfer_guard(\"allow\")"));
}

namespace detail {

void count_transfer(Transfer transfer, size_t nbytes) {
  Counter& counter = counters[static_cast<size_t>(transfer)];
  counter.transfers.fetch_add(1, std::memory_order_relaxed);
  counter.bytes.fetch_add(static_cast<int64_t>(nbytes), std::memory_order_relaxed);
}

}  // namespace detail
}  // namespace farcall
