#include "array_object.h"

#include <structmember.h>

#include <new>
#include <optional>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/placement.h>

#include "convert.h"
#include "errors.h"

namespace farcall::python {

PyTypeObject* array_type = nullptr;

namespace {

ArrayObject* newest = nullptr;  // the end of the list of all live objects

void add_to_list(ArrayObject* object) {
  object->older = newest;
  object->newer = nullptr;
  if (newest) newest->newer = object;
  newest = object;
}

void remove_from_list(ArrayObject* object) {
  if (object->older) object->older->newer = object->newer;
  (object->newer ? object->newer->older : newest) = object->older;
}

// Freed objects for the next ones, as short calls make one array after the other.
constexpr size_t kMostFreeObjects = 16;
ArrayObject* free_objects[kMostFreeObjects];
size_t num_free_objects = 0;

// An object without a value. Null with a Python error if out of memory.
ArrayObject* take_object() {
  if (num_free_objects == 0) return PyObject_New(ArrayObject, array_type);
  ArrayObject* object = free_objects[--num_free_objects];
  PyObject_Init(reinterpret_cast<PyObject*>(object), array_type);
  return object;
}

void give_object(ArrayObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (num_free_objects < kMostFreeObjects) {
    free_objects[num_free_objects++] = object;
  } else {
    PyObject_Free(object);
  }
  Py_DECREF(type);
}

}  // namespace

PyObject* wrap(Array array) noexcept {
  ArrayObject* object = take_object();
  if (!object) return nullptr;
  new (&object->value) Array(std::move(array));
  object->weak_references = nullptr;
  add_to_list(object);
  return reinterpret_cast<PyObject*>(object);
}

void wait_for(const Array& array) {
  std::optional<nb::gil_scoped_release> released;
  if (!is_ready(array)) released.emplace();
  block_until_ready(array);
}

nb::object wrap_object(Array array) {
  PyObject* object = wrap(std::move(array));
  if (!object) nb::raise_python_error();
  return nb::steal(object);
}

nb::list wrap_all(std::span<const Array> arrays) {
  nb::list result;
  for (const Array& array : arrays) result.append(wrap_object(array));
  return result;
}

namespace {

void deallocate(PyObject* self) {
  auto* object = reinterpret_cast<ArrayObject*>(self);
  remove_from_list(object);  // first: the rest can run Python code, which must not find it
  if (object->weak_references) PyObject_ClearWeakRefs(self);
  object->value.~Array();
  give_object(object);
}

// ---- operators: numpy's functions; NotImplemented if the other operand is not an array ----

template <auto function>
PyObject* binary(PyObject* left, PyObject* right) {
  return guarded([&]() -> PyObject* {
    const Array x = try_to_array(left), y = try_to_array(right);
    if (x.is_null() || y.is_null()) return Py_NewRef(Py_NotImplemented);
    return wrap(function(x, y));
  });
}

template <auto function>
PyObject* unary(PyObject* self) {
  return guarded([&] { return wrap(function(array_of(self))); });
}

PyObject* power(PyObject* base, PyObject* exponent, PyObject* modulus) {
  if (modulus != Py_None) {
    PyErr_SetString(PyExc_TypeError, "pow() of arrays takes no modulus");
    return nullptr;
  }
  return binary<numpy::power>(base, exponent);
}

PyObject* divmod(PyObject* left, PyObject* right) {
  nb::object quotient = nb::steal(binary<numpy::floor_divide>(left, right));
  if (!quotient.is_valid() || quotient.ptr() == Py_NotImplemented) return quotient.release().ptr();
  nb::object rest = nb::steal(binary<numpy::remainder>(left, right));
  return rest.is_valid() ? PyTuple_Pack(2, quotient.ptr(), rest.ptr()) : nullptr;
}

PyObject* compare(PyObject* left, PyObject* right, int operation) {
  switch (operation) {
    case Py_EQ:
      return binary<numpy::equal>(left, right);
    case Py_NE:
      return binary<numpy::not_equal>(left, right);
    case Py_LT:
      return binary<numpy::less>(left, right);
    case Py_LE:
      return binary<numpy::less_equal>(left, right);
    case Py_GT:
      return binary<numpy::greater>(left, right);
    default:
      return binary<numpy::greater_equal>(left, right);
  }
}

// ---- conversion to Python's numbers ----

// The single element as a Python number; converted by numpy, which supports all dtypes.
nb::object as_number(PyObject* self) {
  const Array& array = array_of(self);
  const Storage& storage = array.storage();  // raises if the values are unknown
  if (array.size() != 1) {
    throw TypeError(
        fmt::format("only an array with one element can be converted to a number, got {}",
                    array.type().to_string()));
  }
  nb::object concrete = wrap_object(Array(array.type(), storage));
  nb::object as_array = nb::steal(as_numpy(concrete.ptr()));
  if (!as_array.is_valid()) nb::raise_python_error();
  return as_array.attr("item")();
}

// The result of int(), float() and complex().
nb::object as_scalar(PyObject* self) {
  const Array& array = array_of(self);
  if (array.rank() > 0) {
    throw TypeError(
        fmt::format("only a scalar array can be converted to a Python number, got {}; use .item() "
                    "if it has only one element",
                    array.type().to_string()));
  }
  return as_number(self);
}

int is_true(PyObject* self) {
  return guarded([&] {
    const Array& array = array_of(self);
    values_for(array, Conversion::kBool);
    if (array.size() != 1) {
      invalid_argument(fmt::format("the truth value of {} is not defined; use .any() or .all()",
                                   array.type().to_string()));
    }
    return PyObject_IsTrue(as_number(self).ptr());
  });
}

PyObject* as_int(PyObject* self) {
  return guarded([&] { return PyNumber_Long(as_scalar(self).ptr()); });
}

PyObject* as_float(PyObject* self) {
  return guarded([&] {
    check_concrete(array_of(self), "float");
    return PyNumber_Float(as_scalar(self).ptr());
  });
}

bool is_integer_scalar(PyObject* self) {
  const Array& array = array_of(self);
  return is_integer(array.dtype()) && array.rank() == 0;
}

PyObject* index(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Array& array = array_of(self);
    if (!is_integer_scalar(self)) {
      throw TypeError(fmt::format("only an integer scalar can be used as an index, got {}",
                                  array.type().to_string()));
    }
    values_for(array, Conversion::kIndex);
    return PyNumber_Index(as_number(self).ptr());
  });
}

PyObject* as_complex(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    check_concrete(array_of(self), "complex");
    nb::object value = as_scalar(self);
    return PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type), value.ptr());
  });
}

PyObject* item(PyObject* self, PyObject*) {
  return guarded([&] { return as_number(self).release().ptr(); });
}

// ---- sequence and mapping ----

Py_ssize_t length(PyObject* self) {
  const Array& array = array_of(self);
  if (array.rank() == 0) {
    PyErr_SetString(PyExc_TypeError, "a scalar array has no len()");
    return -1;
  }
  return static_cast<Py_ssize_t>(array.shape()[0]);
}

PyObject* subscript(PyObject* self, PyObject* key) {
  return guarded([&] { return wrap(numpy::take(array_of(self), to_indices(key))); });
}

PyObject* sequence_item(PyObject* self, Py_ssize_t at) {
  return guarded([&] {
    const numpy::Index indices[] = {static_cast<int64_t>(at)};
    return wrap(numpy::take(array_of(self), indices));
  });
}

int no_assignment(PyObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError,
                  "arrays are immutable; make a new one with x.at[index].set(values)");
  return -1;
}

PyObject* iterate(PyObject* self) {
  if (array_of(self).rank() == 0) {
    PyErr_SetString(PyExc_TypeError, "a scalar array cannot be iterated over");
    return nullptr;
  }
  return PySeqIter_New(self);
}

// ---- attributes ----

PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] { return to_tuple(array_of(self).shape()).release().ptr(); });
}
PyObject* get_dtype(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Array& array = array_of(self);
    if (array.type().is_token()) return PyUnicode_FromString("token");
    return dtype_object(array.dtype()).release().ptr();
  });
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromSize_t(array_of(self).rank()); }
PyObject* get_size(PyObject* self, void*) { return PyLong_FromLongLong(array_of(self).size()); }
PyObject* get_nbytes(PyObject* self, void*) {
  return PyLong_FromSize_t(array_of(self).type().nbytes());
}
PyObject* get_itemsize(PyObject* self, void*) {
  return PyLong_FromSize_t(byte_width(array_of(self).dtype()));
}
PyObject* get_weak_type(PyObject* self, void*) {
  return PyBool_FromLong(array_of(self).type().weak_type());
}
PyObject* is_deleted(PyObject* self, PyObject*) {
  return PyBool_FromLong(array_of(self).is_deleted());
}

// Sets AttributeError and returns false for a traced array.
bool has_memory(const Array& array, const char* method) {
  if (array.is_concrete() || array.is_deleted()) return true;
  PyErr_SetString(PyExc_AttributeError,
                  fmt::format("{}: a traced {} has no memory that is being computed; call it for "
                              "the result of the function, outside of it",
                              method, array.type().to_string())
                      .c_str());
  return false;
}

PyObject* is_ready(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Array& array = array_of(self);
    if (!has_memory(array, "is_ready")) return nullptr;
    return PyBool_FromLong(farcall::is_ready(array));
  });
}
PyObject* block_until_ready(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Array& array = array_of(self);
    if (!has_memory(array, "block_until_ready")) return nullptr;
    wait_for(array);
    return Py_NewRef(self);
  });
}

PyObject* get_is_traced(PyObject* self, void*) {
  return PyBool_FromLong(!array_of(self).is_concrete() && !array_of(self).is_deleted());
}
PyObject* get_pointer(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromVoidPtr(const_cast<void*>(array_of(self).data())); });
}

PyObject* as_numpy_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                          PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    // __array__(dtype=None, copy=None)
    PyObject* dtype = nargs > 0 ? args[0] : Py_None;
    PyObject* copy = nargs > 1 ? args[1] : Py_None;
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i) {
      PyObject* name = PyTuple_GET_ITEM(kwnames, i);
      if (PyUnicode_CompareWithASCIIString(name, "dtype") == 0) {
        dtype = args[nargs + i];
      } else if (PyUnicode_CompareWithASCIIString(name, "copy") == 0) {
        copy = args[nargs + i];
      } else {
        throw TypeError(
            fmt::format("__array__() got an unexpected keyword argument {}", repr_of(name)));
      }
    }
    nb::object made = nb::steal(as_numpy(self));
    return made.is_valid() ? as_requested(made, dtype, copy).release().ptr() : nullptr;
  });
}

// The array of the keys' words; it shares their memory.
Array words_of(const Array& keys) {
  Shape shape(keys.shape().begin(), keys.shape().end());
  shape.push_back(2);
  return Array(ShapeDtype(DType::kUInt32, shape), keys.storage());
}

PyObject* describe_keys(const Array& keys) {
  nb::object words = nb::steal(as_numpy(wrap_object(words_of(keys)).ptr()));
  return PyUnicode_FromFormat("Array(%S, dtype=%s) overlaying:\n%S", to_tuple(keys.shape()).ptr(),
                              std::string(dtype_name(keys.dtype())).c_str(), words.ptr());
}

// True if some elements are only on other processes.
bool is_partly_elsewhere(const Array& array) {
  const ShardedBuffer* spread = ShardedBuffer::of(memory_of(array));
  return spread && !spread->is_fully_addressable() && !spread->partition().is_replicated();
}

PyObject* representation(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Array& array = array_of(self);
    if (array.is_deleted()) {
      return PyUnicode_FromFormat("Array(deleted %s)", array.type().to_string().c_str());
    }
    if (!array.is_concrete()) {
      return PyUnicode_FromFormat("Traced<%s>", array.type().to_string().c_str());
    }
    if (array.type().is_token()) return PyUnicode_FromString("Array(token)");
    if (is_partly_elsewhere(array)) {
      return PyUnicode_FromFormat("Array(shape=%S, dtype=%s)", to_tuple(array.shape()).ptr(),
                                  std::string(dtype_name(array.dtype())).c_str());
    }
    if (is_key(array.dtype())) return describe_keys(array);
    // The numbers as numpy prints them, inside "Array(...)".
    nb::object numpy = nb::module_::import_("numpy");
    nb::object text = numpy.attr("array2string")(nb::steal(as_numpy(self)), "separator"_a = ", ",
                                                 "prefix"_a = "Array(");
    // The brackets of an empty array do not show its shape.
    nb::object shape =
        array.size() == 0 ? nb::str(", shape={}").format(to_tuple(array.shape())) : nb::str("");
    const std::string weak = array.type().weak_type() ? ", weak_type=True" : "";
    return PyUnicode_FromFormat("Array(%U%U, dtype=%s%s)", text.ptr(), shape.ptr(),
                                std::string(dtype_name(array.dtype())).c_str(), weak.c_str());
  });
}

PyObject* string(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Array& array = array_of(self);
    if (!array.is_concrete() || array.type().is_token() || is_key(array.dtype()) ||
        is_partly_elsewhere(array)) {
      return representation(self);
    }
    return PyObject_Str(nb::object(nb::steal(as_numpy(self))).ptr());
  });
}

// Formats like the equal numpy scalar or array. A traced array has no values; it formats as its
// str().
PyObject* format(PyObject* self, PyObject* specification) {
  return guarded([&]() -> PyObject* {
    const Array& array = array_of(self);
    if (!PyUnicode_Check(specification)) {
      throw TypeError(
          fmt::format("__format__: the specification must be a string, got {} of type {}",
                      repr_of(specification), Py_TYPE(specification)->tp_name));
    }
    if (!array.is_concrete() || array.type().is_token() || is_key(array.dtype())) {
      if (array.is_concrete()) return PyObject_Str(self);
      if (PyObject_IsTrue(specification) == 1) {
        if (array.is_deleted()) deleted_array(array);
        throw TypeError(
            fmt::format("a traced {} has no value yet and cannot be formatted as {}; use "
                        "farcall.debug.print, which formats when the program runs",
                        array.type().to_string(), repr_of(specification)));
      }
      return PyObject_Str(self);
    }
    nb::object value = nb::steal(as_numpy(self));
    if (array.rank() == 0) value = value[nb::tuple()];
    return PyObject_Format(value.ptr(), specification);
  });
}

PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (is_key(array_of(self).dtype())) {
      nb::object wrap_words = nb::module_::import_("farcall.random").attr("wrap_key_data");
      nb::object words = nb::steal(as_numpy(wrap_object(words_of(array_of(self))).ptr()));
      return nb::make_tuple(wrap_words, nb::make_tuple(words.attr("copy")())).release().ptr();
    }
    nb::object rebuild = nb::module_::import_("farcall._array").attr("_rebuild");
    nb::object value = nb::steal(as_numpy(self)).attr("copy")();
    const bool weak = array_of(self).type().weak_type();
    return nb::make_tuple(rebuild, nb::make_tuple(value, weak)).release().ptr();
  });
}

PyGetSetDef getters[] = {
    {"shape", get_shape, nullptr, "The sizes of the dimensions.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type, a numpy.dtype.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"size", get_size, nullptr, "The number of elements.", nullptr},
    {"nbytes", get_nbytes, nullptr, "The bytes of all elements.", nullptr},
    {"itemsize", get_itemsize, nullptr, "The bytes of one element.", nullptr},
    {"weak_type", get_weak_type, nullptr, "Whether promotion prefers other dtypes.", nullptr},
    {"is_traced", get_is_traced, nullptr, "Whether this is traced, without known values.", nullptr},
    {"__cuda_array_interface__", cuda_array_interface, nullptr,
     "The memory on a GPU, version 3 of the interface. AttributeError elsewhere.", nullptr},
    {}};

template <class F>
PyCFunction as_c_function(F f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

PyMethodDef methods[] = {
    {"__array__", as_c_function(as_numpy_method), METH_FASTCALL | METH_KEYWORDS,
     "The values as a numpy array that shares this memory, read-only."},
    {"__dlpack__", as_c_function(to_dlpack), METH_VARARGS | METH_KEYWORDS,
     "A DLPack capsule that shares this memory."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS,
     "The device: (1, 0) is the CPU, (2, n) a CUDA device."},
    {"__complex__", as_complex, METH_NOARGS, nullptr},
    {"__format__", format, METH_O, nullptr},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"block_until_ready", block_until_ready, METH_NOARGS,
     "Waits for the values and returns this array; raises what their computation raised."},
    {"is_ready", is_ready, METH_NOARGS,
     "Whether the values are computed, so that reading them does not wait."},
    {"is_deleted", is_deleted, METH_NOARGS,
     "Whether the memory was released: donated to a jitted function, or deleted."},
    {"item", item, METH_NOARGS, "The one element as a Python number."},
    {"unsafe_buffer_pointer", get_pointer, METH_NOARGS, "The address of the first element."},
    {}};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weak_references), READONLY, nullptr},
    {}};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("An immutable n-dimensional array. Made by farcall.numpy.array, "
                                  "by operations and by calls.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_getset, getters},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_repr, reinterpret_cast<void*>(representation)},
    {Py_tp_str, reinterpret_cast<void*>(string)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_hash, reinterpret_cast<void*>(PyObject_HashNotImplemented)},
    {Py_tp_iter, reinterpret_cast<void*>(iterate)},
    {Py_nb_add, reinterpret_cast<void*>(binary<numpy::add>)},
    {Py_nb_subtract, reinterpret_cast<void*>(binary<numpy::subtract>)},
    {Py_nb_multiply, reinterpret_cast<void*>(binary<numpy::multiply>)},
    {Py_nb_true_divide, reinterpret_cast<void*>(binary<numpy::divide>)},
    {Py_nb_floor_divide, reinterpret_cast<void*>(binary<numpy::floor_divide>)},
    {Py_nb_remainder, reinterpret_cast<void*>(binary<numpy::remainder>)},
    {Py_nb_divmod, reinterpret_cast<void*>(divmod)},
    {Py_nb_power, reinterpret_cast<void*>(power)},
    {Py_nb_matrix_multiply, reinterpret_cast<void*>(binary<numpy::matmul>)},
    {Py_nb_and, reinterpret_cast<void*>(binary<numpy::bitwise_and>)},
    {Py_nb_or, reinterpret_cast<void*>(binary<numpy::bitwise_or>)},
    {Py_nb_xor, reinterpret_cast<void*>(binary<numpy::bitwise_xor>)},
    {Py_nb_lshift, reinterpret_cast<void*>(binary<numpy::left_shift>)},
    {Py_nb_rshift, reinterpret_cast<void*>(binary<numpy::right_shift>)},
    {Py_nb_negative, reinterpret_cast<void*>(unary<numpy::negative>)},
    {Py_nb_positive, reinterpret_cast<void*>(unary<numpy::positive>)},
    {Py_nb_absolute, reinterpret_cast<void*>(unary<numpy::absolute>)},
    {Py_nb_invert, reinterpret_cast<void*>(unary<numpy::bitwise_not>)},
    {Py_nb_bool, reinterpret_cast<void*>(is_true)},
    {Py_nb_int, reinterpret_cast<void*>(as_int)},
    {Py_nb_float, reinterpret_cast<void*>(as_float)},
    {Py_nb_index, reinterpret_cast<void*>(index)},
    {Py_mp_length, reinterpret_cast<void*>(length)},
    {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(no_assignment)},
    {Py_sq_length, reinterpret_cast<void*>(length)},
    {Py_sq_item, reinterpret_cast<void*>(sequence_item)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {0, nullptr}};

// The concrete arrays, oldest first.
nb::list live_arrays() {
  nb::list arrays;
  for (ArrayObject* object = newest; object; object = object->older) {
    if (object->value.is_concrete()) {
      arrays.append(nb::handle(reinterpret_cast<PyObject*>(object)));
    }
  }
  arrays.attr("reverse")();
  return arrays;
}

PyType_Spec spec = {"farcall.Array", sizeof(ArrayObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

void bind_array_type(nb::module_& module) {
  PyObject* made = PyType_FromSpec(&spec);
  if (!made) nb::raise_python_error();
  array_type = reinterpret_cast<PyTypeObject*>(made);
  // Makes numpy arrays return NotImplemented, so that the operators of Array are called.
  nb::handle(made).attr("__array_priority__") = 100;
  module.attr("Array") = nb::handle(made);
  module.def("live_arrays", live_arrays);
}

}  // namespace farcall::python
