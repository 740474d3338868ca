// Access of other libraries to an array's memory: numpy, the buffer protocol, DLPack.
#include "numpy_api.h"

#include <cstring>
#include <memory>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/origin.h>
#include <farcall/trace/placement.h>

#include "array_object.h"
#include "callbacks/buffer_object.h"
#include "convert.h"
#include "dlpack.h"
#include "errors.h"
#include "interpreter_lock.h"

namespace farcall::python {
namespace {

// ---- import ----

void copy_strided(const DLPackContents& from, size_t axis, const std::byte* at, std::byte*& to) {
  const size_t width = byte_width(from.type.dtype());
  if (axis == from.type.rank()) {
    std::memcpy(to, at, width);
    to += width;
    return;
  }
  for (int64_t i = 0; i < from.type.shape()[axis]; ++i) {
    copy_strided(from, axis + 1, at + i * from.strides[axis], to);
  }
}

template <class Managed>
void release_tensor(void* managed) {
  auto* taken = static_cast<Managed*>(managed);
  with_interpreter([&] {
    if (taken->deleter) taken->deleter(taken);
  });
}

// Programs may read an argument 16 bytes at a time.
bool is_aligned_for_devices(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0;
}

template <class Managed>
Array import_from_device(const Device& device, const DLPackContents& from, Managed* managed,
                         PyObject* capsule, const char* used_name, bool share) {
  if (!from.is_dense) {
    invalid_argument(fmt::format(
        "from_dlpack: {} on {} has strides of {} bytes, but must be dense and row-major: "
        "make it contiguous first",
        from.type.to_string(), device.to_string(), shape_to_string(from.strides)));
  }
  if (from.type.nbytes() == 0) {
    return placed_array(from.type, device.allocate(from.type), /*is_committed=*/true);
  }
  if (PyCapsule_SetName(capsule, used_name) != 0) nb::raise_python_error();  // now ours
  std::shared_ptr<const void> owner(static_cast<const void*>(managed), [managed](const void*) {
    release_later(release_tensor<Managed>, managed);
  });
  const nb::gil_scoped_release released;
  Storage storage = device.from_library(from.type, from.data, std::move(owner));
  if (share && is_aligned_for_devices(from.data)) {
    storage.mark_exported();  // programs must not overwrite it
  } else {
    storage = device.from_host(from.type, to_host(storage));
  }
  return placed_array(from.type, std::move(storage), /*is_committed=*/true);
}

template <class Managed>
Array import_tensor(Managed* managed, PyObject* capsule, const char* used_name, bool share) {
  const Device& device = device_of_dlpack(managed->tensor.device);
  const DLPackContents from = check_dlpack_tensor(managed->tensor);
  if (!device.is_host()) {
    return import_from_device(device, from, managed, capsule, used_name, share);
  }
  const bool is_bool = from.type.dtype() == DType::kBool;
  if (share && from.is_dense && is_aligned(from.data) && from.type.nbytes() > 0 &&
      (!is_bool || are_bools({static_cast<const std::byte*>(from.data), from.type.nbytes()}))) {
    if (PyCapsule_SetName(capsule, used_name) != 0) nb::raise_python_error();  // now ours
    return Array(from.type,
                 Storage::adopt(from.data, from.type.nbytes(), release_tensor<Managed>, managed));
  }
  Storage storage = Storage::allocate(from.type.nbytes());
  if (from.type.nbytes() > 0 && from.is_dense) {
    std::memcpy(storage.data(), from.data, from.type.nbytes());
  } else if (from.type.nbytes() > 0) {
    auto* to = static_cast<std::byte*>(storage.data());
    copy_strided(from, 0, static_cast<const std::byte*>(from.data), to);
  }
  if (is_bool) normalize_bools({static_cast<std::byte*>(storage.data()), from.type.nbytes()});
  return Array(from.type, std::move(storage));
}

// What the user did with the array, and what to use instead.
std::pair<const char*, const char*> advice_for(Conversion conversion) {
  switch (conversion) {
    case Conversion::kBool:
      return {"used as a condition of Python's control flow (if, while, and, or, not)",
              "Use where() or lax.cond in place of if, lax.while_loop in place of while, and &, | "
              "and ~ in place of and, or and not"};
    case Conversion::kIndex:
      return {"used where Python needs an integer (range, an index of a list, a size)",
              "Loop with lax.fori_loop, and index arrays, not lists"};
    case Conversion::kNumpyArray:
      return {"passed to numpy", "Use farcall.numpy in place of numpy, or pure_callback"};
  }
  return {};
}

std::string lost_derivative(const Array& array, const char* wanted) {
  return fmt::format(
      "a traced {} that is being differentiated was converted to a {}, which would lose its "
      "derivative. Compute with farcall's operations; for the value alone use .item(), or "
      "lax.stop_gradient",
      array.type().to_string(), wanted);
}

}  // namespace

const Storage& values_for(const Array& array, Conversion conversion) {
  try {
    return array.storage();
  } catch (const ConcretizationError&) {
    const auto [what, instead] = advice_for(conversion);
    throw TracerConversionError(
        conversion, fmt::format("a traced {} was {}, but {}. {}; or {}", array.type().to_string(),
                                what, why_unknown(array), instead, how_to_know(array)));
  }
}

void check_known_integer(nb::handle object, std::string_view what) {
  if (!is_array(object.ptr()) || array_of(object.ptr()).has_known_values()) return;
  const Array& array = array_of(object.ptr());
  if (array.is_deleted()) deleted_array(array);
  throw TracerConversionError(
      Conversion::kIndex,
      fmt::format(
          "{} must be known when the function is traced, got a traced {}: {}. To fix this, {}",
          what, array.type().to_string(), why_unknown(array), how_to_know(array)));
}

void check_concrete(const Array& array, const char* wanted) {
  if (array.is_concrete()) return;
  array.storage();  // raises if the values are unknown
  throw ConcretizationError(lost_derivative(array, wanted));
}

namespace {

// An object that keeps the memory for a view of it. The array itself does not: it gives the memory
// up when it is deleted or donated.
PyObject* keeper_of(const Storage& storage) {
  auto kept = std::make_unique<Storage>(storage);
  constexpr const char* kName = "farcall.memory";
  PyObject* made = PyCapsule_New(kept.get(), kName, [](PyObject* capsule) {
    delete static_cast<Storage*>(PyCapsule_GetPointer(capsule, kName));
  });
  if (made) kept.release();
  return made;
}

}  // namespace

PyObject* as_numpy(PyObject* self) {
  try {
    const Array& array = array_of(self);
    const Storage& storage = values_for(array, Conversion::kNumpyArray);
    if (!array.is_concrete()) {
      throw TracerConversionError(Conversion::kNumpyArray, lost_derivative(array, "numpy array"));
    }
    storage.mark_exported();
    nb::object descriptor = numpy_dtype(array.dtype());
    PyObject* made = PyArray_NewFromDescr(
        &PyArray_Type, reinterpret_cast<PyArray_Descr*>(descriptor.release().ptr()),
        static_cast<int>(array.rank()), reinterpret_cast<npy_intp const*>(array.shape().data()),
        nullptr, storage.data(), NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED, nullptr);
    if (!made) return nullptr;
    PyObject* const keeper = keeper_of(storage);
    if (!keeper || PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(made), keeper) < 0) {
      Py_DECREF(made);
      return nullptr;
    }
    return made;
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  // Delegates to the numpy array, which keeps ours alive.
  nb::object numpy = nb::steal(as_numpy(self));
  if (!numpy.is_valid()) {
    if (!PyErr_ExceptionMatches(PyExc_BufferError)) {
      PyErr_Clear();
      PyErr_SetString(PyExc_BufferError, "the values of this array are not available as a buffer");
    }
    return -1;
  }
  return PyObject_GetBuffer(numpy.ptr(), view, flags);
}

// The DLPack device of an array in memory that other libraries can read there; else the CPU.
DLDevice dlpack_device_of(const Array& array) {
  constexpr DLDevice kCpu = {kDLCPU, 0};
  if (!array.is_concrete()) return kCpu;
  const Storage& storage = memory_of(array);
  if (!storage.buffer() || ShardedBuffer::of(storage)) return kCpu;
  return device_of(storage).dlpack_device().value_or(kCpu);
}

// The address on the device that dlpack_device_of() has found; null for elements below eight bits.
void* address_on_device(const Array& array) {
  const nb::gil_scoped_release released;
  return memory_of(array).buffer()->address();
}

PyObject* dlpack_device(PyObject* self, PyObject*) {
  const DLDevice device = dlpack_device_of(array_of(self));
  return Py_BuildValue("(ii)", device.device_type, device.device_id);
}

// The elements are computed, so that consumers need not wait.
PyObject* cuda_array_interface(PyObject* self, void*) {
  try {
    const Array& array = array_of(self);
    if (dlpack_device_of(array).device_type == kDLCPU) {
      PyErr_SetString(
          PyExc_AttributeError,
          "__cuda_array_interface__: this array is not on a GPU; use np.asarray(array) or "
          "DLPack");
      return nullptr;
    }
    const void* address = address_on_device(array);
    if (!address && array.size() > 0) {
      PyErr_SetString(PyExc_AttributeError,
                      "__cuda_array_interface__: other libraries cannot read elements below eight "
                      "bits; use np.asarray(array)");
      return nullptr;
    }
    memory_of(array).mark_exported();
    return cuda_interface_of(array.type(), address, false, nb::none()).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* to_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  try {
    Array array = array_of(self);
    check_concrete(array, "DLPack tensor");
    const DLDevice device = dlpack_device_of(array);
    const DLPackRequest request = parse_dlpack_request(args, kwargs, device);
    if (device.device_type != kDLCPU && !request.wants_cpu && !request.wants_copy) {
      memory_of(array).mark_exported();
      // Consumers of device memory do not always know of read-only tensors.
      return make_dlpack_capsule({array.type(), address_on_device(array), false, false,
                                  std::make_shared<const Storage>(memory_of(array)), device},
                                 request.is_versioned);
    }
    if (request.wants_copy) {
      array = Array(array.type(), Storage::copy_of(array.data(), array.type().nbytes()));
    }
    array.storage().mark_exported();
    return make_dlpack_capsule(
        {array.type(), const_cast<void*>(array.data()), !request.wants_copy, request.wants_copy,
         std::make_shared<const Storage>(array.storage())},
        request.is_versioned);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

Array from_dlpack(nb::handle object, std::optional<bool> copy) {
  if (!nb::hasattr(object, "__dlpack__")) {
    throw TypeError(fmt::format("from_dlpack: the argument must have __dlpack__, got {} of type {}",
                                repr_of(object), Py_TYPE(object.ptr())->tp_name));
  }
  // On a GPU the producer makes the elements valid on the default stream, which is awaited later.
  nb::dict options;
  const int32_t kind = dlpack_device_of(object).device_type;
  if (kind == kDLCUDA) options["stream"] = 1;
  if (kind == kDLROCM) options["stream"] = 0;
  nb::object capsule;
  try {
    capsule = object.attr("__dlpack__")("max_version"_a = nb::make_tuple(1, 0), **options);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    capsule = object.attr("__dlpack__")(**options);  // older producers know of no versions
  }
  const bool share = !copy.value_or(false) && is_evaluating() && !is_buffer(object);
  if (PyCapsule_IsValid(capsule.ptr(), kNewName)) {
    auto* managed =
        static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), kNewName));
    if (managed->major != kDLMajorVersion) {
      invalid_argument(fmt::format("from_dlpack: unsupported DLPack version {}.{}", managed->major,
                                   managed->minor));
    }
    return import_tensor(managed, capsule.ptr(), "used_dltensor_versioned", share);
  }
  if (PyCapsule_IsValid(capsule.ptr(), kOldName)) {
    auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kOldName));
    return import_tensor(managed, capsule.ptr(), "used_dltensor", share);
  }
  throw TypeError("from_dlpack: __dlpack__() returned no DLPack capsule");
}

}  // namespace farcall::python
