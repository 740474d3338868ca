// Import and export of DLPack tensors.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <farcall/core/dlpack.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/program/device.h>

namespace farcall::python {

struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};
inline constexpr uint32_t kDLMajorVersion = 1;
inline constexpr uint64_t kDLReadOnly = 1;
inline constexpr uint64_t kDLIsCopied = 2;
inline constexpr const char* kOldName = "dltensor";
inline constexpr const char* kNewName = "dltensor_versioned";

// The arguments of __dlpack__(*, stream, max_version, dl_device, copy).
struct DLPackRequest {
  bool wants_cpu = false;  // dl_device is the CPU, and the array's device is another one
  bool is_versioned = false;
  bool wants_copy = false;    // copy=True
  bool forbids_copy = false;  // copy=False
};
// For an array on the CPU, or on `device`, where its contents are valid on the stream `own_stream`,
// or on all streams if there is none. Raises TypeError for other arguments, ValueError for a stream
// on the CPU, and BufferError for another device than these two, and for another stream.
DLPackRequest parse_dlpack_request(PyObject* args, PyObject* kwargs, DLDevice device = {kDLCPU, 0},
                                   std::optional<const void*> own_stream = std::nullopt);

// The contents of an imported tensor.
struct DLPackContents {
  ShapeDtype type;
  void* data = nullptr;          // of the first element
  std::vector<int64_t> strides;  // in bytes
  bool is_dense = false;         // dense and row-major
};
// Raises INVALID_ARGUMENT if the dtype or the shape of a tensor is unsupported, or its elements lie
// outside the address space.
DLPackContents check_dlpack_tensor(const DLTensor& tensor);
// What `__dlpack_device__` of an object says; the CPU if it has none.
DLDevice dlpack_device_of(nanobind::handle object);
// The device of a tensor: the host, or one of a plugin. Raises INVALID_ARGUMENT for others.
const Device& device_of_dlpack(DLDevice device);

// `__cuda_array_interface__`, version 3, of dense memory on a GPU. `stream`: on which it is valid,
// None for all.
nanobind::dict cuda_interface_of(ShapeDtype type, const void* data, bool is_read_only,
                                 nanobind::object stream);

// Releases a tensor that a plugin has used: later, on the main thread, because a plugin may hold
// locks for which a thread with the interpreter's lock waits.
void release_later(void (*release)(void*), void* tensor);

// A dense, row-major tensor.
struct DLPackExport {
  ShapeDtype type;
  void* data = nullptr;
  bool is_read_only = false;  // needs a versioned capsule
  bool is_copied = false;
  std::shared_ptr<const void> owner;  // released by any thread that releases the tensor
  DLDevice device = {kDLCPU, 0};
};
// A new capsule; null with an error. Raises INVALID_ARGUMENT for dtypes that DLPack lacks.
PyObject* make_dlpack_capsule(DLPackExport exported, bool is_versioned);

}  // namespace farcall::python
