#include "pjrt/staging.h"

#include <exception>
#include <vector>

#include <farcall/core/storage.h>
#include <farcall/handler/dtype.h>

#include "pjrt/frame.h"

namespace farcall::pjrt {
namespace {

size_t nbytes_of(const FARCALL_FFI_Buffer& buffer) {
  size_t nbytes = ffi::ByteWidth(static_cast<ffi::DataType>(buffer.dtype));
  for (int64_t i = 0; i < buffer.rank; ++i) nbytes *= static_cast<size_t>(buffer.dims[i]);
  return nbytes;
}

// Host memory for a list of buffers on a device.
class HostBuffers {
 public:
  HostBuffers(void* const* on_device, int64_t count)
      : on_device_(on_device, on_device + count), buffers_(on_device_.size()) {
    for (size_t i = 0; i < on_device_.size(); ++i) {
      buffers_[i] = device(i);
      memory_.push_back(Storage::allocate(nbytes_of(buffers_[i])));
      buffers_[i].data = memory_[i].data();
      pointers_.push_back(&buffers_[i]);
    }
  }

  void** pointers() { return pointers_.data(); }
  void fetch(const HostCopies& copies, void* stream) const {
    for (size_t i = 0; i < memory_.size(); ++i) {
      const size_t nbytes = memory_[i].nbytes();
      if (nbytes > 0) copies.to_host(memory_[i].data(), device(i).data, nbytes, stream);
    }
  }
  void send(const HostCopies& copies, void* stream) const {
    for (size_t i = 0; i < memory_.size(); ++i) {
      const size_t nbytes = memory_[i].nbytes();
      if (nbytes > 0) copies.to_device(device(i).data, memory_[i].data(), nbytes, stream);
    }
  }

 private:
  const FARCALL_FFI_Buffer& device(size_t i) const {
    return *static_cast<const FARCALL_FFI_Buffer*>(on_device_[i]);
  }

  std::vector<void*> on_device_;
  std::vector<FARCALL_FFI_Buffer> buffers_;
  std::vector<Storage> memory_;
  std::vector<void*> pointers_;
};

}  // namespace

FARCALL_FFI_Error* call_with_copies(const FARCALL_FFI_CallFrame& frame, const HostCopies& copies,
                                    FARCALL_FFI_Handler* handler) {
  try {
    void* stream = stream_of(frame);
    HostBuffers arguments(frame.args.args, frame.args.size);
    HostBuffers results(frame.rets.rets, frame.rets.size);
    arguments.fetch(copies, stream);
    copies.wait(stream);
    FARCALL_FFI_CallFrame on_host = frame;
    on_host.args.args = arguments.pointers();
    on_host.rets.rets = results.pointers();
    FARCALL_FFI_Error* error = handler(&on_host);
    if (error) return error;
    results.send(copies, stream);
    copies.wait(stream);
    return nullptr;
  } catch (const std::exception& error) {
    return make_error(frame, error.what());
  }
}

}  // namespace farcall::pjrt
