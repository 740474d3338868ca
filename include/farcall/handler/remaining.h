// Variable numbers of arguments and results: the last parameter of its kind receives the rest.
#pragma once

#include <farcall/handler/buffer.h>
#include <farcall/handler/detail/describe.h>
#include <farcall/handler/error.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace farcall::ffi {
namespace detail {

template <typename T>
struct BufferType;  // kType: the description of a buffer class

template <>
struct BufferType<AnyBuffer> {
  static constexpr TypeDesc kType = {TypeKind::kBuffer};
};
template <DataType dtype, size_t rank>
struct BufferType<Buffer<dtype, rank>> {
  static constexpr TypeDesc kType = {TypeKind::kBuffer, dtype,
                                     rank == kDynamicRank ? -1 : static_cast<int64_t>(rank)};
};

template <typename T>
FARCALL_FFI_INLINE bool fits(int32_t kind, const FARCALL_FFI_Buffer* buffer) {
  constexpr TypeDesc type = BufferType<T>::kType;
  return kind == FARCALL_FFI_ArgType_BUFFER && buffer != nullptr &&
         (type.dtype == DataType::INVALID || static_cast<DataType>(buffer->dtype) == type.dtype) &&
         (type.rank < 0 || buffer->rank == type.rank);
}

// A view of the remaining arguments or results of a frame.
template <typename Kind>
class Remaining {
 public:
  Remaining(const Kind* kinds, void* const* values, int64_t size)
      : kinds_(kinds), values_(values), size_(static_cast<size_t>(size)) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Removes the first `count` elements from the view; count <= size().
  void remove_prefix(size_t count) {
    kinds_ += count;
    values_ += count;
    size_ -= count;
  }

  // Whether element `index` is a T, for instance Buffer<F32, 2>.
  template <typename T>
  bool isa(size_t index) const {
    return index < size_ && fits<T>(kinds_[index], buffer(index));
  }

 protected:
  template <typename T, typename Wrapped>
  ErrorOr<Wrapped> decode(const char* what, size_t index) const {
    if (!isa<T>(index)) return misfit(what, index, BufferType<T>::kType);
    return Wrapped(T(buffer(index)));
  }

 private:
  const FARCALL_FFI_Buffer* buffer(size_t index) const {
    return static_cast<const FARCALL_FFI_Buffer*>(values_[index]);
  }

  FARCALL_FFI_COLD Error misfit(const char* what, size_t index, const TypeDesc& wanted) const {
    Text text;
    text << what << static_cast<int64_t>(index);
    if (index >= size_) {
      text << ": there are " << static_cast<int64_t>(size_);
      return Error::OutOfRange(text.view());
    }
    text << ": wanted ";
    print_type(text, wanted);
    text << ", got ";
    print_buffer(text, kinds_[index], buffer(index));
    return Error::InvalidArgument(text.view());
  }

  const Kind* kinds_;
  void* const* values_;
  size_t size_;
};

}  // namespace detail

class RemainingArgs : public detail::Remaining<FARCALL_FFI_ArgType> {
 public:
  using Remaining::Remaining;

  template <typename T>
  ErrorOr<T> get(size_t index) const {
    return decode<T, T>("remaining argument ", index);
  }
};

class RemainingRets : public detail::Remaining<FARCALL_FFI_RetType> {
 public:
  using Remaining::Remaining;

  template <typename T>
  ErrorOr<Result<T>> get(size_t index) const {
    return decode<T, Result<T>>("remaining result ", index);
  }
};

}  // namespace farcall::ffi
