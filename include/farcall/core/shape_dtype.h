// ShapeDtype: the type of an array: dtype, shape, and whether the dtype is weak.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>

namespace farcall {

using Shape = std::vector<int64_t>;

inline constexpr size_t kMaxRank = 32;

// A handle to an interned, immutable record: equal types share one record, so a comparison compares
// pointers. The first kNumPermanent distinct types live until the process ends and are not
// reference-counted. Later ones are counted and die with their last handle.
class FARCALL_API ShapeDtype {
 public:
  static constexpr size_t kNumPermanent = 1 << 12;

  // No array: dtype kInvalid.
  ShapeDtype() = default;
  ShapeDtype(const ShapeDtype& other) noexcept : record_(other.record_) { acquire(); }
  ShapeDtype(ShapeDtype&& other) noexcept
      : record_(std::exchange(other.record_, &kInvalidRecord)) {}
  ShapeDtype& operator=(const ShapeDtype& other) noexcept {
    ShapeDtype(other).swap(*this);
    return *this;
  }
  ShapeDtype& operator=(ShapeDtype&& other) noexcept {
    ShapeDtype(std::move(other)).swap(*this);
    return *this;
  }
  ~ShapeDtype() {
    if (record_->is_counted) release(record_);  // NOLINT(clang-analyzer-core.NullDereference)
  }
  // Raises INVALID_ARGUMENT for an unknown dtype, a negative dimension, a rank above kMaxRank, 2^63
  // bytes or more, and a token that is not a scalar. A weak dtype yields in promotion, as Python's
  // numbers do.
  ShapeDtype(DType dtype, std::span<const int64_t> shape, bool weak_type = false);
  ShapeDtype(DType dtype, std::initializer_list<int64_t> shape, bool weak_type = false)
      : ShapeDtype(dtype, std::span(shape.begin(), shape.size()), weak_type) {}

  DType dtype() const { return record_->dtype; }
  std::span<const int64_t> shape() const { return record_->shape; }
  size_t rank() const { return record_->shape.size(); }
  bool weak_type() const { return record_->weak_type; }
  int64_t size() const { return record_->size; }  // elements
  size_t nbytes() const { return record_->nbytes; }
  bool is_token() const { return record_->dtype == DType::kToken; }
  bool is_valid() const { return record_->dtype != DType::kInvalid; }

  ShapeDtype with_dtype(DType dtype, bool weak_type = false) const {
    return {dtype, shape(), weak_type};
  }
  ShapeDtype with_shape(std::span<const int64_t> shape) const {
    return {dtype(), shape, weak_type()};
  }
  ShapeDtype strengthened() const { return weak_type() ? with_dtype(dtype()) : *this; }

  // "f32[2,3]"; a weak type ends in "*".
  std::string to_string() const;

  friend bool operator==(const ShapeDtype& a, const ShapeDtype& b) {
    return a.record_ == b.record_;
  }
  size_t hash() const { return reinterpret_cast<uintptr_t>(record_) >> 4; }

  // An id that is unique among all types of the process.
  int64_t id() const { return record_->id; }

  // The current number of distinct types.
  static size_t num_interned();

 private:
  struct Record {
    DType dtype = DType::kInvalid;
    bool weak_type = false;
    Shape shape;
    int64_t size = 0;
    size_t nbytes = 0;
    int64_t id = 0;
    bool is_counted = false;
    mutable std::atomic<uint32_t> num_handles{0};  // used if is_counted
  };
  struct Interner;
  static const Record kInvalidRecord;

  void swap(ShapeDtype& other) noexcept { std::swap(record_, other.record_); }
  void acquire() const {
    if (record_->is_counted) record_->num_handles.fetch_add(1, std::memory_order_relaxed);
  }
  static void release(const Record* record) noexcept;

  const Record* record_ = &kInvalidRecord;
};

// "[2,3]"
FARCALL_API std::string shape_to_string(std::span<const int64_t> shape);

}  // namespace farcall

template <>
struct std::hash<farcall::ShapeDtype> {
  size_t operator()(const farcall::ShapeDtype& type) const { return type.hash(); }
};
