// The standard headers that XLA's header includes. Kernels use them without including them, so all
// are included by default. If FARCALL_XLA_LEAN is defined, only those that the interface itself
// needs are included, which halves the compile time; the kernel must then include what else it
// uses. Binding::To() and Ffi::BindTo(), which return a std::unique_ptr, are then left out.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#ifndef FARCALL_XLA_LEAN
#include <algorithm>
#include <array>
#include <atomic>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <ostream>
#include <sstream>
#include <tuple>
#include <variant>
#include <vector>
#elif defined(__GLIBCXX__)
// <complex> is the most expensive header. libstdc++ has no header that only declares the class.
namespace std {
_GLIBCXX_BEGIN_NAMESPACE_VERSION
template <typename T>
class complex;
_GLIBCXX_END_NAMESPACE_VERSION
}  // namespace std
#else
#include <complex>
#endif
