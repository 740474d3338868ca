// DLPack's tensors that have an owner, and those that we export.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <vector>

#include <farcall/core/dlpack.h>
#include <farcall/core/shape_dtype.h>

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

// What a consumer asks of __dlpack__(*, stream, max_version, dl_device, copy).
struct DLPackRequest {
  bool is_versioned = false;
  bool wants_copy = false;    // copy=True
  bool forbids_copy = false;  // copy=False
};
// Raises TypeError for other arguments, ValueError for a stream, BufferError for another device
// than the CPU.
DLPackRequest parse_dlpack_request(PyObject* args, PyObject* kwargs);

// What a tensor from elsewhere holds.
struct DLPackContents {
  ShapeDtype type;
  void* data = nullptr;          // of the first element
  std::vector<int64_t> strides;  // in bytes
  bool is_dense = false;         // and row-major
};
// Raises INVALID_ARGUMENT for a tensor that is not on the CPU, is of no dtype or shape that there
// is here, or whose elements would lie outside the addresses of the process.
DLPackContents check_dlpack_tensor(const DLTensor& tensor);

// A dense, row-major tensor.
struct DLPackExport {
  ShapeDtype type;
  void* data = nullptr;
  bool is_read_only = false;  // only versioned capsules say so
  bool is_copied = false;
  std::shared_ptr<const void> owner;  // released by whatever thread lets the tensor go
};
// A new capsule; null with an error. Raises INVALID_ARGUMENT for dtypes that DLPack does not know.
PyObject* make_dlpack_capsule(DLPackExport exported, bool is_versioned);

}  // namespace farcall::python
