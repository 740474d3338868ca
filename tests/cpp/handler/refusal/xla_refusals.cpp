// Like refusals.cpp, for xla/ffi/api/ffi.h.
#include "xla/ffi/api/ffi.h"
#if REFUSAL == 23  // REFUSAL 23: give the handler the trait kCmdBufferCompatible
#include "xla/ffi/api/record_api.h"
#elif REFUSAL == 24  // REFUSAL 24: keep a communicator of your own in the handler's state
#include "xla/ffi/api/collectives_api.h"
#endif

namespace ffi = xla::ffi;

struct Opaque {
  explicit Opaque(int) {}
};
struct Pair {
  int64_t first;
  int64_t second;
};
struct Numbered {
  static ffi::TypeId id;
};

using F32 = ffi::Buffer<ffi::F32>;
inline ffi::Error take(F32, float) { return ffi::Error::Success(); }

#if REFUSAL == 0  // control: this compiles
// A kernel's own function, although it is found together with the header's.
inline ffi::Error Verify(const F32&) { return ffi::Error::Success(); }
inline ffi::Error verified(F32 x) { return Verify(x); }
XLA_FFI_DEFINE_HANDLER(handler, take, ffi::Ffi::Bind().Arg<F32>().Attr<float>("eps"));

#elif REFUSAL == 1  // REFUSAL 1: the function cannot be called with what its binding gives it
XLA_FFI_DEFINE_HANDLER(handler, take, ffi::Ffi::Bind().Arg<F32>());

#elif REFUSAL == 2  // REFUSAL 2: the function cannot be called with what its binding gives it
XLA_FFI_DEFINE_HANDLER(handler, take, ffi::Ffi::Bind().Attr<float>("eps").Arg<F32>());

#elif REFUSAL == \
    3  // REFUSAL 3: XLA_FFI_REGISTER_STRUCT_ATTR_DECODING or XLA_FFI_REGISTER_ENUM_ATTR
XLA_FFI_DEFINE_HANDLER(handler, take, ffi::Ffi::Bind().Attr<Opaque>("x"));

#elif REFUSAL == 4  // REFUSAL 4: Arg<T>() takes AnyBuffer, Buffer<dtype> or Buffer<dtype, rank>
XLA_FFI_DEFINE_HANDLER(handler, take, ffi::Ffi::Bind().Arg<float>());

#elif REFUSAL == 5  // REFUSAL 5: without Result<>
XLA_FFI_DEFINE_HANDLER(handler, take, ffi::Ffi::Bind().Ret<ffi::Result<F32> >());

#elif REFUSAL == 6  // REFUSAL 6: required arguments come before optional ones
XLA_FFI_DEFINE_HANDLER(handler, take, ffi::Ffi::Bind().OptionalArg<F32>().Arg<F32>());

#elif REFUSAL == 7  // REFUSAL 7: RemainingArgs() comes after all other arguments
XLA_FFI_DEFINE_HANDLER(handler, take, ffi::Ffi::Bind().RemainingArgs().Arg<F32>());

#elif REFUSAL == 8  // REFUSAL 8: required results come before optional ones
XLA_FFI_DEFINE_HANDLER(handler, take, ffi::Ffi::Bind().OptionalRet<F32>().Ret<F32>());

#elif REFUSAL == 9  // REFUSAL 9: RemainingRets() can be bound once
XLA_FFI_DEFINE_HANDLER(handler, take, ffi::Ffi::Bind().RemainingRets().RemainingRets());

#elif REFUSAL == 10  // REFUSAL 10: bind either Attrs(), which takes all attributes, or single ones
XLA_FFI_DEFINE_HANDLER(handler, take, ffi::Ffi::Bind().Attrs().Attr<float>("x"));

#elif REFUSAL == 11  // REFUSAL 11: T is not a context item of this header. Specialize xla::ffi::Ct
XLA_FFI_DEFINE_HANDLER(handler, take, ffi::Ffi::Bind().Ctx<Opaque>());

#elif REFUSAL == \
    12  // REFUSAL 12: returns Error, Future, or an ErrorOr<std::unique_ptr<T>> with new
inline int f() { return 0; }
XLA_FFI_DEFINE_HANDLER(handler, f, ffi::Ffi::Bind());

#elif REFUSAL == 13  // REFUSAL 13: only the instantiate, prepare and initialize stages make state
inline ffi::ErrorOr<std::unique_ptr<Numbered> > f() { return std::make_unique<Numbered>(); }
XLA_FFI_DEFINE_HANDLER(handler, f, ffi::Ffi::Bind());

#elif REFUSAL == 14  // REFUSAL 14: the binding of this parameter does not follow from its type
inline ffi::Error f(float) { return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER_AUTO(handler, f);

#elif REFUSAL == 15  // REFUSAL 15: needs a member `static xla::ffi::TypeId id`
inline ffi::Error f(Pair*) { return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER(handler, f, ffi::Ffi::Bind().Ctx<ffi::UserData<Pair> >());

#elif REFUSAL == 16  // REFUSAL 16: two StructMembers have the same name
XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(Pair, ffi::StructMember<int64_t>("first"),
                                      ffi::StructMember<int64_t>("first"));
inline ffi::Error f(Pair) { return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER(handler, f, ffi::Ffi::Bind().Attr<Pair>("pair"));

#elif REFUSAL == 17  // REFUSAL 17: a StructMember<T> has a type that cannot be decoded
XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(Pair, ffi::StructMember<Opaque>("first"));
inline ffi::Error f(Pair) { return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER(handler, f, ffi::Ffi::Bind().Attr<Pair>("pair"));

#elif REFUSAL == 18  // REFUSAL 18: takes the stream's pointer type
inline ffi::Error f(int) { return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER(handler, f, ffi::Ffi::Bind().Ctx<ffi::PlatformStream<int> >());

#elif REFUSAL == 19  // REFUSAL 19: ENUM_ATTR_DECODING takes an enum
XLA_FFI_REGISTER_ENUM_ATTR_DECODING(Pair);

#elif REFUSAL == 20  // REFUSAL 20: match::Buffer is not supported. Bind a Buffer<dtype, rank>
inline ffi::Error f(F32 x) { return ffi::Verify(x, ffi::match::Buffer(ffi::F32, {2, 3})); }

#elif REFUSAL == 21  // REFUSAL 21: match::Dim is not supported
inline ffi::Error f(F32 x) { return x.dimensions() == ffi::match::Dim(2); }

#elif REFUSAL == 22  // REFUSAL 22: Verify is not supported. Bind a Buffer<dtype, rank>
inline ffi::Error f(F32 x) { return ffi::Verify(x, 2); }
#endif
