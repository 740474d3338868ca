// Complex numbers without <complex>, which compiles slowly.
//
// Complex<T> has the layout of std::complex<T> and converts to and from any class with its
// interface, so `std::complex<float> z = x.typed_data()[i]` works if the author includes <complex>.
#pragma once

#include <farcall/handler/config.h>

#include <type_traits>
#include <utility>

namespace farcall::ffi {
namespace detail {

// The real type of a class with the interface of std::complex; void for all other types.
template <typename T, typename = void>
struct RealOf {
  using type = void;
};

template <typename T>
struct RealOf<T, std::void_t<typename T::value_type, decltype(std::declval<const T&>().real()),
                             decltype(std::declval<const T&>().imag())>> {
  using Real = typename T::value_type;
  static constexpr bool kIsPair = std::is_floating_point_v<Real> && sizeof(T) == 2 * sizeof(Real);
  using type = std::conditional_t<kIsPair, Real, void>;
};

}  // namespace detail

template <typename T>
class Complex {
 public:
  using value_type = T;

  Complex() = default;
  FARCALL_FFI_HOST_DEVICE constexpr Complex(T real, T imag = T(0)) : real_(real), imag_(imag) {}

  template <typename Other,
            std::enable_if_t<!std::is_same_v<Other, Complex> &&
                                 std::is_same_v<typename detail::RealOf<Other>::type, T>,
                             int> = 0>
  FARCALL_FFI_HOST_DEVICE constexpr Complex(const Other& other)
      : real_(other.real()), imag_(other.imag()) {}

  template <typename Other,
            std::enable_if_t<!std::is_same_v<Other, Complex> &&
                                 std::is_same_v<typename detail::RealOf<Other>::type, T>,
                             int> = 0>
  FARCALL_FFI_HOST_DEVICE constexpr operator Other() const {
    return Other(real_, imag_);
  }

  FARCALL_FFI_HOST_DEVICE constexpr T real() const { return real_; }
  FARCALL_FFI_HOST_DEVICE constexpr T imag() const { return imag_; }

  FARCALL_FFI_HOST_DEVICE friend constexpr bool operator==(Complex a, Complex b) {
    return a.real_ == b.real_ && a.imag_ == b.imag_;
  }
  FARCALL_FFI_HOST_DEVICE friend constexpr bool operator!=(Complex a, Complex b) {
    return !(a == b);
  }
  FARCALL_FFI_HOST_DEVICE friend constexpr Complex operator+(Complex a, Complex b) {
    return {a.real_ + b.real_, a.imag_ + b.imag_};
  }
  FARCALL_FFI_HOST_DEVICE friend constexpr Complex operator-(Complex a, Complex b) {
    return {a.real_ - b.real_, a.imag_ - b.imag_};
  }
  FARCALL_FFI_HOST_DEVICE friend constexpr Complex operator*(Complex a, Complex b) {
    return {a.real_ * b.real_ - a.imag_ * b.imag_, a.real_ * b.imag_ + a.imag_ * b.real_};
  }

 private:
  T real_;
  T imag_;
};

}  // namespace farcall::ffi
