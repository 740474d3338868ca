// One source of handlers, built against every published XLA header (C++17, nothing of farcall).
//
// PORTABLE_HEADER tells the header's release where the interface's own version does not:
// jaxlib 0.4.31 is 431, 0.5.3 is 503, 0.12.0 is 1200.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

#define EXPORT extern "C" __attribute__((visibility("default")))
// The header declares its symbols without a visibility; said first, ours holds.
#define HANDLER(name, ...)                                   \
  EXPORT XLA_FFI_Error* name(XLA_FFI_CallFrame* call_frame); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(name, __VA_ARGS__)

EXPORT int portable_header() { return PORTABLE_HEADER; }
EXPORT int portable_minor() { return XLA_FFI_API_MINOR; }

// ---- attributes as enums and structs ----

enum class Mode : int32_t { kAdd = 0, kMultiply = 1 };
struct Range {
  int64_t low;
  int64_t high;
};

#if PORTABLE_HEADER < 500
// That release has no way to decode an enum that GCC accepts, and its macro opens no namespace.
using DecodedMode = int32_t;
namespace xla::ffi {
XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(Range, StructMember<int64_t>("low"),
                                      StructMember<int64_t>("high"));
}
#else
using DecodedMode = Mode;
XLA_FFI_REGISTER_ENUM_ATTR_DECODING(Mode);
XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(Range, ::xla::ffi::StructMember<int64_t>("low"),
                                      ::xla::ffi::StructMember<int64_t>("high"));
#endif

// ---- numbers and strings ----

static ffi::Error Scale(ffi::Buffer<ffi::DataType::F32> x, float factor, std::string_view label,
                        ffi::Result<ffi::Buffer<ffi::DataType::F32>> y) {
  if (label == "fail") return ffi::Error(ffi::ErrorCode::kOutOfRange, "scale was told to fail");
  for (size_t i = 0; i < x.element_count(); ++i) {
    y->typed_data()[i] = x.typed_data()[i] * factor;
  }
  return ffi::Error::Success();
}
HANDLER(portable_scale, Scale,
        ffi::Ffi::Bind()
            .Arg<ffi::Buffer<ffi::DataType::F32>>()
            .Attr<float>("factor")
            .Attr<std::string_view>("label")
            .Ret<ffi::Buffer<ffi::DataType::F32>>());

static ffi::Error FailWith(int32_t code, std::string_view message) {
  return ffi::Error(static_cast<XLA_FFI_Error_Code>(code), std::string(message));
}
HANDLER(portable_fail, FailWith,
        ffi::Ffi::Bind().Attr<int32_t>("code").Attr<std::string_view>("message"));

// Every scalar type, one bit of the result for each value that arrived as it was sent.
static ffi::Error Scalars(ffi::Result<ffi::BufferR0<ffi::DataType::S64>> seen, bool b, int8_t i8,
                          int16_t i16, int32_t i32, int64_t i64, float f32, double f64) {
  const bool right[] = {b, i8 == -8, i16 == -16, i32 == -32, i64 == -64, f32 == 0.5f, f64 == 0.25};
  int64_t bits = 0;
  for (int i = 0; i < 7; ++i) bits |= int64_t{right[i]} << i;
  *seen->typed_data() = bits;
  return ffi::Error::Success();
}
HANDLER(portable_scalars, Scalars,
        ffi::Ffi::Bind()
            .Ret<ffi::BufferR0<ffi::DataType::S64>>()
            .Attr<bool>("b")
            .Attr<int8_t>("i8")
            .Attr<int16_t>("i16")
            .Attr<int32_t>("i32")
            .Attr<int64_t>("i64")
            .Attr<float>("f32")
            .Attr<double>("f64"));

static ffi::Error SumArray(ffi::Span<const int64_t> values,
                           ffi::Result<ffi::BufferR0<ffi::DataType::S64>> sum) {
  int64_t total = 0;
  for (int64_t value : values) total += value;
  *sum->typed_data() = total;
  return ffi::Error::Success();
}
HANDLER(portable_sum_array, SumArray,
        ffi::Ffi::Bind()
            .Attr<ffi::Span<const int64_t>>("values")
            .Ret<ffi::BufferR0<ffi::DataType::S64>>());

static ffi::Error Nested(ffi::Result<ffi::BufferR0<ffi::DataType::S64>> out,
                         ffi::Dictionary attrs) {
  auto inner = attrs.get<ffi::Dictionary>("inner");
  if (!inner.has_value()) return ffi::Error(ffi::ErrorCode::kNotFound, "no dictionary inner");
  auto value = inner->get<int64_t>("value");
  auto text = inner->get<std::string_view>("text");
  if (!value.has_value() || !text.has_value()) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "inner wants value and text");
  }
  *out->typed_data() = *value + static_cast<int64_t>(text->size());
  return ffi::Error::Success();
}
HANDLER(portable_nested, Nested, ffi::Ffi::Bind().Ret<ffi::BufferR0<ffi::DataType::S64>>().Attrs());

static ffi::Error EnumAndStruct(DecodedMode mode, Range range,
                                ffi::Result<ffi::BufferR0<ffi::DataType::S64>> out) {
  *out->typed_data() =
      static_cast<Mode>(mode) == Mode::kAdd ? range.low + range.high : range.low * range.high;
  return ffi::Error::Success();
}
HANDLER(portable_enum_struct, EnumAndStruct,
        ffi::Ffi::Bind()
            .Attr<DecodedMode>("mode")
            .Attr<Range>("range")
            .Ret<ffi::BufferR0<ffi::DataType::S64>>());

// ---- buffers of any kind ----

#if PORTABLE_HEADER < 500
// That release binds any number of arguments, but not of results.
static ffi::Error Variadic(ffi::Result<ffi::BufferR0<ffi::DataType::S64>> out,
                           ffi::RemainingArgs args) {
  int64_t total = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    auto in = args.get<ffi::AnyBuffer>(i);
    if (!in.has_value()) return ffi::Error(ffi::ErrorCode::kInternal, "cannot decode");
    total += static_cast<int64_t>(in->size_bytes());
  }
  *out->typed_data() = total;
  return ffi::Error::Success();
}
HANDLER(portable_variadic, Variadic,
        ffi::Ffi::Bind().Ret<ffi::BufferR0<ffi::DataType::S64>>().RemainingArgs());
#else
// Copies each argument to the result of the same place and adds up their bytes in the last result.
static ffi::Error Variadic(ffi::RemainingArgs args, ffi::RemainingRets rets) {
  if (rets.size() != args.size() + 1) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "wants one result more than arguments");
  }
  uint64_t total = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    auto in = args.get<ffi::AnyBuffer>(i);
    auto out = rets.get<ffi::AnyBuffer>(i);
    if (!in.has_value() || !out.has_value()) {
      return ffi::Error(ffi::ErrorCode::kInternal, "cannot decode");
    }
    const size_t bytes = in->size_bytes();
    if ((*out)->size_bytes() != bytes) {
      return ffi::Error(ffi::ErrorCode::kInvalidArgument, "sizes differ");
    }
    if (bytes > 0) std::memcpy((*out)->untyped_data(), in->untyped_data(), bytes);
    total += bytes;
  }
  auto last = rets.get<ffi::BufferR0<ffi::DataType::S64>>(args.size());
  if (!last.has_value()) return ffi::Error(ffi::ErrorCode::kInvalidArgument, "last must be s64[]");
  *(*last)->typed_data() = static_cast<int64_t>(total);
  return ffi::Error::Success();
}
HANDLER(portable_variadic, Variadic, ffi::Ffi::Bind().RemainingArgs().RemainingRets());
#endif

// ---- state ----

static std::atomic<int64_t> counters_alive{0};
static std::atomic<int64_t> counters_made{0};
EXPORT int64_t portable_counters_alive() { return counters_alive; }
EXPORT int64_t portable_counters_made() { return counters_made; }

struct Counter {
  static ffi::TypeId id;
  explicit Counter(int64_t start) : value(start) {
    ++counters_alive;
    ++counters_made;
  }
  ~Counter() { --counters_alive; }
  std::atomic<int64_t> value;
};
ffi::TypeId Counter::id = {};

EXPORT XLA_FFI_TypeId* portable_counter_id() { return &Counter::id; }
EXPORT const void* portable_counter_info() {
#if PORTABLE_HEADER >= 900
  static const XLA_FFI_TypeInfo info = ffi::MakeTypeInfo<Counter>();
  return &info;
#elif PORTABLE_HEADER >= 800
  static const XLA_FFI_TypeInfo info = {[](void* object) { delete static_cast<Counter*>(object); }};
  return &info;
#else
  return nullptr;
#endif
}

static ffi::ErrorOr<std::unique_ptr<Counter>> MakeCounter(int64_t start) {
  if (start < 0) {
    return ffi::Unexpected(ffi::Error(ffi::ErrorCode::kInvalidArgument, "start is negative"));
  }
  return std::make_unique<Counter>(start);
}
static ffi::Error Count(Counter* counter, ffi::Result<ffi::BufferR0<ffi::DataType::S64>> out) {
  *out->typed_data() = counter->value++;
  return ffi::Error::Success();
}
#if PORTABLE_HEADER >= 500
HANDLER(portable_count_instantiate, MakeCounter,
        ffi::Ffi::BindInstantiate().Attr<int64_t>("start"));
#else
HANDLER(portable_count_instantiate, MakeCounter,
        ffi::Ffi::Bind<ffi::ExecutionStage::kInstantiate>().Attr<int64_t>("start"));
#endif
static ffi::Error CountIgnoringAttrs(Counter* counter,
                                     ffi::Result<ffi::BufferR0<ffi::DataType::S64>> out, int64_t) {
  return Count(counter, out);
}
HANDLER(portable_count, CountIgnoringAttrs,
        ffi::Ffi::Bind()
            .Ctx<ffi::State<Counter>>()
            .Ret<ffi::BufferR0<ffi::DataType::S64>>()
            .Attr<int64_t>("start"));

#if XLA_FFI_API_MINOR >= 3
// A state of each stage, handed on: instantiate makes `start`, prepare ten more, initialize a
// hundred more, execute reads all three.
static ffi::ErrorOr<std::unique_ptr<Counter>> PrepareCounter(Counter* first) {
  return std::make_unique<Counter>(first->value + 10);
}
static ffi::ErrorOr<std::unique_ptr<Counter>> InitializeCounter(Counter* prepared) {
  return std::make_unique<Counter>(prepared->value + 100);
}
static ffi::Error ReadStates(Counter* first, Counter* prepared, Counter* initialized,
                             ffi::Result<ffi::BufferR1<ffi::DataType::S64>> out) {
  out->typed_data()[0] = first->value;
  out->typed_data()[1] = prepared->value;
  out->typed_data()[2] = initialized->value;
  return ffi::Error::Success();
}
HANDLER(portable_states_prepare, PrepareCounter,
        ffi::Ffi::BindPrepare().Ctx<ffi::State<Counter>>());
HANDLER(portable_states_initialize, InitializeCounter,
        ffi::Ffi::BindInitialize().Ctx<ffi::Prepared<Counter>>());
HANDLER(portable_states, ReadStates,
        ffi::Ffi::Bind()
            .Ctx<ffi::State<Counter>>()
            .Ctx<ffi::Prepared<Counter>>()
            .Ctx<ffi::Initialized<Counter>>()
            .Ret<ffi::BufferR1<ffi::DataType::S64>>());
#endif

// ---- context ----

static ffi::Error Scratch(ffi::ScratchAllocator scratch, int64_t size, int64_t alignment,
                          ffi::Result<ffi::BufferR0<ffi::DataType::S64>> out) {
  // Both blocks in full, so that the sanitizer sees them.
  auto first = scratch.Allocate(static_cast<size_t>(size), static_cast<size_t>(alignment));
  auto second = scratch.Allocate(static_cast<size_t>(size));
  if (!first || !second) return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no scratch");
  std::memset(*first, 1, static_cast<size_t>(size));
  std::memset(*second, 2, static_cast<size_t>(size));
  const auto misaligned = reinterpret_cast<uintptr_t>(*first) % static_cast<uintptr_t>(alignment) +
                          reinterpret_cast<uintptr_t>(*second) % 64;
  *out->typed_data() = static_cast<int64_t>(misaligned);
  return ffi::Error::Success();
}
HANDLER(portable_scratch, Scratch,
        ffi::Ffi::Bind()
            .Ctx<ffi::ScratchAllocator>()
            .Attr<int64_t>("size")
            .Attr<int64_t>("alignment")
            .Ret<ffi::BufferR0<ffi::DataType::S64>>());

static ffi::Error WantsStream(void*) { return ffi::Error::Success(); }
HANDLER(portable_stream, WantsStream, ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>());

struct Greeting {
  static ffi::TypeId id;
  int64_t value;
};
ffi::TypeId Greeting::id = {};
EXPORT XLA_FFI_TypeId* portable_greeting_id() { return &Greeting::id; }

static ffi::Error UserValue(Greeting* greeting,
                            ffi::Result<ffi::BufferR0<ffi::DataType::S64>> out) {
  *out->typed_data() = greeting->value;
  return ffi::Error::Success();
}
HANDLER(portable_user_data, UserValue,
        ffi::Ffi::Bind().Ctx<ffi::UserData<Greeting>>().Ret<ffi::BufferR0<ffi::DataType::S64>>());

#if XLA_FFI_API_MINOR >= 1
static ffi::Error ReadRunId(ffi::RunId run_id, ffi::Result<ffi::BufferR0<ffi::DataType::S64>> out) {
  *out->typed_data() = run_id.run_id;
  return ffi::Error::Success();
}
HANDLER(portable_run_id, ReadRunId,
        ffi::Ffi::Bind().Ctx<ffi::RunId>().Ret<ffi::BufferR0<ffi::DataType::S64>>());

// As many tasks as threads, each of which waits for all: they must run at the same time.
static ffi::Error Barrier(ffi::ThreadPool pool,
                          ffi::Result<ffi::BufferR0<ffi::DataType::S64>> out) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    int64_t arrived = 0;
    int64_t left = 0;
  } shared;
  const int64_t tasks = pool.num_threads();
  for (int64_t i = 0; i < tasks; ++i) {
    pool.Schedule([&shared, tasks] {
      std::unique_lock<std::mutex> lock(shared.mutex);
      ++shared.arrived;
      shared.changed.notify_all();
      shared.changed.wait(lock, [&] { return shared.arrived == tasks; });
      ++shared.left;
      shared.changed.notify_all();
    });
  }
  std::unique_lock<std::mutex> lock(shared.mutex);
  shared.changed.wait(lock, [&] { return shared.left == tasks; });
  *out->typed_data() = tasks;
  return ffi::Error::Success();
}
HANDLER(portable_barrier, Barrier,
        ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Ret<ffi::BufferR0<ffi::DataType::S64>>());

static ffi::Future Later(ffi::ThreadPool pool, bool fail,
                         ffi::Result<ffi::BufferR0<ffi::DataType::S64>> out) {
  ffi::Promise promise;
  ffi::Future future(promise);
  pool.Schedule([promise, fail, data = out->typed_data()]() mutable {
    std::this_thread::yield();
    *data = 77;
    if (fail) {
      promise.SetError(ffi::Error(ffi::ErrorCode::kDataLoss, "lost on the way"));
    } else {
      promise.SetAvailable();
    }
  });
  return future;
}
HANDLER(portable_future, Later,
        ffi::Ffi::Bind()
            .Ctx<ffi::ThreadPool>()
            .Attr<bool>("fail")
            .Ret<ffi::BufferR0<ffi::DataType::S64>>());
#endif

#if PORTABLE_HEADER >= 600
static ffi::Error ReadOrdinal(int32_t ordinal, ffi::Result<ffi::BufferR0<ffi::DataType::S64>> out) {
  *out->typed_data() = ordinal;
  return ffi::Error::Success();
}
HANDLER(portable_ordinal, ReadOrdinal,
        ffi::Ffi::Bind().Ctx<ffi::DeviceOrdinal>().Ret<ffi::BufferR0<ffi::DataType::S64>>());

static ffi::Error Nothing(ffi::Result<ffi::BufferR0<ffi::DataType::S64>> out) {
  *out->typed_data() = 1;
  return ffi::Error::Success();
}
HANDLER(portable_traits, Nothing, ffi::Ffi::Bind().Ret<ffi::BufferR0<ffi::DataType::S64>>(),
        {ffi::Traits::kCmdBufferCompatible});
#endif

#if XLA_FFI_API_MINOR >= 5
struct NumberExtension {
  struct CExtension {
    XLA_FFI_Extension extension_base;
    int64_t number;
  };
  using Type = int64_t;
  static constexpr auto kName = "number";
  static constexpr int64_t kExtensionType = 4711;
  static constexpr int32_t kMajorVersion = 1;
  static constexpr int32_t kMinorVersion = 0;
  static Type Create(const XLA_FFI_Api*, const CExtension* extension) { return extension->number; }
};

static ffi::Error Options(ffi::Dictionary options, int64_t number,
                          ffi::Result<ffi::BufferR0<ffi::DataType::S64>> out) {
  *out->typed_data() = number + (options.size() > 0 ? options.get<int64_t>("level").value() : 0);
  return ffi::Error::Success();
}
HANDLER(portable_options, Options,
        ffi::Ffi::Bind()
            .Ctx<ffi::CustomOptions>()
            .Ctx<ffi::Extension<NumberExtension>>()
            .Ret<ffi::BufferR0<ffi::DataType::S64>>());
#endif
