// Buffers, results and remaining operands with the names of XLA's header.
#pragma once

#include <farcall/handler/buffer.h>
#include <farcall/handler/remaining.h>
#include <farcall/xla/error.h>
#include <farcall/xla/types.h>

FARCALL_XLA_NAMESPACE

using ::farcall::ffi::Result;

namespace internal {

// A buffer of farcall's header that can also be constructed from XLA's struct.
template <typename Base>
class View : public Base {
 public:
  using Base::Base;
  explicit View(const XLA_FFI_Buffer* buffer) : Base(as_farcall(buffer)) {}
};

// Whether elements of a dtype may be viewed as T. For an unknown type only the size is compared.
template <typename T>
constexpr bool can_view(DataType dtype) {
  constexpr DataType known = ::farcall::ffi::detail::kDataTypeOf<T>;
  return known == dtype || (known == DataType::INVALID && sizeof(T) == ByteWidth(dtype)) ||
         (known == U16 && (dtype == F16 || dtype == BF16)) ||
         (sizeof(T) == 1 && ByteWidth(dtype) == 1);
}

}  // namespace internal

class AnyBuffer : public internal::View<::farcall::ffi::AnyBuffer> {
 public:
  using View::View;

  template <typename T>
  T* typed_data() const {
    assert(internal::can_view<T>(element_type()) && "typed_data<T>: T is not the element's type");
    return static_cast<T*>(buffer_->data);
  }
};

template <DataType dtype, size_t rank = kDynamicRank>
class Buffer : public internal::View<::farcall::ffi::Buffer<dtype, rank>> {
 public:
  using internal::View<::farcall::ffi::Buffer<dtype, rank>>::View;

  // Complex elements are std::complex.
  NativeType<dtype>* typed_data() const {
    return static_cast<NativeType<dtype>*>(this->buffer_->data);
  }

  operator AnyBuffer() const { return AnyBuffer(this->buffer_); }
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

using Token = BufferR0<DataType::TOKEN>;

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

class RemainingArgs : public ::farcall::ffi::detail::Remaining<FARCALL_FFI_ArgType> {
 public:
  using Remaining::Remaining;
  RemainingArgs(const XLA_FFI_Args* args, size_t offset)
      : Remaining(reinterpret_cast<const FARCALL_FFI_ArgType*>(args->types) + offset,
                  args->args + offset, args->size - static_cast<int64_t>(offset)) {}

  template <typename T>
  ErrorOr<T> get(size_t index) const {
    return internal::as_xla(decode<T, T>("remaining argument ", index));
  }
};

class RemainingRets : public ::farcall::ffi::detail::Remaining<FARCALL_FFI_RetType> {
 public:
  using Remaining::Remaining;
  RemainingRets(const XLA_FFI_Rets* rets, size_t offset)
      : Remaining(reinterpret_cast<const FARCALL_FFI_RetType*>(rets->types) + offset,
                  rets->rets + offset, rets->size - static_cast<int64_t>(offset)) {}

  template <typename T>
  ErrorOr<Result<T>> get(size_t index) const {
    return internal::as_xla(decode<T, Result<T>>("remaining result ", index));
  }
};

FARCALL_XLA_NAMESPACE_END

namespace farcall::ffi::detail {
template <>
struct BufferType<::xla::ffi::AnyBuffer> : BufferType<AnyBuffer> {};
template <DataType dtype, size_t rank>
struct BufferType<::xla::ffi::Buffer<dtype, rank>> : BufferType<Buffer<dtype, rank>> {};
}  // namespace farcall::ffi::detail
