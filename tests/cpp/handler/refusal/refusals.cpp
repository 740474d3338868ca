// Code that must not compile, one mistake for each REFUSAL, and the words that the compiler must
// say. run.cmake compiles this file once for each line "REFUSAL <n>: <words>".
#include <memory>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

struct Opaque {
  explicit Opaque(int) {}
};

#if REFUSAL == 0  // control: this compiles
void f(ffi::Buffer<ffi::F32>, float) {}
FARCALL_DEFINE_HANDLER(handler, f, "eps");

#elif REFUSAL == 1  // REFUSAL 1: one name for each attribute parameter
void f(float, int32_t) {}
FARCALL_DEFINE_HANDLER(handler, f, "eps");

#elif REFUSAL == 2  // REFUSAL 2: one name for each attribute parameter
void f(ffi::Buffer<ffi::F32>) {}
FARCALL_DEFINE_HANDLER(handler, f, "eps");

#elif REFUSAL == 3  // REFUSAL 3: cannot take a parameter of this type
void f(Opaque) {}
FARCALL_DEFINE_HANDLER(handler, f, "x");

#elif REFUSAL == 4  // REFUSAL 4: by value or by const reference
void f(ffi::Buffer<ffi::F32>&) {}
FARCALL_DEFINE_HANDLER(handler, f);

#elif REFUSAL == 5  // REFUSAL 5: names an attribute twice
void f(float, float) {}
FARCALL_DEFINE_HANDLER(handler, f, "eps", "eps");

#elif REFUSAL == 6  // REFUSAL 6: required arguments come first
void f(std::optional<ffi::Buffer<ffi::F32> >, ffi::Buffer<ffi::F32>) {}
FARCALL_DEFINE_HANDLER(handler, f);

#elif REFUSAL == 7  // REFUSAL 7: a handler returns Error, void, Future
int f(ffi::Buffer<ffi::F32>) { return 0; }
FARCALL_DEFINE_HANDLER(handler, f);

#elif REFUSAL == 8  // REFUSAL 8: stages make state
std::unique_ptr<int> f() { return nullptr; }
FARCALL_DEFINE_HANDLER(handler, f);

#elif REFUSAL == 9  // REFUSAL 9: the instantiate stage sees attributes and no buffers
void f(ffi::Buffer<ffi::F32>) {}
FARCALL_DEFINE_HANDLER(handler, f, ffi::kInstantiate);

#elif REFUSAL == 10  // REFUSAL 10: exactly one attribute parameter
void f(ffi::Dictionary, float) {}
FARCALL_DEFINE_HANDLER(handler, f, ffi::all_attributes);

#elif REFUSAL == 11  // REFUSAL 11: takes attribute names
void f() {}
FARCALL_DEFINE_HANDLER(handler, f, 3.0);

#elif REFUSAL == 12  // REFUSAL 12: a member listed in FARCALL_ATTR_STRUCT has a type
struct Options {
  std::unique_ptr<int> pointer;
};
FARCALL_ATTR_STRUCT(Options, pointer);
void f(Options) {}
FARCALL_DEFINE_HANDLER(handler, f, "options");

#elif REFUSAL == 13  // REFUSAL 13: dispatch<...> needs the dtypes
ffi::Error f() {
  return ffi::dispatch<>(ffi::F32, [](auto) {});
}

#elif REFUSAL == 14  // REFUSAL 14: only the execute stage returns a Future
ffi::Future f() { return ffi::Future(ffi::Promise()); }
FARCALL_DEFINE_HANDLER(handler, f, ffi::kPrepare);

#elif REFUSAL == \
    15  // REFUSAL 15: required results come first, then optional ones, then RemainingRets
void f(ffi::RemainingRets, ffi::ResultBuffer<ffi::F32>) {}
FARCALL_DEFINE_HANDLER(handler, f);

#elif REFUSAL == 16  // REFUSAL 16: the_handler_is_an_overloaded_function_or_a_template
void f(ffi::Buffer<ffi::F32>) {}
void f(ffi::Buffer<ffi::F64>) {}
FARCALL_DEFINE_HANDLER(handler, f);

#elif REFUSAL == 17  // REFUSAL 17: the_handler_is_an_overloaded_function_or_a_template
template <typename T>
void f(T) {}
FARCALL_DEFINE_HANDLER(handler, f);

#elif REFUSAL == 18  // REFUSAL 18: AttributeNamed<'e', 'p', 's'>, float
void f(int32_t, float) {}
FARCALL_DEFINE_HANDLER(handler, f, "n", ffi::attr("eps").default_to("small"));

#elif REFUSAL == 19  // REFUSAL 19: a fraction for an integer
void f(int32_t) {}
FARCALL_DEFINE_HANDLER(handler, f, ffi::attr("n").default_to(1.5));

#elif REFUSAL == 20  // REFUSAL 20: or a number out of range
void f(uint8_t) {}
FARCALL_DEFINE_HANDLER(handler, f, ffi::attr("n").default_to(256));

#elif REFUSAL == 21  // REFUSAL 21: or a number out of range
void f(uint32_t) {}
FARCALL_DEFINE_HANDLER(handler, f, ffi::attr("n").default_to(-1));

#endif
