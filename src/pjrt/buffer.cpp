#include "pjrt/buffer.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall::pjrt {
namespace {

using D = DType;
// The element types in the order of the interface's numbers, from 1 on.
constexpr D kTypes[] = {D::kBool,           D::kInt8,           D::kInt16,
                        D::kInt32,          D::kInt64,          D::kUInt8,
                        D::kUInt16,         D::kUInt32,         D::kUInt64,
                        D::kFloat16,        D::kFloat32,        D::kFloat64,
                        D::kBFloat16,       D::kComplex64,      D::kComplex128,
                        D::kFloat8E5M2,     D::kFloat8E4M3FN,   D::kFloat8E4M3B11FNUZ,
                        D::kFloat8E5M2FNUZ, D::kFloat8E4M3FNUZ, D::kInt4,
                        D::kUInt4,          D::kToken,          D::kInt2,
                        D::kUInt2,          D::kFloat8E4M3,     D::kFloat8E3M4,
                        D::kFloat8E8M0FNU,  D::kFloat4E2M1FN};

// Programs represent keys as ui64, and tokens as arrays without elements.
int type_number(DType dtype) {
  if (dtype == D::kThreefryKey) dtype = D::kUInt64;
  if (dtype == D::kToken) dtype = D::kBool;
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (kTypes[i] == dtype) return static_cast<int>(i) + 1;
  }
  throw Error(ErrorCode::kUnimplemented,
              fmt::format("pjrt: plugins do not support arrays of dtype {}; use the native engine",
                          dtype_name(dtype)));
}

bool is_packed(DType dtype) { return dtype != D::kToken && dtype_info(dtype).bits < 8; }

// Sign-extends elements below eight bits in their bytes; plugins give only the bits of the element.
void extend_signs(DType dtype, Storage& elements) {
  if (dtype_info(dtype).kind != DTypeKind::kSigned) return;
  const int shift = 8 - dtype_info(dtype).bits;
  auto* bytes = static_cast<int8_t*>(elements.data());
  for (size_t i = 0; i < elements.nbytes(); ++i) {
    bytes[i] = static_cast<int8_t>(static_cast<int8_t>(bytes[i] << shift) >> shift);
  }
}

struct Kept {
  const Plugin& plugin;
  Storage storage;
};

void release_kept(CError* error, void* user) {
  const std::unique_ptr<Kept> kept(static_cast<Kept*>(user));
  if (error) kept->plugin.destroy(error);
}

// Keeps the memory alive until the plugin has signalled the event.
void keep_until(const Plugin& plugin, CEvent* event, const Storage& storage) {
  EventOnReady args{};
  args.event = event;
  args.callback = release_kept;
  args.user = new Kept{plugin, storage};
  plugin.call(args);
  plugin.destroy(event);
}

}  // namespace

BufferHandle::~BufferHandle() {
  BufferDestroy args{};
  args.buffer = buffer_;
  plugin_.call_quietly(args);
}

BufferPtr buffer_from_host(const PjrtDevice& device, ShapeDtype type, const Storage& host) {
  static const std::array<std::byte, 64> nothing{};
  static constexpr int64_t kEmpty[] = {0};
  static constexpr size_t kSmall = size_t{64} << 10;
  const Client& client = device.client();
  const bool is_shared = client.is_cpu() && host.is_owned() && host.data() &&
                         is_aligned(host.data()) && host.nbytes() > 0 && !is_packed(type.dtype());
  BufferFromHostBuffer args{};
  args.client = client.handle();
  args.data = host.data() ? host.data() : nothing.data();
  args.type = type_number(type.dtype());
  args.dims = type.is_token() ? kEmpty : type.shape().data();
  args.num_dims = type.is_token() ? 1 : type.rank();
  // A plugin copies small arrays at once; it reads large ones during the transfer.
  const bool is_read_later = !client.is_cpu() && host.nbytes() > kSmall;
  const bool is_kept = is_shared || (is_read_later && host.is_owned());
  args.semantics = is_shared       ? HostBufferSemantics::kImmutableZeroCopy
                   : is_read_later ? HostBufferSemantics::kUntilTransferCompletes
                                   : HostBufferSemantics::kOnlyDuringCall;
  args.device = device.handle();
  client.plugin().call(args);
  auto handle = std::make_shared<const BufferHandle>(client.plugin(), args.buffer);
  if (!args.done_with_host_buffer) return handle;
  if (is_kept) {
    keep_until(client.plugin(), args.done_with_host_buffer, host);
  } else {
    client.plugin().await(args.done_with_host_buffer);
  }
  return handle;
}

BufferPtr buffer_from_library(const PjrtDevice& device, ShapeDtype type, void* data,
                              std::shared_ptr<const void> owner) {
  auto kept = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
  const Client& client = device.client();
  ClientCreateViewOfDeviceBuffer args{};
  args.client = client.handle();
  args.data = data;
  args.type = type_number(type.dtype());
  args.dims = type.shape().data();
  args.num_dims = type.rank();
  args.device = device.handle();
  args.on_delete = [](void*, void* user) {
    delete static_cast<std::shared_ptr<const void>*>(user);
  };
  args.user = kept.get();
  client.plugin().call(args);
  kept.release();  // NOLINT(bugprone-unused-return-value): on_delete deletes it
  return std::make_shared<const BufferHandle>(client.plugin(), args.buffer);
}

Storage on_device(const PjrtDevice& device, ShapeDtype type, BufferPtr handle, bool is_ready) {
  return Storage::adopt(std::make_unique<PjrtBuffer>(device, type, std::move(handle), is_ready),
                        type.nbytes());
}

bool PjrtBuffer::is_ready() const {
  if (is_known_ready_) return true;
  BufferReadyEvent ready{};
  ready.buffer = handle_->get();
  handle_->plugin().call(ready);
  EventIsReady args{};
  args.event = ready.event;
  handle_->plugin().call_quietly(args);
  handle_->plugin().destroy(ready.event);
  // The computation may have failed: wait() must still raise its error.
  return args.is_ready;
}

void PjrtBuffer::wait() const {
  if (is_known_ready_) return;
  BufferReadyEvent ready{};
  ready.buffer = handle_->get();
  handle_->plugin().call(ready);
  handle_->plugin().await(ready.event);
  is_known_ready_ = true;
}

void* PjrtBuffer::address() const {
  if (!device_.dlpack_device() || is_packed(type_.dtype())) return nullptr;
  wait();
  BufferOpaqueDeviceMemoryDataPointer args{};
  args.buffer = handle_->get();
  handle_->plugin().call(args);
  return args.pointer;
}

Storage PjrtBuffer::to_host() const {
  wait();
  if (device_.client().is_cpu() && !is_packed(type_.dtype()) && type_.nbytes() > 0) {
    BufferUnsafePointer args{};
    args.buffer = handle_->get();
    handle_->plugin().call(args);
    return Storage::adopt(
        reinterpret_cast<void*>(args.pointer), type_.nbytes(),
        [](void* kept) { delete static_cast<BufferPtr*>(kept); }, new BufferPtr(handle_));
  }
  Storage host = Storage::allocate(type_.nbytes());
  if (type_.nbytes() == 0) return host;
  BufferToHostBuffer args{};
  args.source = handle_->get();
  args.target = host.data();
  args.target_size = host.nbytes();
  handle_->plugin().call(args);
  handle_->plugin().await(args.event);
  if (is_packed(type_.dtype())) extend_signs(type_.dtype(), host);
  return host;
}

}  // namespace farcall::pjrt
