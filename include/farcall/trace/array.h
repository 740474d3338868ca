// Array: an immutable n-dimensional array, concrete (it has memory, of the host or of a device) or
// traced (it stands for a value of a function that is being transformed or recorded).
#pragma once

#include <atomic>
#include <complex>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <farcall/core/error.h>
#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/core/storage.h>

namespace farcall {

class Device;
class IndexList;
class Interpreter;
class PlacedNode;

// What an Array refers to; counted, and immutable once shared.
class FARCALL_API ArrayNode {
 public:
  // `storage` is that of an array in the host's memory, a member of the node itself.
  explicit ArrayNode(ShapeDtype type, const Storage* storage = nullptr)
      : storage_(storage), type_(type) {}
  ArrayNode(const ArrayNode&) = delete;
  ArrayNode& operator=(const ArrayNode&) = delete;
  virtual ~ArrayNode();

  ShapeDtype type() const { return type_; }
  // Memory of the host that any device's programs may take. Null for traced and for placed arrays.
  const Storage* storage() const { return storage_.load(std::memory_order_relaxed); }
  // Null unless the array was placed.
  virtual const PlacedNode* placed() const { return nullptr; }
  // The values in the host's memory where they are known: those of a concrete array, or of a traced
  // one that is only being differentiated. Null otherwise.
  virtual const Storage* known_values() const { return storage(); }

  void retain() const { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  mutable std::atomic<uint32_t> count_{1};

 protected:
  mutable std::atomic<const Storage*> storage_;

 private:
  ShapeDtype type_;
};

class FARCALL_API ConcreteNode : public ArrayNode {
 public:
  ConcreteNode(ShapeDtype type, Storage storage)
      : ArrayNode(type, &memory_), memory_(std::move(storage)) {}

  // Gives the memory up: it was donated to a program that wrote over it. Every use of the array's
  // values raises from now on; no other thread may use it meanwhile.
  void discard() const {
    storage_.store(nullptr, std::memory_order_relaxed);
    memory_ = Storage();
  }

 private:
  mutable Storage memory_;
};

// A weakly typed scalar that keeps the number it was made from, so that meeting a float64 array it
// becomes a float64 of full precision. Its storage holds the number in the default dtype.
class FARCALL_API ScalarNode final : public ConcreteNode {
 public:
  using Number = std::variant<int64_t, double, std::complex<double>>;
  ScalarNode(ShapeDtype type, Storage storage, Number number)
      : ConcreteNode(type, std::move(storage)), number_(number) {}
  const Number& number() const { return number_; }

 private:
  Number number_;
};

// The C++ scalar types that have a dtype.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::kBool;
  else if constexpr (std::is_same_v<T, float>)
    return DType::kFloat32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::kFloat64;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return DType::kComplex64;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return DType::kComplex128;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return sizeof(T) == 1   ? DType::kInt8
           : sizeof(T) == 2 ? DType::kInt16
           : sizeof(T) == 4 ? DType::kInt32
                            : DType::kInt64;
  } else if constexpr (std::is_integral_v<T>) {
    return sizeof(T) == 1   ? DType::kUInt8
           : sizeof(T) == 2 ? DType::kUInt16
           : sizeof(T) == 4 ? DType::kUInt32
                            : DType::kUInt64;
  } else {
    static_assert(sizeof(T) == 0, "farcall: this C++ type has no dtype");
  }
}

// A counted reference; copying shares. Using one that was default-constructed or moved from raises.
class FARCALL_API Array {
 public:
  Array() = default;
  // Takes over one reference.
  explicit Array(const ArrayNode* node) : node_(node) {}
  Array(ShapeDtype type, Storage storage) : node_(new ConcreteNode(type, std::move(storage))) {}

  // A scalar. Bools, ints and floats of C++ are weakly typed, as Python's are: in arithmetic they
  // take the dtype of the array they meet.
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Array(T value) : Array(weak_scalar(value)) {}

  // A copy of dense, row-major values. Raises INVALID_ARGUMENT when their number is not the
  // shape's.
  template <class T>
  static Array of(std::span<const T> values, std::span<const int64_t> shape) {
    return copy_of(values.data(), values.size(), ShapeDtype(dtype_of<T>(), shape));
  }
  template <class T>
  static Array of(std::initializer_list<T> values, std::initializer_list<int64_t> shape) {
    return of(std::span<const T>(values.begin(), values.size()),
              std::span<const int64_t>(shape.begin(), shape.size()));
  }
  template <class T>
  static Array of(std::initializer_list<T> values) {
    const auto size = static_cast<int64_t>(values.size());
    return of(std::span<const T>(values.begin(), values.size()), std::span(&size, 1));
  }
  // Weakly typed: int32 (int64 where the value needs it), float32, complex64.
  static Array weak(ScalarNode::Number number);
  // A strongly typed scalar.
  template <class T>
  static Array scalar(T value) {
    return copy_of(&value, 1, ShapeDtype(dtype_of<T>(), std::span<const int64_t>()));
  }

  Array(const Array& other) : node_(other.node_) {
    if (node_) node_->retain();
  }
  Array(Array&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Array& operator=(Array other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Array() {
    if (node_) node_->release();
  }

  template <class T>
  requires std::same_as<T, bool>
  explicit operator T() const {
    static_assert(sizeof(T) == 0,
                  "farcall: an Array is no condition, since its values may not be known: use "
                  "numpy::where, lax::cond or lax::while_loop, or x.item<bool>() of a known one");
    return false;
  }
  bool is_null() const { return node_ == nullptr; }
  const ArrayNode& node() const {
    if (!node_) null_array();
    return *node_;
  }

  ShapeDtype type() const { return node().type(); }
  DType dtype() const { return type().dtype(); }
  std::span<const int64_t> shape() const { return type().shape(); }
  size_t rank() const { return type().rank(); }
  int64_t size() const { return type().size(); }

  bool is_concrete() const { return node().storage() != nullptr || node().placed() != nullptr; }
  // Given away to a program that wrote over it.
  bool is_deleted() const;
  // Concrete, or traced with values that are known already, as in eager differentiation.
  bool has_known_values() const { return is_concrete() || node().known_values() != nullptr; }
  // The values in the host's memory; waits for those of a device and copies them there, once.
  // Raises FAILED_PRECONDITION for a traced array without known values, saying that they are not
  // known while the function is recorded.
  const Storage& storage() const {
    const Storage* storage = node().storage();
    if (!storage) storage = node().known_values();
    if (!storage) not_concrete();
    return *storage;
  }
  const void* data() const { return storage().data(); }

  // The elements, row-major; raises INVALID_ARGUMENT when T is not the dtype's C++ type.
  template <class T>
  std::span<const T> values() const {
    check_dtype(dtype_of<T>());
    return {static_cast<const T*>(data()), static_cast<size_t>(size())};
  }
  // The value of an array of one element.
  template <class T>
  T item() const {
    check_single();
    return values<T>()[0];
  }

  // x[2], x[numpy::Slice{0, 2}], x[ids], and x[{1, numpy::Slice{}}]: numpy::take(x, indices). Needs
  // farcall/ops/numpy.h.
  template <class I = IndexList>
  Array operator[](const I& indices) const {
    static_assert(
        requires(const Array& x) { indexed(x, indices); },
        "farcall: x[…] takes an integer, numpy::Slice, numpy::NewAxis, numpy::Ellipsis, an "
        "Array, or a list of these in braces; include farcall/ops/numpy.h");
    return indexed(*this, indices);
  }

  // Values for a concrete array ("[[1.0, 2.0], [3.0, 4.0]]", long ones shortened), else its type.
  std::string to_string() const;

 private:
  static Array copy_of(const void* values, size_t count, ShapeDtype type);
  template <class T>
  static Array weak_scalar(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return copy_of(&value, 1, ShapeDtype(DType::kBool, std::span<const int64_t>()));
    } else if constexpr (std::is_integral_v<T>) {
      return weak(static_cast<int64_t>(value));
    } else {
      return weak(static_cast<double>(value));
    }
  }
  void check_dtype(DType wanted) const;
  void check_single() const;
  [[noreturn]] static void null_array();
  [[noreturn]] void not_concrete() const;

  const ArrayNode* node_ = nullptr;
};

// Raises the error for an array that was given away.
[[noreturn]] FARCALL_API void deleted_array(const Array& array);

}  // namespace farcall
