// Handlers written with farcall's header for the tests that run one binary in JAX and in farcall.
#include <farcall/ffi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <variant>

namespace ffi = farcall::ffi;

using ffi::Error;

namespace {

// Bytes appended to a result; what does not fit is counted and dropped.
class Writer {
 public:
  explicit Writer(ffi::ResultBuffer<ffi::U8, 1> out)
      : data_(out->typed_data()), capacity_(out->element_count()) {
    std::memset(data_, 0, capacity_);
  }

  void bytes(const void* source, size_t size) {
    const size_t fitting =
        size_ + size <= capacity_ ? size : capacity_ - std::min(size_, capacity_);
    if (fitting != 0) std::memcpy(data_ + size_, source, fitting);
    size_ += size;
  }
  void text(std::string_view piece) { bytes(piece.data(), piece.size()); }
  template <typename T>
  void value(const T& scalar) {
    bytes(&scalar, sizeof(scalar));
  }
  void hex(const void* source, size_t size) {
    constexpr char kDigits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; ++i) {
      const auto byte = static_cast<const unsigned char*>(source)[i];
      const char digits[] = {kDigits[byte >> 4], kDigits[byte & 15]};
      bytes(digits, 2);
    }
  }
  Error done() const {
    return size_ <= capacity_ ? Error() : Error::OutOfRange("the result is too small");
  }

 private:
  uint8_t* data_;
  size_t capacity_;
  size_t size_ = 0;
};

}  // namespace

// ---- dtypes
// --------------------------------------------------------------------------------------

constexpr auto kAllDtypes =
    ffi::kFloats | ffi::kInts | ffi::kComplexes | ffi::kFloat8s | ffi::DTypeSet<ffi::PRED>{};

// Numbers are doubled, truth values turned round.
Error Double(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  if (x.element_type() != y->element_type()) return Error::InvalidArgument("the dtypes differ");
  return ffi::dispatch(kAllDtypes, x.element_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = x.typed_data<T>();
    T* out = y->typed_data<T>();
    for (size_t i = 0; i < x.element_count(); ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        out[i] = !in[i];
      } else if constexpr (tag.value == ffi::C64 || tag.value == ffi::C128 ||
                           std::is_arithmetic_v<T>) {
        out[i] = static_cast<T>(in[i] + in[i]);
      } else {
        out[i] = T(2 * static_cast<float>(in[i]));
      }
    }
  });
}
FARCALL_DEFINE_HANDLER(hosted_double, Double, ffi::kCmdBufferCompatible);

Error Axpy(float a, ffi::BufferR1<ffi::F32> x, ffi::BufferR1<ffi::F32> y,
           ffi::ResultBufferR1<ffi::F32> out) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    out->typed_data()[i] = a * x.typed_data()[i] + y.typed_data()[i];
  }
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_axpy, Axpy, "a");

// Name, dtype and dimensions of what arrived.
Error Describe(ffi::AnyBuffer x, ffi::ResultBuffer<ffi::U8, 1> out) {
  Writer writer(out);
  writer.text(std::to_string(static_cast<int>(x.element_type())));
  for (int64_t dim : x.dimensions()) writer.text(" " + std::to_string(dim));
  writer.text(reinterpret_cast<uintptr_t>(x.untyped_data()) % 64 == 0 ? " aligned" : " unaligned");
  return writer.done();
}
FARCALL_DEFINE_HANDLER(hosted_describe, Describe);

// ---- memory order and aliases -------------------------------------------------------------------

Error ReadMemory(ffi::Buffer<ffi::S32> x, ffi::ResultBuffer<ffi::S32> flat) {
  std::memcpy(flat->typed_data(), x.typed_data(), x.size_bytes());
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_read_memory, ReadMemory);

Error WriteMemory(ffi::ResultBuffer<ffi::S32> out) {
  for (size_t i = 0; i < out->element_count(); ++i) out->typed_data()[i] = static_cast<int32_t>(i);
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_write_memory, WriteMemory);

// Adds one, and says in `shared` whether both lie at one address.
Error AddOne(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y,
             ffi::ResultBufferR0<ffi::S32> shared) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] + 1;
  *shared->typed_data() = x.untyped_data() == y->untyped_data();
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_add_one, AddOne);

// ---- attributes ---------------------------------------------------------------------------------

Error Scalars(bool b, int8_t i8, int16_t i16, int32_t i32, int64_t i64, uint8_t u8, uint16_t u16,
              uint32_t u32, uint64_t u64, float f32, double f64,
              ffi::ResultBuffer<ffi::U8, 1> out) {
  Writer writer(out);
  writer.value(b);
  writer.value(i8), writer.value(i16), writer.value(i32), writer.value(i64);
  writer.value(u8), writer.value(u16), writer.value(u32), writer.value(u64);
  writer.value(f32), writer.value(f64);
  return writer.done();
}
FARCALL_DEFINE_HANDLER(hosted_scalars, Scalars, "b", "i8", "i16", "i32", "i64", "u8", "u16", "u32",
                       "u64", "f32", "f64");

Error SmallFloats(ffi::float16 f16, ffi::bfloat16 bf16, ffi::ResultBuffer<ffi::U8, 1> out) {
  Writer writer(out);
  writer.value(f16), writer.value(bf16);
  return writer.done();
}
FARCALL_DEFINE_HANDLER(hosted_small_floats, SmallFloats, "f16", "bf16");

Error Complexes(ffi::Complex<float> c64, ffi::Complex<double> c128,
                ffi::ResultBuffer<ffi::U8, 1> out) {
  Writer writer(out);
  writer.value(c64), writer.value(c128);
  return writer.done();
}
FARCALL_DEFINE_HANDLER(hosted_complexes, Complexes, "c64", "c128");

enum class Mode : int32_t { kAdd = 1, kMultiply = 7 };
FARCALL_ATTR_ENUM(Mode, kAdd, kMultiply);

struct Window {
  int64_t size;
  std::optional<float> scale;
  std::string_view name;
};
FARCALL_ATTR_STRUCT(Window, size, scale, name);

Error Rich(std::string_view view, std::string owned, ffi::Span<const int32_t> ints,
           ffi::Span<const double> floats, Mode mode, Window window, ffi::Dictionary extra,
           std::optional<int64_t> maybe, int64_t fallback,
           std::variant<int64_t, std::string_view> either, ffi::ResultBuffer<ffi::U8, 1> out) {
  Writer writer(out);
  writer.text(view);
  writer.text("|" + owned + "|");
  for (int32_t value : ints) writer.text(std::to_string(value) + ",");
  writer.text("|");
  for (double value : floats) writer.text(std::to_string(value) + ",");
  writer.text("|" + std::to_string(static_cast<int32_t>(mode)) + "|");
  writer.text(std::to_string(window.size) + " " + std::to_string(window.scale.value_or(-1)) + " ");
  writer.text(window.name);
  writer.text("|");
  for (std::string_view name : extra) writer.text(name);
  writer.text(extra.contains<int64_t>("x") ? "+x" : "-x");
  if (auto deep = extra.get<ffi::Dictionary>("deep")) {
    writer.text(deep->contains<bool>("flag") ? "+flag" : "-flag");
  }
  writer.text("|" + std::to_string(maybe.value_or(-1)) + "|" + std::to_string(fallback) + "|");
  writer.text(std::to_string(either.index()));
  return writer.done();
}
FARCALL_DEFINE_HANDLER(hosted_rich, Rich, "view", "owned", "ints", "floats", "mode", "window",
                       "extra", "maybe", ffi::attr("fallback").default_to(int64_t{40}), "either");

namespace {

// One line for each attribute: its path, kind, dtype's number, elements and bytes.
void echo(Writer& writer, const std::string& prefix, const FARCALL_FFI_Attrs& attrs) {
  for (int64_t i = 0; i < attrs.size; ++i) {
    const std::string path = prefix + std::string(attrs.names[i]->ptr, attrs.names[i]->len);
    const void* attribute = attrs.attrs[i];
    switch (attrs.types[i]) {
      case FARCALL_FFI_AttrType_SCALAR: {
        const auto& scalar = *static_cast<const FARCALL_FFI_Scalar*>(attribute);
        const auto dtype = static_cast<ffi::DataType>(scalar.dtype);
        writer.text(path + " scalar " + std::to_string(static_cast<int>(dtype)) + " ");
        writer.hex(scalar.value, ffi::ByteWidth(dtype));
        break;
      }
      case FARCALL_FFI_AttrType_ARRAY: {
        const auto& array = *static_cast<const FARCALL_FFI_Array*>(attribute);
        const auto dtype = static_cast<ffi::DataType>(array.dtype);
        writer.text(path + " array " + std::to_string(static_cast<int>(dtype)) + " ");
        writer.hex(array.data, array.size * ffi::ByteWidth(dtype));
        break;
      }
      case FARCALL_FFI_AttrType_STRING: {
        const auto& bytes = *static_cast<const FARCALL_FFI_ByteSpan*>(attribute);
        writer.text(path + " string ");
        writer.hex(bytes.ptr, bytes.len);
        break;
      }
      default:
        writer.text(path + " dictionary\n");
        echo(writer, path + ".", *static_cast<const FARCALL_FFI_Attrs*>(attribute));
        continue;
    }
    writer.text("\n");
  }
}

}  // namespace

Error EchoAttributes(ffi::Dictionary attributes, ffi::ResultBuffer<ffi::U8, 1> out) {
  Writer writer(out);
  echo(writer, "", *attributes.attrs());
  return writer.done();
}
FARCALL_DEFINE_HANDLER(hosted_echo_attributes, EchoAttributes, ffi::all_attributes);

// ---- open numbers of arguments and results ------------------------------------------------------

Error Optional(ffi::BufferR0<ffi::F32> x, std::optional<ffi::BufferR0<ffi::F32>> y,
               ffi::ResultBufferR0<ffi::F32> sum,
               std::optional<ffi::ResultBufferR0<ffi::F32>> product) {
  const float second = y ? *y->typed_data() : 10;
  *sum->typed_data() = *x.typed_data() + second;
  if (product) *(*product)->typed_data() = *x.typed_data() * second;
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_optional, Optional);

// Each result is the sum of all arguments plus its number; arguments that are no F32 count 1000.
Error Variadic(ffi::BufferR0<ffi::F32> first, ffi::RemainingArgs args, ffi::RemainingRets rets) {
  float sum = *first.typed_data();
  for (size_t i = 0; i < args.size(); ++i) {
    auto arg = args.get<ffi::BufferR0<ffi::F32>>(i);
    sum += arg ? *arg->typed_data() : 1000;
  }
  for (size_t i = 0; i < rets.size(); ++i) {
    auto ret = rets.get<ffi::BufferR0<ffi::F32>>(i);
    if (ret.has_error()) return ret.error();
    *(*ret)->typed_data() = sum + static_cast<float>(i);
  }
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_variadic, Variadic);

Error Order(ffi::Token, ffi::BufferR0<ffi::F32> x, ffi::Result<ffi::Token>,
            ffi::ResultBufferR0<ffi::F32> y) {
  *y->typed_data() = *x.typed_data() + 1;
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_token, Order);

// ---- state --------------------------------------------------------------------------------------

namespace {
std::atomic<int64_t> num_instantiated{0};
std::atomic<int64_t> num_alive{0};
std::atomic<int64_t> num_effects{0};
}  // namespace

extern "C" FARCALL_FFI_EXPORT int64_t hosted_num_instantiated() { return num_instantiated; }
extern "C" FARCALL_FFI_EXPORT int64_t hosted_num_alive() { return num_alive; }
extern "C" FARCALL_FFI_EXPORT int64_t hosted_num_effects() { return num_effects; }

struct Plan {
  explicit Plan(int64_t first) : next(first) { ++num_alive; }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() { --num_alive; }
  std::atomic<int64_t> next;
};

ffi::ErrorOr<std::unique_ptr<Plan>> MakePlan(int64_t first) {
  if (first < 0) return Error::InvalidArgument("first is negative");
  if (first > 1000) throw std::runtime_error("first is too large");
  ++num_instantiated;
  return std::make_unique<Plan>(first);
}
FARCALL_DEFINE_HANDLER(hosted_plan_instantiate, MakePlan, ffi::kInstantiate, "first");

Error CountUp(ffi::State<Plan> plan, ffi::ResultBufferR0<ffi::S64> out) {
  *out->typed_data() = plan->next++;
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_plan, CountUp);

struct Prepared {
  int64_t value;
};
struct Initialized {
  int64_t value;
};
std::unique_ptr<Prepared> Prepare(int64_t first) {
  return std::make_unique<Prepared>(Prepared{first + 1});
}
FARCALL_DEFINE_HANDLER(hosted_stages_prepare, Prepare, ffi::kPrepare, "first");
std::unique_ptr<Initialized> Initialize(int64_t first) {
  return std::make_unique<Initialized>(Initialized{10 * first});
}
FARCALL_DEFINE_HANDLER(hosted_stages_initialize, Initialize, ffi::kInitialize, "first");
Error Stages(ffi::State<Plan> plan, ffi::Prepared<Prepared> prepared,
             ffi::Initialized<Initialized> initialized, ffi::ResultBufferR1<ffi::S64> out) {
  out->typed_data()[0] = plan->next;
  out->typed_data()[1] = prepared->value;
  out->typed_data()[2] = initialized->value;
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_stages, Stages);

struct Settings {
  int64_t value;
};
FARCALL_DEFINE_TYPE(hosted_settings, Settings);
Error ReadSettings(ffi::UserData<Settings> settings, ffi::ResultBufferR0<ffi::S64> out) {
  *out->typed_data() = settings->value;
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_user_data, ReadSettings);

Error Effect(ffi::ResultBufferR0<ffi::S64> out) {
  *out->typed_data() = ++num_effects;
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_effect, Effect);

// ---- failures -----------------------------------------------------------------------------------

Error Fail(int32_t code, std::string_view message, ffi::ResultBufferR0<ffi::F32>) {
  return Error(static_cast<ffi::ErrorCode>(code), message);
}
FARCALL_DEFINE_HANDLER(hosted_fail, Fail, "code", "message");

Error Throw(std::string_view what, ffi::ResultBufferR0<ffi::F32>) {
  if (what == "runtime_error") throw std::runtime_error("it does not work");
  if (what == "bad_alloc") throw std::bad_alloc();
  if (what == "int") throw 42;
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_throw, Throw, "what");

Error Picky(ffi::BufferR2<ffi::F32>, ffi::Buffer<ffi::S32>, ffi::ResultBufferR1<ffi::F64>, int64_t,
            std::string_view, ffi::Span<const float>, Mode, Window) {
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_picky, Picky, "n", "name", "weights", "mode", "window");

// ---- threads ------------------------------------------------------------------------------------

Error Squares(ffi::ThreadPool pool, ffi::BufferR1<ffi::S64> x, ffi::ResultBufferR1<ffi::S64> y,
              int64_t fail_at) {
  pool.parallel_for(static_cast<int64_t>(x.element_count()), [&](int64_t i) {
    if (i == fail_at) throw std::runtime_error("element " + std::to_string(i));
    y->typed_data()[i] = x.typed_data()[i] * x.typed_data()[i];
  });
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_parallel, Squares, "fail_at");

Error NumThreads(ffi::ThreadPool pool, ffi::ResultBufferR0<ffi::S64> out) {
  *out->typed_data() = pool.num_threads();
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_num_threads, NumThreads);

// Fills its result on threads of the pool, or on a thread of its own, after returning.
ffi::Future Later(ffi::ThreadPool pool, bool own_thread, std::string_view failure,
                  ffi::ResultBufferR1<ffi::S64> out) {
  const auto size = static_cast<int64_t>(out->element_count());
  ffi::CountDownPromise promise(size);
  ffi::Future future(promise);
  for (int64_t i = 0; i < size; ++i) {
    auto task = [promise, i, data = out->typed_data(), text = std::string(failure)]() mutable {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      data[i] = 100 + i;
      (void)promise.CountDown(text.empty() || i != 0 ? Error() : Error::DataLoss(text));
    };
    if (own_thread) {
      std::thread(std::move(task)).detach();
    } else {
      pool.Schedule(std::move(task));
    }
  }
  return future;
}
FARCALL_DEFINE_HANDLER(hosted_future, Later, "own_thread", "failure");

// ---- the execution ------------------------------------------------------------------------------

Error Ids(std::optional<ffi::RunId> run_id, std::optional<ffi::DeviceOrdinal> ordinal,
          ffi::ExecutionStage stage, ffi::ResultBufferR1<ffi::S64> out) {
  out->typed_data()[0] = run_id ? run_id->run_id : -1;
  out->typed_data()[1] = ordinal ? int64_t{*ordinal} : -1;
  out->typed_data()[2] = static_cast<int64_t>(stage);
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_ids, Ids);

Error Scratch(ffi::ScratchAllocator scratch, int64_t size, ffi::ResultBufferR0<ffi::S64> out) {
  ffi::ErrorOr<void*> memory = scratch.try_allocate(static_cast<size_t>(size), 256);
  if (memory.has_error()) return std::move(memory).error();
  std::memset(*memory, 1, static_cast<size_t>(size));
  *out->typed_data() = static_cast<int64_t>(reinterpret_cast<uintptr_t>(*memory) % 256);
  return Error();
}
FARCALL_DEFINE_HANDLER(hosted_scratch, Scratch, "size");

Error NeedsStream(ffi::Stream, ffi::ResultBufferR0<ffi::S64>) { return Error(); }
FARCALL_DEFINE_HANDLER(hosted_stream, NeedsStream);

// ---- untyped ------------------------------------------------------------------------------------

extern "C" FARCALL_FFI_EXPORT void hosted_untyped(void* out, const void** in) {
  *static_cast<float*>(out) = *static_cast<const float*>(in[0]) + 0.5f;
}
extern "C" FARCALL_FFI_EXPORT void hosted_untyped_unified(void* out, const void** in,
                                                          const char* opaque, size_t opaque_len,
                                                          void* /*status*/) {
  const float number = opaque_len == 0 ? 0 : std::stof(std::string(opaque, opaque_len));
  *static_cast<float*>(out) = *static_cast<const float*>(in[0]) + number;
}
