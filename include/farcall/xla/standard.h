// The standard headers that XLA's header brings along. Kernels use them without including them, so
// they are here by default. With FARCALL_XLA_LEAN defined only those come that the interface itself
// needs, which halves the time to compile; the kernel then includes what else it uses.
// Binding::To() and Ffi::BindTo(), which return a std::unique_ptr, are then left out.
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
// <complex> is the most expensive header of all. libstdc++ has no header that declares the class.
namespace std {
_GLIBCXX_BEGIN_NAMESPACE_VERSION
template <typename T>
class complex;
_GLIBCXX_END_NAMESPACE_VERSION
}  // namespace std
#else
#include <complex>
#endif
