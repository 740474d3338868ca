// Conversion of numpy's arrays: copying, sharing, narrowing to 32 bits, normalizing.
#include "convert.h"
#include "numpy_api.h"

#include <algorithm>
#include <cfenv>
#include <complex>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/core/message.h>
#include <farcall/ops/lax.h>
#include <farcall/program/engine.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/record.h>

#include "callbacks/buffer_object.h"
#include "interpreter_lock.h"
#include "text.h"

namespace farcall::python {

void check_not_masked(PyObject* numpy_array) {
  if (PyArray_CheckExact(numpy_array)) return;
  nb::object masked = nb::module_::import_("numpy.ma").attr("MaskedArray");
  const int is_masked = PyObject_IsInstance(numpy_array, masked.ptr());
  if (is_masked < 0) nb::raise_python_error();
  if (is_masked == 0) return;
  invalid_argument(
      "a masked array of numpy would lose its mask; give x.filled(value), or x.data and "
      "x.mask separately");
}

namespace {

// Releases the reference behind adopted memory. Arrays may be released on any thread.
void release_object(void* object) {
  with_interpreter([object] { Py_DECREF(static_cast<PyObject*>(object)); });
}

PyArrayObject* as_numpy_array(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }

ShapeDtype type_of(PyArrayObject* source) {
  check_not_masked(reinterpret_cast<PyObject*>(source));
  const int type_number = PyArray_TYPE(source);
  const DType dtype = dtype_of_number(type_number);
  if (dtype == DType::kInvalid) {
    nb::object descriptor = nb::borrow(reinterpret_cast<PyObject*>(PyArray_DESCR(source)));
    throw TypeError(fmt::format(
        "a numpy array of dtype {} has no counterpart; arrays hold bool, "
        "integers, floats or complex numbers{}",
        display(nb::str(descriptor)),
        type_number == NPY_OBJECT ? ". dtype=object often comes from a list of unequal lengths"
                                  : ""));
  }
  return {dtype, std::span<const int64_t>(reinterpret_cast<const int64_t*>(PyArray_DIMS(source)),
                                          static_cast<size_t>(PyArray_NDIM(source)))};
}

// Copies data of any strides and byte order into dense memory, by numpy.
void copy_any(PyArrayObject* source, DType dtype, void* into) {
  PyObject* target = PyArray_NewFromDescr(
      &PyArray_Type, reinterpret_cast<PyArray_Descr*>(numpy_dtype(dtype).release().ptr()),
      PyArray_NDIM(source), PyArray_DIMS(source), nullptr, into, NPY_ARRAY_CARRAY, nullptr);
  if (!target) nb::raise_python_error();
  nb::object owner = nb::steal(target);
  if (PyArray_CopyInto(as_numpy_array(target), source) < 0) nb::raise_python_error();
}

// The dimensions in the order of their strides, the slowest first, if the data is dense and aligned
// in that order; else empty.
std::vector<int64_t> order_in_memory(PyArrayObject* source) {
  if (!PyArray_ISALIGNED(source) || !PyArray_ISNOTSWAPPED(source)) return {};
  const auto stride = [&](int64_t i) { return PyArray_STRIDE(source, static_cast<int>(i)); };
  std::vector<int64_t> order(static_cast<size_t>(PyArray_NDIM(source)));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::ranges::stable_sort(order, std::greater<>(), stride);
  npy_intp dense = PyArray_ITEMSIZE(source);
  for (size_t i = order.size(); i-- > 0;) {
    if (stride(order[i]) != dense) return {};
    dense *= PyArray_DIM(source, static_cast<int>(order[i]));
  }
  return order;
}

// Copies data that is dense in another order of its dimensions: by the native engine, which does it
// block by block, on several threads, and can be interrupted.
void copy_transposed(ShapeDtype type, std::span<const int64_t> order, const void* from,
                     void* into) {
  Shape shape(order.size());
  std::vector<int64_t> permutation(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    shape[i] = type.shape()[order[i]];
    permutation[order[i]] = static_cast<int64_t>(i);
  }
  const ShapeDtype stored(type.dtype(), shape);
  const ProgramPtr program = record(
      [&](std::span<const Array> inputs) {
        return std::vector{lax::transpose(inputs[0], permutation)};
      },
      {&stored, 1}, "transposed copy");
  const auto executable = find_engine("native").compile(program, {});
  const WithoutLock without_lock;
  run_on_memory(*executable, {&from, 1}, {&into, 1});
}

// Copies data that is not plain into dense memory.
void copy_other(PyArrayObject* source, ShapeDtype type, void* into) {
  constexpr size_t kLarge = size_t{1} << 20;
  if (type.nbytes() >= kLarge) {
    const std::vector<int64_t> order = order_in_memory(source);
    if (!order.empty()) return copy_transposed(type, order, PyArray_DATA(source), into);
  }
  copy_any(source, type.dtype(), into);
}

// ---- from 64 to 32 bits ----

// Narrows integers; returns whether all fit.
template <class From, class To>
bool cut_integers(const void* from, void* to, size_t count) {
  const auto* source = static_cast<const From*>(from);
  auto* target = static_cast<To*>(to);
  From lost = 0;
  for (size_t i = 0; i < count; ++i) {
    target[i] = static_cast<To>(source[i]);
    lost |= source[i] ^ static_cast<From>(target[i]);
  }
  return lost == 0;
}

// Narrows floats; returns whether none overflowed. Infinities of the source do not count:
// converting them does not raise the flag.
bool cut_floats(const void* from, void* to, size_t count) {
  const auto* source = static_cast<const double*>(from);
  auto* target = static_cast<float*>(to);
  std::feclearexcept(FE_OVERFLOW);
  for (size_t i = 0; i < count; ++i) target[i] = static_cast<float>(source[i]);
  return std::fetestexcept(FE_OVERFLOW) == 0;
}

bool cut(DType dtype, const void* from, void* to, size_t count) {
  switch (dtype) {
    case DType::kInt64:
      return cut_integers<int64_t, int32_t>(from, to, count);
    case DType::kUInt64:
      return cut_integers<uint64_t, uint32_t>(from, to, count);
    case DType::kComplex128:
      return cut_floats(from, to, 2 * count);
    default:
      return cut_floats(from, to, count);
  }
}

void warn_of_overflow(ShapeDtype type, DType target) {
  send_message(
      MessageKind::kWarning,
      fmt::format("numpy data of {} is converted to {}; numbers out of its range {}. Ask for the "
                  "dtype (numpy.asarray(x, \"{}\") of farcall), or turn on enable_x64",
                  type.to_string(), dtype_name(target),
                  is_integer(target) ? "wrap around" : "become infinite",
                  dtype_name(type.dtype())));
}

// The number of a 64-bit scalar, if a ScalarNode can hold it.
std::optional<ScalarNode::Number> number_at(DType dtype, const void* element) {
  const auto read = [&](auto value) {
    std::memcpy(&value, element, sizeof(value));
    return value;
  };
  switch (dtype) {
    case DType::kInt64:
      return read(int64_t{});
    case DType::kFloat64:
      return read(double{});
    case DType::kComplex128:
      return read(std::complex<double>());
    default:
      return std::nullopt;
  }
}

// Converts dense 64-bit data to 32 bits.
Array narrowed(ShapeDtype type, const void* data) {
  const ShapeDtype target = type.with_dtype(incoming_dtype(type.dtype()));
  Storage storage = Storage::allocate(target.nbytes());
  const auto count = static_cast<size_t>(type.size());
  if (!cut(type.dtype(), data, storage.data(), count)) warn_of_overflow(type, target.dtype());
  if (type.rank() == 0) {
    if (const auto number = number_at(type.dtype(), data)) {
      return Array(new ScalarNode(target, std::move(storage), *number));
    }
  }
  return Array(target, std::move(storage));
}

}  // namespace

bool is_64_bit(DType dtype) {
  return dtype == DType::kInt64 || dtype == DType::kUInt64 || dtype == DType::kFloat64 ||
         dtype == DType::kComplex128;
}

DType incoming_dtype(DType dtype) {
  if (is_x64()) return dtype;
  switch (dtype) {
    case DType::kInt64:
      return DType::kInt32;
    case DType::kUInt64:
      return DType::kUInt32;
    case DType::kFloat64:
      return DType::kFloat32;
    case DType::kComplex128:
      return DType::kComplex64;
    default:
      return dtype;
  }
}

void normalize_bools(std::span<std::byte> elements) {
  for (std::byte& element : elements) element = std::byte{element != std::byte{0}};
}

bool are_bools(std::span<const std::byte> elements) {
  std::byte all{0};
  for (const std::byte element : elements) all |= element;
  return all <= std::byte{1};
}

Array array_from_numpy(PyObject* object, Intake intake) {
  PyArrayObject* source = as_numpy_array(object);
  const ShapeDtype type = type_of(source);
  const DType dtype = type.dtype();
  void* const data = PyArray_DATA(source);
  const bool is_plain = PyArray_ISCARRAY_RO(source);  // dense, aligned, native byte order
  const bool is_cut = !intake.keeps_64_bits && incoming_dtype(dtype) != dtype;
  if (is_cut && is_plain) return narrowed(type, data);
  const std::span own(static_cast<const std::byte*>(data), is_plain ? type.nbytes() : 0);
  // Memory is shared only if its bytes are valid elements as they are: bools must be 0 or 1, and
  // the unused bits of short integers differ. The memory behind a Buffer is not shared, because it
  // belongs to the program again after the callback.
  if (intake.may_share && is_evaluating() && is_plain && type.nbytes() > 0 &&
      (is_aligned(data) || intake.may_be_unaligned) && !is_short_signed(dtype) &&
      !shows_buffer(object) && (dtype != DType::kBool || are_bools(own))) {
    Py_INCREF(object);
    return Array(type, Storage::adopt(data, type.nbytes(), release_object, object));
  }
  Storage storage = Storage::allocate(type.nbytes());
  const std::span elements(static_cast<std::byte*>(storage.data()), type.nbytes());
  if (!is_plain) {
    copy_other(source, type, storage.data());
  } else if (!own.empty()) {
    std::memcpy(storage.data(), data, own.size());
  }
  if (is_cut) return narrowed(type, storage.data());
  extend_signs(dtype, elements);
  if (dtype == DType::kBool) normalize_bools(elements);
  return Array(type, std::move(storage));
}

nb::object as_requested(nb::object array, nb::handle dtype, nb::handle copy) {
  if (!dtype.is_none() && !dtype.equal(array.attr("dtype"))) {
    if (copy.ptr() == Py_False) {
      invalid_argument("__array__: another dtype needs a copy, and copy=False was given");
    }
    return array.attr("astype")(dtype);
  }
  return copy.ptr() == Py_True ? array.attr("copy")() : array;
}

}  // namespace farcall::python
