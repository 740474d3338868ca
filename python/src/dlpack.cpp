#include "dlpack.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/layout.h>

namespace farcall::python {
namespace {

namespace nb = nanobind;

template <class Managed>
struct Exported {
  Managed managed;
  DLPackExport what;
  std::vector<int64_t> strides;
};

template <class Managed>
Managed* export_tensor(DLPackExport what) {
  const DTypeInfo& info = dtype_info(what.type.dtype());
  if (info.dlpack_code == 255) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("DLPack has no type for {}", dtype_name(what.type.dtype())));
  }
  std::vector<int64_t> strides = strides_of(what.type.shape(), row_major(what.type.rank()));
  auto* exported = new Exported<Managed>{{}, std::move(what), std::move(strides)};
  const ShapeDtype type = exported->what.type;
  Managed& managed = exported->managed;
  managed.context = exported;
  managed.deleter = [](Managed* self) { delete static_cast<Exported<Managed>*>(self->context); };
  managed.tensor.data = exported->what.data;
  managed.tensor.device = {kDLCPU, 0};
  managed.tensor.ndim = static_cast<int32_t>(type.rank());
  managed.tensor.dtype = {info.dlpack_code, info.bits, 1};
  managed.tensor.shape = const_cast<int64_t*>(type.shape().data());
  managed.tensor.strides = exported->strides.data();
  managed.tensor.byte_offset = 0;
  return &managed;
}

template <class Managed>
void destroy_unused(PyObject* capsule, const char* name) {
  // A consumer renames the capsule and takes the tensor over.
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

}  // namespace

DLPackRequest parse_dlpack_request(PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *max_version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO", const_cast<char**>(names), &stream,
                                   &max_version, &device, &copy)) {
    nb::raise_python_error();
  }
  if (stream != Py_None) {
    throw Error(ErrorCode::kInvalidArgument,
                "__dlpack__: the CPU has no streams; stream must be None");
  }
  if (device != Py_None) {
    const auto [type, id] = nb::cast<std::pair<int, int>>(nb::handle(device));
    if (type != kDLCPU || id != 0) {
      PyErr_SetString(PyExc_BufferError, "__dlpack__: this array is on the CPU, device (1, 0)");
      nb::raise_python_error();
    }
  }
  const bool is_versioned = PyTuple_Check(max_version) && PyTuple_GET_SIZE(max_version) > 0 &&
                            PyLong_AsLong(PyTuple_GET_ITEM(max_version, 0)) >= 1;
  return {is_versioned, copy == Py_True, copy == Py_False};
}

PyObject* make_dlpack_capsule(DLPackExport exported, bool is_versioned) {
  if (!is_versioned) {
    return PyCapsule_New(
        export_tensor<DLManagedTensor>(std::move(exported)), kOldName,
        [](PyObject* capsule) { destroy_unused<DLManagedTensor>(capsule, kOldName); });
  }
  const uint64_t flags =
      (exported.is_read_only ? kDLReadOnly : 0) | (exported.is_copied ? kDLIsCopied : 0);
  auto* managed = export_tensor<DLManagedTensorVersioned>(std::move(exported));
  managed->major = 1;
  managed->minor = 0;
  managed->flags = flags;
  return PyCapsule_New(managed, kNewName, [](PyObject* capsule) {
    destroy_unused<DLManagedTensorVersioned>(capsule, kNewName);
  });
}

}  // namespace farcall::python
