#include "callbacks/buffer_object.h"

#include "numpy_api.h"

#include <iterator>
#include <new>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/layout.h>

#include "convert.h"
#include "dlpack.h"
#include "errors.h"
#include "interpreter_lock.h"

namespace farcall::python {
namespace {

struct BufferObject {
  PyObject_HEAD Buffer buffer;
  bool is_open, is_writeable;
  bool as_bytes;  // the next view has bytes as items, not the dtype
  bool was_seen;  // a view or the address was requested
  Py_ssize_t num_views;
  PyObject* callback;                  // its name
  std::shared_ptr<const void> memory;  // kept for views that outlive the callback
};

PyTypeObject* buffer_type = nullptr;

BufferObject* raw(PyObject* self) { return reinterpret_cast<BufferObject*>(self); }

// Raises if the callback has returned.
Buffer& open(PyObject* self) {
  BufferObject* object = raw(self);
  if (object->is_open) return object->buffer;
  throw Error(
      ErrorCode::kFailedPrecondition,
      fmt::format("this Buffer of callback {} was used after the callback had returned, when "
                  "its memory belongs to the program again. Copy what is needed later while "
                  "the callback runs: np.array(buffer)",
                  nb::cast<std::string>(nb::handle(object->callback))));
}

// The same for access by the host: also raises if the buffer is in the memory of a device.
Buffer& open_on_host(PyObject* self) {
  Buffer& buffer = open(self);
  if (!buffer.device()) return buffer;
  throw TypeError(
      fmt::format("this Buffer of callback {} is in the memory of {}:{}, which the host cannot "
                  "read; use __cuda_array_interface__ (cupy, numba) or DLPack (torch, cupy)",
                  nb::cast<std::string>(nb::handle(raw(self)->callback)), buffer.device()->platform,
                  buffer.device()->device_ordinal));
}

// The memory of freed objects, for reuse: each call creates and releases a few. Guarded by the
// interpreter lock.
class Spare {
 public:
  BufferObject* take() { return count_ > 0 ? objects_[--count_] : nullptr; }
  bool give(BufferObject* object) {
    if (count_ == std::size(objects_)) return false;
    objects_[count_++] = object;
    return true;
  }

 private:
  BufferObject* objects_[32];
  size_t count_ = 0;
};
Spare spare;

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  BufferObject* object = raw(self);
  Py_XDECREF(object->callback);
  object->memory.~shared_ptr();
  if (!spare.give(object)) PyObject_Free(self);
  Py_DECREF(type);
}

// ---- the buffer protocol ----

// The format character of numpy and struct; null if there is none.
const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "?";
    case DType::kInt8:
      return "b";
    case DType::kInt16:
      return "h";
    case DType::kInt32:
      return "i";
    case DType::kInt64:
      return "l";
    case DType::kUInt8:
      return "B";
    case DType::kUInt16:
      return "H";
    case DType::kUInt32:
      return "I";
    case DType::kUInt64:
      return "L";
    case DType::kFloat16:
      return "e";
    case DType::kFloat32:
      return "f";
    case DType::kFloat64:
      return "d";
    case DType::kComplex64:
      return "Zf";
    case DType::kComplex128:
      return "Zd";
    default:
      return nullptr;
  }
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  BufferObject* object = raw(self);
  view->obj = nullptr;
  try {
    Buffer& buffer = open_on_host(self);
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && !object->is_writeable) {
      PyErr_SetString(PyExc_BufferError,
                      "this Buffer is an argument of the callback, which is read-only");
      return -1;
    }
    const ShapeDtype type = buffer.type();
    const char* format = object->as_bytes ? "B" : format_of(type.dtype());
    if (!format) {
      PyErr_SetString(PyExc_BufferError,
                      fmt::format("{} has no format in Python's buffer protocol; use "
                                  "np.asarray(buffer)",
                                  dtype_name(type.dtype()))
                          .c_str());
      return -1;
    }
    view->buf = buffer.data();
    view->len = static_cast<Py_ssize_t>(buffer.nbytes());
    view->readonly = object->is_writeable ? 0 : 1;
    view->itemsize = object->as_bytes ? 1 : static_cast<Py_ssize_t>(byte_width(type.dtype()));
    view->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
    view->ndim = object->as_bytes ? 1 : static_cast<int>(type.rank());
    view->shape = nullptr;
    view->strides = nullptr;
    view->suboffsets = nullptr;
    view->internal = nullptr;
    if (object->as_bytes) {
      view->shape = &view->len;
      view->strides = &view->itemsize;
    } else if ((flags & PyBUF_ND) == PyBUF_ND) {
      // The dimensions of an interned type are never freed.
      view->shape = reinterpret_cast<Py_ssize_t*>(const_cast<int64_t*>(type.shape().data()));
      if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES && type.rank() == 1) {
        view->strides = &view->itemsize;
      } else if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES && type.rank() > 1) {
        auto* strides = new Py_ssize_t[type.rank()];
        Py_ssize_t stride = view->itemsize;
        for (size_t i = type.rank(); i-- > 0;) {
          strides[i] = stride;
          stride *= type.shape()[i];
        }
        view->strides = strides;
        view->internal = strides;
      }
    }
    view->obj = Py_NewRef(self);
    ++object->num_views;
    object->was_seen = true;
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

void release_buffer(PyObject* self, Py_buffer* view) {
  --raw(self)->num_views;
  delete[] static_cast<Py_ssize_t*>(view->internal);
}

// ---- numpy ----

PyObject* as_numpy(PyObject* self) {
  const Buffer& buffer = open_on_host(self);
  // The base of the numpy array is a memoryview of this object, so that the array counts as a view
  // until it is released. The memoryview has bytes as items, because Python's buffer protocol has
  // no format for some dtypes.
  raw(self)->as_bytes = true;
  PyObject* base = PyMemoryView_FromObject(self);
  raw(self)->as_bytes = false;
  if (!base) return nullptr;
  const ShapeDtype type = buffer.type();
  int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
  if (raw(self)->is_writeable) flags |= NPY_ARRAY_WRITEABLE;
  PyObject* made = PyArray_NewFromDescr(
      &PyArray_Type, reinterpret_cast<PyArray_Descr*>(numpy_dtype(type.dtype()).release().ptr()),
      static_cast<int>(type.rank()), reinterpret_cast<npy_intp const*>(type.shape().data()),
      nullptr, const_cast<void*>(buffer.data()), flags, nullptr);
  if (!made) {
    Py_DECREF(base);
    return nullptr;
  }
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(made), base) < 0) {
    Py_DECREF(made);
    return nullptr;
  }
  return made;
}

// __array__(dtype=None, copy=None)
PyObject* as_numpy_method(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"dtype", "copy", nullptr};
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", const_cast<char**>(names), &dtype,
                                     &copy)) {
      return nullptr;
    }
    nb::object made = nb::steal(as_numpy(self));
    return made.is_valid() ? as_requested(made, dtype, copy).release().ptr() : nullptr;
  });
}

// ---- DLPack ----

DLDevice dlpack_device_of(const Buffer& buffer) {
  const BufferDevice* device = buffer.device();
  if (!device) return {kDLCPU, 0};
  return {device->platform == "rocm" ? kDLROCM : kDLCUDA, device->device_ordinal};
}

// Counts as a view until the consumer releases it, on any thread.
std::shared_ptr<const void> view_of(PyObject* self) {
  ++raw(self)->num_views;
  raw(self)->was_seen = true;
  return {Py_NewRef(self), [](PyObject* buffer) {
            with_interpreter([buffer] {
              --raw(buffer)->num_views;
              Py_DECREF(buffer);
            });
          }};
}

PyObject* to_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    Buffer& buffer = open(self);
    const DLDevice device = dlpack_device_of(buffer);
    const DLPackRequest request = parse_dlpack_request(
        args, kwargs, device, buffer.device() ? buffer.device()->stream : nullptr);
    if (request.wants_cpu) open_on_host(self);  // raises: the memory is on the device
    // Consumers of device memory do not always know of read-only tensors.
    const bool is_read_only = !raw(self)->is_writeable && !buffer.device();
    // Capsules before DLPack 1.0 cannot mark a tensor as read-only.
    const bool is_copied = request.wants_copy || (is_read_only && !request.is_versioned);
    if (is_copied && request.forbids_copy) {
      PyErr_SetString(PyExc_BufferError,
                      "__dlpack__: an argument of a callback is read-only, which only capsules of "
                      "DLPack 1.0 can say; ask with max_version=(1, 0), or allow a copy");
      return nullptr;
    }
    if (!is_copied) {
      return make_dlpack_capsule(
          {buffer.type(), buffer.data(), is_read_only, false, view_of(self), device},
          request.is_versioned);
    }
    open_on_host(self);
    Storage copy = Storage::copy_of(buffer.data(), buffer.nbytes());
    void* const data = copy.data();
    return make_dlpack_capsule(
        {buffer.type(), data, false, true, std::make_shared<const Storage>(std::move(copy))},
        request.is_versioned);
  });
}

PyObject* dlpack_device(PyObject* self, PyObject*) {
  return guarded([&] {
    const DLDevice device = dlpack_device_of(open(self));
    return Py_BuildValue("(ii)", device.device_type, device.device_id);
  });
}

// ---- attributes ----

PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] { return to_tuple(open(self).shape()).release().ptr(); });
}
PyObject* get_dtype(PyObject* self, void*) {
  return guarded([&] { return numpy_dtype(open(self).dtype()).release().ptr(); });
}
PyObject* get_ndim(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromSize_t(open(self).rank()); });
}
PyObject* get_size(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromLongLong(open(self).size()); });
}
PyObject* get_nbytes(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromSize_t(open(self).nbytes()); });
}
PyObject* get_itemsize(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromSize_t(byte_width(open(self).dtype())); });
}
PyObject* get_writeable(PyObject* self, void*) {
  return guarded([&] {
    open(self);
    return PyBool_FromLong(raw(self)->is_writeable);
  });
}
PyObject* get_device(PyObject* self, void*) {
  return guarded([&] {
    const BufferDevice* device = open(self).device();
    const nb::object devices = nb::module_::import_("farcall").attr("devices");
    const nb::object all = device ? devices(std::string(device->platform)) : devices();
    return nb::object(all[device ? device->device_ordinal : 0]).release().ptr();
  });
}
PyObject* get_pointer(PyObject* self, void*) {
  return guarded([&] {
    void* const data = open(self).data();
    raw(self)->was_seen = true;
    return PyLong_FromVoidPtr(data);
  });
}

PyObject* get_cuda_interface(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Buffer& buffer = open(self);
    const BufferDevice* device = buffer.device();
    if (!device) {
      PyErr_SetString(PyExc_AttributeError,
                      "__cuda_array_interface__: this Buffer is on the CPU; use "
                      "np.asarray(buffer) or DLPack");
      return nullptr;
    }
    raw(self)->was_seen = true;
    // 1 is the default stream; 0 is not allowed.
    const auto stream = reinterpret_cast<uintptr_t>(device->stream);
    return cuda_interface_of(buffer.type(), buffer.data(), !raw(self)->is_writeable,
                             nb::int_(stream == 0 ? 1 : stream))
        .release()
        .ptr();
  });
}

Py_ssize_t length(PyObject* self) {
  return guarded([&]() -> Py_ssize_t {
    const Buffer& buffer = open(self);
    if (buffer.rank() > 0) return static_cast<Py_ssize_t>(buffer.shape()[0]);
    throw TypeError("a scalar Buffer has no len()");
  });
}

PyObject* representation(PyObject* self) {
  const BufferObject* object = raw(self);
  const char* state = !object->is_open       ? "closed"
                      : object->is_writeable ? "writeable"
                                             : "read-only";
  return PyUnicode_FromFormat("<Buffer %s, %s>", object->buffer.type().to_string().c_str(), state);
}

PyGetSetDef getters[] = {
    {"shape", get_shape, nullptr, "The sizes of the dimensions.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type, a numpy.dtype.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"size", get_size, nullptr, "The number of elements.", nullptr},
    {"nbytes", get_nbytes, nullptr, "The bytes of all elements.", nullptr},
    {"itemsize", get_itemsize, nullptr, "The bytes of one element.", nullptr},
    {"writeable", get_writeable, nullptr, "True for results, False for arguments.", nullptr},
    {"device", get_device, nullptr, "The device that the memory is on.", nullptr},
    {"unsafe_pointer", get_pointer, nullptr,
     "The address of the first element, an int. Valid until the callback returns.", nullptr},
    {"__cuda_array_interface__", get_cuda_interface, nullptr,
     "The memory on a GPU, version 3 of the interface. On the CPU: AttributeError.", nullptr},
    {}};

PyMethodDef methods[] = {
    {"__array__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(as_numpy_method)),
     METH_VARARGS | METH_KEYWORDS, "A numpy array that shares this memory."},
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(to_dlpack)),
     METH_VARARGS | METH_KEYWORDS, "A DLPack capsule that shares this memory."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS,
     "The device: (1, 0) is the CPU, (2, n) a CUDA device."},
    {}};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>(
                    "An argument or a result of a buffer callback, in the program's own memory.\n\n"
                    "Arguments are read-only, results are to be written. Read and written through "
                    "np.asarray, DLPack or\nmemoryview while the callback runs; afterwards every "
                    "use raises RuntimeError.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_getset, getters},
    {Py_tp_methods, methods},
    {Py_tp_repr, reinterpret_cast<void*>(representation)},
    {Py_sq_length, reinterpret_cast<void*>(length)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {0, nullptr}};

PyType_Spec spec = {"farcall.experimental.buffer_callback.Buffer", sizeof(BufferObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

// ---- ExecutionContext ----

struct ContextObject {
  PyObject_HEAD Stage stage;
  int32_t device_ordinal;
  int64_t run_id;
  void* stream;  // null if there is none
};

PyTypeObject* context_type = nullptr;

const ContextObject& context_of(PyObject* self) { return *reinterpret_cast<ContextObject*>(self); }

PyObject* get_stage(PyObject* self, void*) {
  return guarded([&] { return nb::cast(context_of(self).stage).release().ptr(); });
}
PyObject* get_device_ordinal(PyObject* self, void*) {
  return PyLong_FromLong(context_of(self).device_ordinal);
}
PyObject* get_run_id(PyObject* self, void*) { return PyLong_FromLongLong(context_of(self).run_id); }
PyObject* get_stream(PyObject* self, void*) {
  if (context_of(self).stream) return PyLong_FromVoidPtr(context_of(self).stream);
  PyErr_SetString(
      PyExc_RuntimeError,
      "ExecutionContext.stream: the GPU context is not available: this call runs on the "
      "CPU, which has no stream");
  return nullptr;
}
PyObject* describe_context(PyObject* self) {
  return PyUnicode_FromFormat("<ExecutionContext of run %lld>",
                              static_cast<long long>(context_of(self).run_id));
}
void deallocate_context(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyGetSetDef context_getters[] = {
    {"stage", get_stage, nullptr, "The stage of the call, an ExecutionStage.", nullptr},
    {"device_ordinal", get_device_ordinal, nullptr, "The number of the device.", nullptr},
    {"run_id", get_run_id, nullptr, "The same for all calls of one execution, and no other's.",
     nullptr},
    {"stream", get_stream, nullptr, "The device's stream, an int. On the CPU: RuntimeError.",
     nullptr},
    {}};

PyType_Slot context_slots[] = {
    {Py_tp_doc, const_cast<char*>("Describes the execution that calls a buffer callback.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate_context)},
    {Py_tp_getset, context_getters},
    {Py_tp_repr, reinterpret_cast<void*>(describe_context)},
    {0, nullptr}};

PyType_Spec context_spec = {"farcall.experimental.buffer_callback.ExecutionContext",
                            sizeof(ContextObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, context_slots};

PyTypeObject* add_type(nb::module_& module, const char* name, PyType_Spec& type_spec) {
  PyObject* made = PyType_FromSpec(&type_spec);
  if (!made) nb::raise_python_error();
  module.attr(name) = nb::handle(made);
  return reinterpret_cast<PyTypeObject*>(made);
}

}  // namespace

nb::object make_buffer(const Buffer& buffer, bool is_writeable, nb::handle callback) {
  BufferObject* object = spare.take();
  if (object) {
    PyObject_Init(reinterpret_cast<PyObject*>(object), buffer_type);
  } else {
    object = PyObject_New(BufferObject, buffer_type);
    if (!object) nb::raise_python_error();
  }
  new (&object->buffer) Buffer(buffer);
  object->is_open = true;
  object->is_writeable = is_writeable;
  object->as_bytes = false;
  object->was_seen = false;
  object->num_views = 0;
  object->callback = Py_NewRef(callback.ptr());
  new (&object->memory) std::shared_ptr<const void>();
  return nb::steal(reinterpret_cast<PyObject*>(object));
}

nb::object make_execution_context(const ExecutionContext& context) {
  auto* object = PyObject_New(ContextObject, context_type);
  if (!object) nb::raise_python_error();
  object->stage = context.stage();
  object->device_ordinal = context.device_ordinal();
  object->run_id = context.run_id();
  object->stream = context.has_stream() ? context.stream() : nullptr;
  return nb::steal(reinterpret_cast<PyObject*>(object));
}

bool is_buffer(nb::handle object) { return Py_TYPE(object.ptr()) == buffer_type; }

bool shows_buffer(PyObject* numpy_array) {
  PyObject* base = numpy_array;
  while (base && PyArray_Check(base)) base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(base));
  if (!base || !PyMemoryView_Check(base)) return false;
  PyObject* const owner = PyMemoryView_GET_BUFFER(base)->obj;
  return owner && is_buffer(owner);
}

bool was_seen(nb::handle buffer) { return raw(buffer.ptr())->was_seen; }

bool close_buffer(nb::handle buffer) {
  raw(buffer.ptr())->is_open = false;
  return raw(buffer.ptr())->num_views > 0;
}

void keep_memory(nb::handle buffer, std::shared_ptr<const void> memory) {
  raw(buffer.ptr())->memory = std::move(memory);
}

void bind_buffers(nb::module_& module) {
  buffer_type = add_type(module, "Buffer", spec);
  context_type = add_type(module, "ExecutionContext", context_spec);
  nb::enum_<Stage>(module, "ExecutionStage", "The stages of a foreign call.")
      .value("INSTANTIATE", Stage::kInstantiate)
      .value("PREPARE", Stage::kPrepare)
      .value("INITIALIZE", Stage::kInitialize)
      .value("EXECUTE", Stage::kExecute)
      .value("RECORD", Stage::kRecord);
}

}  // namespace farcall::python
