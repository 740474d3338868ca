// Array: an immutable n-dimensional array. It is concrete (it has memory, on the host or on a
// device) or traced (it stands for a value of a function that is being transformed or recorded).
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

// The node that an Array refers to. Reference-counted; immutable once shared.
class FARCALL_API ArrayNode {
 public:
  // `storage`: the memory of an array on the host, owned by the derived class; else null.
  explicit ArrayNode(ShapeDtype type, const Storage* storage = nullptr)
      : storage_(storage), type_(type) {}
  ArrayNode(const ArrayNode&) = delete;
  ArrayNode& operator=(const ArrayNode&) = delete;
  virtual ~ArrayNode();

  ShapeDtype type() const { return type_; }
  // Host memory, which programs of every device accept. Null for traced and for placed arrays.
  const Storage* storage() const { return storage_.load(std::memory_order_relaxed); }
  // The id of the interpreter that made a traced array; 0 for others.
  virtual uint64_t interpreter() const { return 0; }
  // Null unless this is a PlacedNode that has memory.
  virtual const PlacedNode* placed() const { return nullptr; }
  // The values in host memory if they are known: for a concrete array, and for a traced array that
  // is only being differentiated. Null otherwise.
  virtual const Storage* known_values() const { return storage(); }

  void retain() const { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (detail::drop_reference(count_)) delete this;
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

  // `size` differs for derived classes.
  static void* operator new(size_t size);  // NOLINT(misc-new-delete-overloads): delete is sized
  static void operator delete(void* node, size_t size) noexcept;

  // Releases the memory, which was donated to a program that overwrote it. From now on every use of
  // the array's values raises. Not thread-safe: no other thread may use the array meanwhile.
  void discard() const {
    storage_.store(nullptr, std::memory_order_relaxed);
    memory_ = Storage();
  }

 private:
  mutable Storage memory_;
};

// A weakly typed scalar that keeps the number it was made from: combined with a float64 array, it
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
  constexpr DType kDType = detail::scalar_dtype<T>();
  static_assert(kDType != DType::kInvalid, "farcall: this C++ type has no dtype");
  return kDType;
}

// A counted reference to a node; copies share the node. Using a default-constructed or moved-from
// Array raises FAILED_PRECONDITION.
class FARCALL_API Array {
 public:
  Array() = default;
  // Takes ownership of one reference.
  explicit Array(const ArrayNode* node) : node_(node) {}
  Array(ShapeDtype type, Storage storage) : node_(new ConcreteNode(type, std::move(storage))) {}

  // A scalar. C++ integers and floats are weakly typed, like Python's numbers: in arithmetic they
  // take the dtype of the other array. Raises OverflowError for an integer above INT64_MAX; see
  // scalar().
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Array(T value) : Array(weak_scalar(value)) {}

  // A copy of dense, row-major values. Raises INVALID_ARGUMENT if the number of values does not
  // match the shape.
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
  // A weakly typed scalar: int32 (int64 if the value does not fit), float32 or complex64; the
  // 64-bit dtypes if the flag x64 is on.
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
    static_assert(
        sizeof(T) == 0,
        "farcall: an Array cannot be used as a condition, because its values may be unknown: use "
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
  // Whether the memory was donated to a program that overwrote it.
  bool is_deleted() const;
  // True for a concrete array, and for a traced one whose values are already known, as in eager
  // differentiation.
  bool has_known_values() const { return is_concrete() || node().known_values() != nullptr; }
  // The values in host memory. For an array on a device: waits for the values and copies them to
  // the host, once. Raises ConcretizationError for a traced array without known values, and
  // FAILED_PRECONDITION for a deleted one.
  const Storage& storage() const {
    const Storage* storage = node().storage();
    if (!storage) storage = node().known_values();
    if (!storage) not_concrete();
    return *storage;
  }
  const void* data() const { return storage().data(); }

  // The elements, row-major. Raises INVALID_ARGUMENT if T is not the dtype's C++ type.
  template <class T>
  std::span<const T> values() const {
    check_dtype(dtype_of<T>());
    return {static_cast<const T*>(data()), static_cast<size_t>(size())};
  }
  // The value of an array of one element. Raises INVALID_ARGUMENT for other sizes.
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

  // The values of a concrete array, "[[1.0, 2.0], [3.0, 4.0]]", shortened if there are many; the
  // type of other arrays.
  std::string to_string() const;

 private:
  static Array copy_of(const void* values, size_t count, ShapeDtype type);
  template <class T>
  static Array weak_scalar(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return copy_of(&value, 1, ShapeDtype(DType::kBool, std::span<const int64_t>()));
    } else if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(int64_t)) {
        if (value > T{INT64_MAX}) weak_overflow(value);
      }
      return weak(static_cast<int64_t>(value));
    } else {
      return weak(static_cast<double>(value));
    }
  }
  [[noreturn]] static void weak_overflow(uint64_t value);
  void check_dtype(DType wanted) const;
  void check_single() const;
  [[noreturn]] static void null_array();
  [[noreturn]] void not_concrete() const;

  const ArrayNode* node_ = nullptr;
};

// Raises the error for the use of a deleted (donated) array.
[[noreturn]] FARCALL_API void deleted_array(const Array& array);

}  // namespace farcall
