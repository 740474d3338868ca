// Dispatch from a dtype known at run time to code for its C++ type.
//
//   return ffi::dispatch<ffi::F32, ffi::F64>(x.element_type(), [&](auto tag) {
//     using T = typename decltype(tag)::type;
//     return scale<T>(x, y);  // Error, or void
//   });
//
// There are named sets of dtypes: ffi::dispatch(ffi::kFloats, x.element_type(), ...).
#pragma once

#include <farcall/handler/detail/text.h>
#include <farcall/handler/dtype.h>
#include <farcall/handler/error.h>

#include <type_traits>

namespace farcall::ffi {

// The argument of the dispatched function.
template <DataType dtype>
struct DTypeTag {
  static constexpr DataType value = dtype;
  using type = NativeType<dtype>;
};

template <DataType... dtypes>
struct DTypeSet {};

template <DataType... as, DataType... bs>
constexpr DTypeSet<as..., bs...> operator|(DTypeSet<as...>, DTypeSet<bs...>) {
  return {};
}

inline constexpr DTypeSet<F16, BF16, F32, F64> kFloats;
inline constexpr DTypeSet<S8, S16, S32, S64> kSignedInts;
inline constexpr DTypeSet<U8, U16, U32, U64> kUnsignedInts;
inline constexpr auto kInts = kSignedInts | kUnsignedInts;
inline constexpr DTypeSet<C64, C128> kComplexes;
inline constexpr DTypeSet<F8E5M2, F8E4M3, F8E4M3FN, F8E4M3B11FNUZ, F8E5M2FNUZ, F8E4M3FNUZ, F8E3M4,
                          F8E8M0FNU>
    kFloat8s;

namespace detail {

FARCALL_FFI_COLD inline Error no_such_dtype(DataType got, const DataType* allowed, size_t count) {
  Text text;
  text << "dtype " << dtype_name(got) << " is not supported; wanted ";
  for (size_t i = 0; i < count; ++i) {
    if (i != 0) text << (i + 1 == count ? " or " : ", ");
    text << dtype_name(allowed[i]);
  }
  return Error::InvalidArgument(text.view());
}

template <DataType dtype, typename F>
bool dispatch_one(DataType got, F& f, Error& error) {
  if (got != dtype) return false;
  if constexpr (std::is_void_v<decltype(f(DTypeTag<dtype>{}))>) {
    f(DTypeTag<dtype>{});
  } else {
    error = f(DTypeTag<dtype>{});
  }
  return true;
}

}  // namespace detail

template <DataType... allowed, typename F>
Error dispatch(DataType dtype, F&& f) {
  static_assert(sizeof...(allowed) > 0, "farcall: dispatch<...> needs the dtypes that it may meet");
  Error error;
  if ((detail::dispatch_one<allowed>(dtype, f, error) || ...)) return error;
  constexpr DataType kAllowed[] = {allowed...};
  return detail::no_such_dtype(dtype, kAllowed, sizeof...(allowed));
}

template <DataType... allowed, typename F>
Error dispatch(DTypeSet<allowed...>, DataType dtype, F&& f) {
  return dispatch<allowed...>(dtype, std::forward<F>(f));
}

}  // namespace farcall::ffi
