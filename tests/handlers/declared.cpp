// Handlers that state the types of their attributes, and handlers that take scratch memory.
#include <complex>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

using F64 = ffi::Buffer<ffi::F64>;
using F64Out = ffi::ResultBuffer<ffi::F64>;
using TextOut = ffi::Result<ffi::Buffer<ffi::U8, 1>>;

static ffi::Error answer(std::string text, TextOut& out) {
  text.resize(out->element_count(), ' ');
  std::memcpy(out->typed_data(), text.data(), text.size());
  return {};
}

static std::string text(std::string_view value) { return std::string(value); }
static std::string text(bool value) { return value ? "True" : "False"; }
template <class T>
static std::string text(T value) {
  return std::to_string(value);
}
template <class T>
static std::string text(std::complex<T> value) {
  return std::to_string(value.real()) + "," + std::to_string(value.imag());
}
template <class T>
static std::string text(ffi::Span<const T> values) {
  std::string all = "[";
  for (const T value : values) all += text(value) + " ";
  return all + "]";
}

#define DECLARED(name, type)                               \
  static ffi::Error name##Value(type value, TextOut out) { \
    return answer(#name "=" + text(value), out);           \
  }                                                        \
  FARCALL_DEFINE_HANDLER(declared_##name, name##Value, "value")

DECLARED(bool, bool);
DECLARED(s8, int8_t);
DECLARED(u8, uint8_t);
DECLARED(s32, int32_t);
DECLARED(s64, int64_t);
DECLARED(u64, uint64_t);
DECLARED(f32, float);
DECLARED(f64, double);
DECLARED(c64, std::complex<float>);
DECLARED(str, std::string_view);
DECLARED(s32s, ffi::Span<const int32_t>);
DECLARED(f32s, ffi::Span<const float>);

enum class Mode : int32_t { kScale = 1, kShift = 4 };
FARCALL_ATTR_ENUM(Mode, kScale, kShift);
static std::string text(Mode mode) { return mode == Mode::kScale ? "scale" : "shift"; }
DECLARED(mode, Mode);

struct Window {
  int32_t size;
  std::optional<float> weight;
};
FARCALL_ATTR_STRUCT(Window, size, weight);
static std::string text(Window window) {
  return text(window.size) + "x" + text(window.weight.value_or(1));
}
DECLARED(window, Window);

using FloatOrInt = std::variant<float, int32_t, ffi::Span<const float>>;
static std::string text(FloatOrInt value) {
  return std::visit([](auto held) { return text(held); }, value) + "@" +
         std::to_string(value.index());
}
DECLARED(variant, FloatOrInt);

static ffi::Error Optional(std::optional<int16_t> value, TextOut out) {
  return answer("optional=" + (value ? text(*value) : "none"), out);
}
FARCALL_DEFINE_HANDLER(declared_optional, Optional, "value");

// The attribute belongs to the stage that makes the state.
struct Start {
  float value;
};
static ffi::ErrorOr<std::unique_ptr<Start>> MakeStart(float start) {
  return std::make_unique<Start>(Start{start});
}
FARCALL_DEFINE_HANDLER(declared_start, MakeStart, ffi::kInstantiate, "start");
static ffi::Error UseStart(ffi::State<Start> start, TextOut out) {
  return answer("start=" + text(start->value), out);
}
FARCALL_DEFINE_HANDLER(declared_use_start, UseStart);

// y = 2 * x by way of `blocks` pieces of scratch, each as large as x. The last result is 1 where
// the pieces lie one behind the other, and the address of the first one.
static ffi::Error TwiceThroughScratch(ffi::ScratchAllocator scratch, F64 x, F64Out y,
                                      ffi::ResultBuffer<ffi::S64> where, int64_t blocks) {
  const double* from = x.typed_data();
  const char* previous = nullptr;
  bool is_behind = true;
  for (int64_t block = 0; block < blocks; ++block) {
    const auto memory = scratch.Allocate(x.size_bytes());
    if (!memory) return ffi::Error::ResourceExhausted("no scratch");
    const auto* address = static_cast<const char*>(*memory);
    const size_t rounded = (x.size_bytes() + 63) / 64 * 64;
    if (block == 0) where->typed_data()[1] = reinterpret_cast<intptr_t>(address);
    if (previous != nullptr && address != previous + rounded) is_behind = false;
    previous = address;
    std::memcpy(*memory, from, x.size_bytes());
    from = static_cast<const double*>(*memory);
  }
  where->typed_data()[0] = is_behind;
  for (size_t i = 0; i < y->element_count(); ++i) y->typed_data()[i] = 2 * from[i];
  return {};
}
FARCALL_DEFINE_HANDLER(twice_through_scratch, TwiceThroughScratch, "blocks");
