// Functions of XLA's header that this one does not have. A use is a compile error that says what to
// write instead. They are the last choice of overload resolution, so a kernel's own functions of
// these names are called as before.
#pragma once

#include <initializer_list>

#include <farcall/xla/casts.h>

FARCALL_XLA_NAMESPACE

namespace internal {
template <auto...>
inline constexpr bool kIsPresent = false;
// Any argument of a call, so that braces around several have a type.
struct Anything {
  template <typename T>
  Anything(T&&);  // NOLINT
};
using SeveralOf = std::initializer_list<Anything>;
}  // namespace internal

#define FARCALL_XLA_REFUSE(name)                                                          \
  static_assert(                                                                          \
      internal::kIsPresent<values...>,                                                    \
      "farcall: " name                                                                    \
      " is not supported. Bind a Buffer<dtype, rank>, whose dtype and rank are checked, " \
      "and compare its dimensions() in the handler")

namespace match {
template <auto... values>
auto Buffer(...) {
  FARCALL_XLA_REFUSE("match::Buffer");
}
template <auto... values>
auto Buffer(internal::SeveralOf) {
  FARCALL_XLA_REFUSE("match::Buffer");
}
template <auto... values>
auto Buffer(internal::Anything, internal::SeveralOf) {
  FARCALL_XLA_REFUSE("match::Buffer");
}
template <auto... values>
auto Dim(...) {
  FARCALL_XLA_REFUSE("match::Dim");
}
template <auto... values>
auto Dim(internal::SeveralOf) {
  FARCALL_XLA_REFUSE("match::Dim");
}
}  // namespace match

template <auto... values>
auto Verify(...) {
  FARCALL_XLA_REFUSE("Verify");
}

#undef FARCALL_XLA_REFUSE

FARCALL_XLA_NAMESPACE_END
