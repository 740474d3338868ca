#include "dlpack.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/layout.h>
#include <farcall/program/engine.h>

#include "convert.h"
#include "text.h"

namespace farcall::python {
namespace {

namespace nb = nanobind;

constexpr uint8_t kNoCode = 255;  // for dtypes that DLPack lacks

template <class Managed>
struct Exported {
  Managed managed;
  DLPackExport what;
  std::vector<int64_t> strides;
};

template <class Managed>
Managed* export_tensor(DLPackExport what) {
  const DTypeInfo& info = dtype_info(what.type.dtype());
  if (info.dlpack_code == kNoCode) {
    invalid_argument(fmt::format("DLPack has no type for {}", dtype_name(what.type.dtype())));
  }
  std::vector<int64_t> strides = strides_of(what.type.shape(), row_major(what.type.rank()));
  auto* exported = new Exported<Managed>{{}, std::move(what), std::move(strides)};
  const ShapeDtype type = exported->what.type;
  Managed& managed = exported->managed;
  managed.context = exported;
  managed.deleter = [](Managed* self) { delete static_cast<Exported<Managed>*>(self->context); };
  managed.tensor.data = exported->what.data;
  managed.tensor.device = exported->what.device;
  managed.tensor.ndim = static_cast<int32_t>(type.rank());
  managed.tensor.dtype = {info.dlpack_code, info.bits, 1};
  managed.tensor.shape = const_cast<int64_t*>(type.shape().data());
  managed.tensor.strides = exported->strides.data();
  managed.tensor.byte_offset = 0;
  return &managed;
}

template <class Managed>
void destroy_unused(PyObject* capsule, const char* name) {
  // A consumer that takes the tensor renames the capsule; only an unconsumed one is deleted here.
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

[[noreturn]] void refuse(std::string_view why) {
  invalid_argument(fmt::format("from_dlpack: {}", why));
}

ShapeDtype type_of(const DLTensor& tensor) {
  if (tensor.ndim < 0 || static_cast<size_t>(tensor.ndim) > kMaxRank) {
    refuse(
        fmt::format("the tensor has {} dimensions; 0 to {} are possible", tensor.ndim, kMaxRank));
  }
  if (tensor.ndim > 0 && !tensor.shape) {
    refuse(fmt::format("the tensor has {} dimensions but no shape", tensor.ndim));
  }
  const DType dtype = dtype_of(tensor.dtype);
  if (dtype == DType::kInvalid) {
    refuse(fmt::format("no dtype has DLPack code {}, {} bits and {} lanes", tensor.dtype.code,
                       tensor.dtype.bits, tensor.dtype.lanes));
  }
  try {
    return {dtype, std::span<const int64_t>(tensor.shape, static_cast<size_t>(tensor.ndim))};
  } catch (const Error& error) {
    refuse(error.message());
  }
}

// The strides in bytes; empty on overflow.
std::optional<std::vector<int64_t>> byte_strides(const DLTensor& tensor, ShapeDtype type) {
  const auto width = static_cast<int64_t>(byte_width(type.dtype()));
  std::vector<int64_t> strides = strides_of(type.shape(), row_major(type.rank()));
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    // The stride of a dimension of size 1 is never used and may be anything.
    if (tensor.strides && type.shape()[axis] > 1) strides[axis] = tensor.strides[axis];
    if (__builtin_mul_overflow(strides[axis], width, &strides[axis])) return std::nullopt;
  }
  return strides;
}

// Checks that the elements of a nonempty tensor lie within an address range that a process can
// have.
bool is_addressable(const DLTensor& tensor, ShapeDtype type, std::span<const int64_t> strides) {
  constexpr int64_t kMost = int64_t{1} << 56;
  if (!tensor.data || tensor.byte_offset > static_cast<uint64_t>(kMost)) return false;
  auto lowest = static_cast<int64_t>(tensor.byte_offset);
  int64_t highest = lowest + static_cast<int64_t>(byte_width(type.dtype()));
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    int64_t extent = 0;
    if (__builtin_mul_overflow(strides[axis], type.shape()[axis] - 1, &extent)) return false;
    int64_t& end = extent < 0 ? lowest : highest;
    if (__builtin_add_overflow(end, extent, &end)) return false;
  }
  return lowest >= -kMost && highest <= kMost;
}

}  // namespace

DLDevice dlpack_device_of(nb::handle object) {
  std::pair<int, int> type_and_id = {kDLCPU, 0};
  if (nb::hasattr(object, "__dlpack_device__")) {
    const nb::object told = object.attr("__dlpack_device__")();
    if (!nb::try_cast(told, type_and_id)) type_and_id = {kDLCPU, 0};
  }
  return {type_and_id.first, type_and_id.second};
}

const Device& device_of_dlpack(DLDevice device) {
  if (device.device_type == kDLCPU) return host_device();
  if (device.device_type != kDLCUDA && device.device_type != kDLROCM) {
    refuse(fmt::format("the array is on DLPack device type {}; copy it to the CPU first",
                       device.device_type));
  }
  const char* platform = device.device_type == kDLCUDA ? "cuda" : "rocm";
  std::string why = "the plugin has no device of this number";
  try {
    for (const Device* found : find_devices(platform)) {
      const std::optional<DLDevice> name = found->dlpack_device();
      if (name && name->device_id == device.device_id) return *found;
    }
  } catch (const Error& error) {
    why = error.message();
  }
  refuse(
      fmt::format("the array is on {}:{}, which no engine has ({}); use a PJRT plugin for this "
                  "device, or copy the array to the CPU first",
                  platform, device.device_id, why));
}

DLPackContents check_dlpack_tensor(const DLTensor& tensor) {
  const ShapeDtype type = type_of(tensor);
  if (type.nbytes() == 0) return {type, nullptr, std::vector<int64_t>(type.rank()), true};
  auto strides = byte_strides(tensor, type);
  if (!strides || !is_addressable(tensor, type, *strides)) {
    refuse(
        fmt::format("the elements of {} at address {} plus {} bytes, with {}, lie outside the "
                    "memory that a process can have",
                    type.to_string(), fmt::ptr(tensor.data), tensor.byte_offset,
                    tensor.strides ? "strides " + shape_to_string({tensor.strides, type.rank()})
                                   : "dense strides"));
  }
  std::vector<int64_t> dense = strides_of(type.shape(), row_major(type.rank()));
  for (int64_t& stride : dense) stride *= static_cast<int64_t>(byte_width(type.dtype()));
  const bool is_dense = *strides == dense;
  return {type, static_cast<std::byte*>(tensor.data) + tensor.byte_offset, std::move(*strides),
          is_dense};
}

DLPackRequest parse_dlpack_request(PyObject* args, PyObject* kwargs, DLDevice own,
                                   std::optional<const void*> own_stream) {
  static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *max_version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO", const_cast<char**>(names), &stream,
                                   &max_version, &device, &copy)) {
    nb::raise_python_error();
  }
  if (stream != Py_None && own.device_type != kDLCPU && own_stream) {
    // The consumer names the stream on which it will read. 1 is the default stream; with -1 the
    // consumer does not ask for synchronization.
    const long long wanted = PyLong_AsLongLong(stream);
    if (wanted == -1 && PyErr_Occurred()) nb::raise_python_error();
    const auto number = static_cast<long long>(reinterpret_cast<uintptr_t>(*own_stream));
    if (wanted != -1 && wanted != number && !(wanted == 1 && number == 0)) {
      PyErr_Format(PyExc_BufferError,
                   "__dlpack__: this Buffer is valid on the stream of the execution, %lld, not on "
                   "stream %lld; make ctx.stream the current stream of the consumer",
                   number, wanted);
      nb::raise_python_error();
    }
  } else if (stream != Py_None && own.device_type == kDLCPU) {
    invalid_argument("__dlpack__: the CPU has no streams; stream must be None");
  }
  bool wants_cpu = false;
  if (device != Py_None) {
    std::pair<int, int> type_and_id;
    if (!nb::try_cast(nb::handle(device), type_and_id)) {
      throw TypeError(
          fmt::format("__dlpack__: dl_device must be a pair of integers, got {}", repr_of(device)));
    }
    const bool is_own = type_and_id == std::pair(own.device_type, own.device_id);
    wants_cpu = !is_own && type_and_id == std::pair(int{kDLCPU}, 0);
    if (!is_own && !wants_cpu) {
      PyErr_Format(PyExc_BufferError, "__dlpack__: this array is on %s, device (%d, %d)",
                   own.device_type == kDLCPU ? "the CPU" : "a device of the plugin",
                   own.device_type, own.device_id);
      nb::raise_python_error();
    }
  }
  std::pair<int64_t, int64_t> version;
  if (max_version != Py_None && !nb::try_cast(nb::handle(max_version), version)) {
    throw TypeError(fmt::format("__dlpack__: max_version must be a pair of integers, got {}",
                                repr_of(max_version)));
  }
  return {wants_cpu, version.first >= kDLMajorVersion, copy == Py_True, copy == Py_False};
}

nb::dict cuda_interface_of(ShapeDtype type, const void* data, bool is_read_only,
                           nb::object stream) {
  nb::dict entries;
  entries["shape"] = to_tuple(type.shape());
  entries["typestr"] = nb::object(nb::handle(numpy_dtype(type.dtype())).attr("str"));
  entries["data"] = nb::make_tuple(reinterpret_cast<uintptr_t>(data), is_read_only);
  entries["strides"] = nb::none();
  entries["version"] = 3;
  entries["stream"] = std::move(stream);
  return entries;
}

namespace {

struct Release {
  void (*release)(void*);
  void* tensor;
};
std::mutex releases_mutex;
std::vector<Release> releases;

int release_all(void*) {
  std::vector<Release> taken;
  {
    const std::lock_guard lock(releases_mutex);
    taken.swap(releases);
  }
  for (const Release& each : taken) each.release(each.tensor);
  return 0;
}

}  // namespace

void release_later(void (*release)(void*), void* tensor) {
  if (!Py_IsInitialized()) return;
  {
    const std::lock_guard lock(releases_mutex);
    releases.push_back({release, tensor});
  }
  // Python's list of pending calls may be full; then a later call releases this tensor too.
  Py_AddPendingCall(release_all, nullptr);
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
  managed->major = kDLMajorVersion;
  managed->minor = 0;
  managed->flags = flags;
  return PyCapsule_New(managed, kNewName, [](PyObject* capsule) {
    destroy_unused<DLManagedTensorVersioned>(capsule, kNewName);
  });
}

}  // namespace farcall::python
