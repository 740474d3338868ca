// Handlers that decode their frame and do nothing: what is timed is the call alone. They are called
// by farcall and, from the same binary, by JAX.
#include <cstddef>
#include <utility>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

template <size_t>
using Arg = ffi::Buffer<ffi::F32>;

template <typename Indices>
struct Noop;
template <size_t... Is>
struct Noop<std::index_sequence<Is...>> {
  static ffi::Error call(Arg<Is>..., ffi::ResultBuffer<ffi::F32>) { return ffi::Error::Success(); }
};

FARCALL_DEFINE_HANDLER(noop_1, Noop<std::make_index_sequence<1>>::call);
FARCALL_DEFINE_HANDLER(noop_4, Noop<std::make_index_sequence<4>>::call);
FARCALL_DEFINE_HANDLER(noop_16, Noop<std::make_index_sequence<16>>::call);
FARCALL_DEFINE_HANDLER(noop_64, Noop<std::make_index_sequence<64>>::call);
