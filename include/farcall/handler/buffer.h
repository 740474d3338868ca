// Arrays as a handler sees them: views that are valid until the call is done, or the future that it
// returned. The runtime owns the memory and the dimensions.
#pragma once

#include <farcall/handler/dtype.h>
#include <farcall/handler/span.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace farcall::ffi {

inline constexpr size_t kDynamicRank = static_cast<size_t>(-1);

namespace detail {

class BufferBase {
 public:
  using Dimensions = Span<const int64_t>;

  explicit BufferBase(const FARCALL_FFI_Buffer* buffer) : buffer_(buffer) {}

  Dimensions dimensions() const { return {buffer_->dims, static_cast<size_t>(buffer_->rank)}; }

  size_t element_count() const {
    // The product of an empty array's dimensions may overflow; it is 0 anyway.
    size_t count = 1;
    for (int64_t i = 0; i < buffer_->rank; ++i) count *= static_cast<size_t>(buffer_->dims[i]);
    return count;
  }

  void* untyped_data() const { return buffer_->data; }

  // The elements as type T, which must have the dtype's width.
  template <typename T>
  T* reinterpret_data() const {
    assert(sizeof(T) == ByteWidth(static_cast<DataType>(buffer_->dtype)));
    return static_cast<T*>(buffer_->data);
  }

 protected:
  const FARCALL_FFI_Buffer* buffer_;
};

}  // namespace detail

// An array of any dtype and rank.
class AnyBuffer : public detail::BufferBase {
 public:
  using BufferBase::BufferBase;

  DataType element_type() const { return static_cast<DataType>(buffer_->dtype); }
  size_t size_bytes() const { return ByteWidth(element_type()) * element_count(); }

  // T is the element's native type, or any one-byte type for elements below a byte.
  template <typename T>
  T* typed_data() const {
    assert(detail::kDataTypeOf<T> == element_type() ||
           (sizeof(T) == 1 && BitWidth(element_type()) < 8));
    return static_cast<T*>(buffer_->data);
  }
};

// An array with a fixed dtype, and a fixed rank unless `rank` is kDynamicRank.
template <DataType dtype, size_t rank = kDynamicRank>
class Buffer : public detail::BufferBase {
 public:
  using BufferBase::BufferBase;

  static constexpr DataType element_type() { return dtype; }
  size_t size_bytes() const { return ByteWidth(dtype) * element_count(); }
  NativeType<dtype>* typed_data() const { return static_cast<NativeType<dtype>*>(buffer_->data); }

  operator AnyBuffer() const { return AnyBuffer(buffer_); }
};

template <DataType dtype>
using BufferR0 = Buffer<dtype, 0>;
template <DataType dtype>
using BufferR1 = Buffer<dtype, 1>;
template <DataType dtype>
using BufferR2 = Buffer<dtype, 2>;
template <DataType dtype>
using BufferR3 = Buffer<dtype, 3>;
template <DataType dtype>
using BufferR4 = Buffer<dtype, 4>;

using Token = BufferR0<TOKEN>;

// Marks a buffer parameter as a result; used like a pointer to the buffer.
template <typename T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}

  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

 private:
  T value_;
};

template <DataType dtype, size_t rank = kDynamicRank>
using ResultBuffer = Result<Buffer<dtype, rank>>;
template <DataType dtype>
using ResultBufferR0 = ResultBuffer<dtype, 0>;
template <DataType dtype>
using ResultBufferR1 = ResultBuffer<dtype, 1>;
template <DataType dtype>
using ResultBufferR2 = ResultBuffer<dtype, 2>;
template <DataType dtype>
using ResultBufferR3 = ResultBuffer<dtype, 3>;
template <DataType dtype>
using ResultBufferR4 = ResultBuffer<dtype, 4>;

}  // namespace farcall::ffi
