// Handlers in the ways that public kernels use XLA's FFI header, with every name that they use.
// Built with XLA's own header and with farcall's; both must give the same bits in every runtime.
// Only what XLA's header does not bring along is included: kernels rely on the rest.
#include <cstring>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

#define EXPORTED(name)                                                                       \
  extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* name(XLA_FFI_CallFrame*); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL

// ---- attributes of an author's types ----

enum class Mode : int32_t { kSum = 0, kMax = 1 };
struct Window {
  int64_t size;
  float scale;
  Mode mode;
};
struct Nested {
  Window window;
  std::string_view label;
};
XLA_FFI_REGISTER_ENUM_ATTR_DECODING(Mode);
XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(Window, xla::ffi::StructMember<int64_t>("size"),
                                      xla::ffi::StructMember<float>("scale"),
                                      xla::ffi::StructMember<Mode>("mode"));
XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(Nested, xla::ffi::StructMember<Window>("window"),
                                      xla::ffi::StructMember<std::string_view>("label"));

// A decoding by hand: a colour is a string.
struct Color {
  uint8_t red, green, blue;
};
namespace xla::ffi {
template <>
struct AttrDecoding<Color> {
  using Type = Color;
  static std::optional<Color> Decode(XLA_FFI_AttrType type, void* attr,
                                     DiagnosticEngine& diagnostic) {
    auto name = AttrDecoding<std::string_view>::Decode(type, attr, diagnostic);
    if (!name.has_value()) return std::nullopt;
    if (*name == "red") return Color{255, 0, 0};
    if (*name == "blue") return Color{0, 0, 255};
    return diagnostic.Emit("there is no color ") << *name << " among " << 2;
  }
};
// Operands of an author's own, whose decoding begins with that of a buffer.
struct Matrix {
  const float* values;
  int64_t rows, columns;
};
struct Row {
  float* values;
};
template <>
struct ArgDecoding<Matrix> {
  static bool Isa(XLA_FFI_ArgType type, void* arg) {
    return ArgDecoding<AnyBuffer>::Isa(type, arg) && ArgDecoding<BufferR2<F32>>::Isa(type, arg);
  }
  static std::optional<Matrix> Decode(XLA_FFI_ArgType type, void* arg,
                                      DiagnosticEngine& diagnostic) {
    auto buffer = ArgDecoding<BufferR2<F32>>::Decode(type, arg, diagnostic);
    if (!buffer.has_value()) return std::nullopt;
    return Matrix{buffer->typed_data(), buffer->dimensions()[0], buffer->dimensions()[1]};
  }
};
template <>
struct RetDecoding<Row> {
  static std::optional<Result<Row>> Decode(XLA_FFI_RetType type, void* ret,
                                           DiagnosticEngine& diagnostic) {
    if (!RetDecoding<BufferR1<F32>>::Isa(type, ret)) return diagnostic.Emit("no row");
    auto buffer = RetDecoding<AnyBuffer>::Decode(type, ret, diagnostic);
    if (!buffer.has_value()) return std::nullopt;
    return Result<Row>(Row{static_cast<float*>((*buffer)->untyped_data())});
  }
};
// And a context item of an author's own.
struct Doubled {};
template <>
struct CtxDecoding<Doubled> {
  using Type = int64_t;
  static std::optional<int64_t> Decode(const XLA_FFI_Api* api, XLA_FFI_ExecutionContext* ctx,
                                       DiagnosticEngine&) {
    return api != nullptr && ctx != nullptr ? 2 : 0;
  }
};
}  // namespace xla::ffi

// ---- buffers ----

static ffi::Error ColumnSums(xla::ffi::Matrix x, ffi::Result<xla::ffi::Row> y) {
  for (int64_t j = 0; j < x.columns; ++j) {
    y->values[j] = 0;
    for (int64_t i = 0; i < x.rows; ++i) y->values[j] += x.values[i * x.columns + j];
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(names_column_sums, ColumnSums,
                              ffi::Ffi::Bind().Arg<xla::ffi::Matrix>().Ret<xla::ffi::Row>());

// Dispatch at run time, with everything that AnyBuffer has.
template <typename T>
ffi::Error AddTyped(ffi::AnyBuffer a, ffi::AnyBuffer b, ffi::Result<ffi::AnyBuffer> out) {
  std::transform(a.typed_data<T>(), a.typed_data<T>() + a.element_count(), b.typed_data<T>(),
                 out->typed_data<T>(), std::plus<T>());
  return ffi::Error::Success();
}
static ffi::Error Add(ffi::AnyBuffer a, ffi::AnyBuffer b, ffi::Result<ffi::AnyBuffer> out) {
  if (a.dimensions().size() != b.dimensions().size() || !(a.dimensions() == b.dimensions())) {
    return ffi::Error::InvalidArgument("shapes differ");
  }
  if (a.size_bytes() != a.element_count() * ffi::ByteWidth(a.element_type())) {
    return ffi::Error::Internal("bytes");
  }
  if (a.element_count() > 0 && a.untyped_data() == nullptr) return ffi::Error::Internal("data");
  switch (a.element_type()) {
    case ffi::DataType::F32:
      return AddTyped<float>(a, b, out);
    case ffi::F64:
      return AddTyped<double>(a, b, out);
    case ffi::DataType::S32:
      return AddTyped<int32_t>(a, b, out);
    case ffi::DataType::C64:
      return AddTyped<std::complex<float>>(a, b, out);
    default: {
      std::ostringstream text;
      text << "no addition for " << a.element_type();
      return ffi::Error(ffi::ErrorCode::kUnimplemented, text.str());
    }
  }
}
EXPORTED(names_add)
(names_add, Add,
 ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

// Fixed types and ranks, as template parameters of both kinds, and native types.
template <ffi::DataType dtype>
static ffi::Error Norms(ffi::BufferR2<dtype> x, ffi::Result<ffi::BufferR1<ffi::ToReal(dtype)>> y) {
  using T = ffi::NativeType<dtype>;
  using Real = ffi::NativeType<ffi::ToReal(dtype)>;
  static_assert(std::is_same_v<ffi::NativeType<ffi::C64>, std::complex<float>>);
  static_assert(std::is_same_v<ffi::NativeType<ffi::BF16>, uint16_t>);
  static_assert(ffi::IsComplexType<ffi::C64>() && !ffi::IsComplexType<ffi::F32>());
  const auto [rows, columns] = std::make_pair(x.dimensions().front(), x.dimensions().back());
  for (int64_t i = 0; i < rows; ++i) {
    const T* row = x.typed_data() + i * columns;
    y->typed_data()[i] = std::accumulate(row, row + columns, Real(0), [](Real sum, T value) {
      return sum + static_cast<Real>(std::abs(value));
    });
  }
  return ffi::Error::Success();
}
EXPORTED(names_norms_f32)
(names_norms_f32, Norms<ffi::F32>,
 ffi::Ffi::Bind().Arg<ffi::BufferR2<ffi::F32>>().Ret<ffi::BufferR1<ffi::F32>>());
EXPORTED(names_norms_c64)
(names_norms_c64, Norms<ffi::DataType::C64>,
 ffi::Ffi::Bind().Arg<ffi::BufferR2<ffi::C64>>().Ret<ffi::BufferR1<ffi::F32>>());

static ffi::Error Bits(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::U32> y) {
  ffi::AnyBuffer::Dimensions dims = x.dimensions();
  ffi::Span<const int64_t> first = dims.first(dims.size());
  const std::vector<int64_t> copy(first.begin(), first.end());
  size_t count = 1;
  for (int64_t dim : copy) count *= static_cast<size_t>(dim);
  std::memcpy(y->untyped_data(), x.untyped_data(), count * sizeof(float));
  return ffi::Error::Success();
}
EXPORTED(names_bits)
(names_bits, Bits, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::U32>>());

static ffi::Error Reinterpret(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  std::copy_n(x.reinterpret_data<uint16_t>(), x.element_count(), y->reinterpret_data<uint16_t>());
  return ffi::Error::Success();
}
EXPORTED(names_reinterpret)
(names_reinterpret, Reinterpret, ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

static ffi::Error Ranks(ffi::BufferR0<ffi::S32> a, ffi::BufferR3<ffi::S32> b,
                        ffi::BufferR4<ffi::S32> c, ffi::Token,
                        ffi::Result<ffi::BufferR0<ffi::S64>> out) {
  *out->typed_data() = *a.typed_data() +
                       static_cast<int64_t>(b.dimensions().size() * 10 +
                                            c.dimensions().size() * 100 + c.element_count() * 1000);
  return ffi::Error::Success();
}
EXPORTED(names_ranks)
(names_ranks, Ranks,
 ffi::Ffi::Bind()
     .Arg<ffi::BufferR0<ffi::S32>>()
     .Arg<ffi::BufferR3<ffi::S32>>()
     .Arg<ffi::BufferR4<ffi::S32>>()
     .Arg<ffi::Token>()
     .Ret<ffi::BufferR0<ffi::S64>>());

// ---- attributes ----

using Either = std::variant<int64_t, std::string_view>;
static ffi::Error Attributes(float f, double d, int32_t i, int64_t l, bool b, uint8_t u,
                             std::string_view text, ffi::Span<const int64_t> ints,
                             ffi::Span<const float> floats, Mode mode, Window window, Color color,
                             Either either, ffi::Result<ffi::BufferR1<ffi::F64>> out) {
  double* y = out->typed_data();
  *y++ = f;
  *y++ = d;
  *y++ = i;
  *y++ = static_cast<double>(l);
  *y++ = b ? 1 : 0;
  *y++ = u;
  *y++ = static_cast<double>(text.size());
  *y++ = static_cast<double>(std::accumulate(ints.begin(), ints.end(), int64_t{0}));
  *y++ = floats.size() > 0 ? floats[floats.size() - 1] : -1;
  *y++ = static_cast<double>(mode);
  *y++ = window.scale * static_cast<float>(window.size) + static_cast<float>(window.mode);
  *y++ = color.red * 65536.0 + color.green * 256.0 + color.blue;
  *y++ = std::holds_alternative<int64_t>(either)
             ? static_cast<double>(std::get<int64_t>(either))
             : static_cast<double>(std::get<std::string_view>(either).size());
  return ffi::Error::Success();
}
EXPORTED(names_attributes)
(names_attributes, Attributes,
 ffi::Ffi::Bind()
     .Attr<float>("f")
     .Attr<double>("d")
     .Attr<int32_t>("i")
     .Attr<int64_t>("l")
     .Attr<bool>("b")
     .Attr<uint8_t>("u")
     .Attr<std::string_view>("text")
     .Attr<ffi::Span<const int64_t>>("ints")
     .Attr<ffi::Span<const float>>("floats")
     .Attr<Mode>("mode")
     .Attr<Window>("window")
     .Attr<Color>("color")
     .Attr<Either>("either")
     .Ret<ffi::BufferR1<ffi::F64>>());

static ffi::Error NestedStruct(Nested nested, ffi::Result<ffi::BufferR0<ffi::S64>> out) {
  *out->typed_data() = nested.window.size + static_cast<int64_t>(nested.label.size());
  return ffi::Error::Success();
}
EXPORTED(names_nested)
(names_nested, NestedStruct,
 ffi::Ffi::Bind().Attr<Nested>("nested").Ret<ffi::BufferR0<ffi::S64>>());

static ffi::Error AllAttributes(ffi::Dictionary attrs, ffi::Result<ffi::BufferR1<ffi::S64>> out) {
  int64_t* y = out->typed_data();
  y[0] = static_cast<int64_t>(attrs.size());
  y[1] = attrs.contains("n") && attrs.contains<int64_t>("n") && !attrs.contains<float>("n");
  y[2] = attrs.get<int64_t>("n").value();
  ffi::ErrorOr<float> wrong = attrs.get<float>("n");
  y[3] = wrong.has_error() && wrong.error().failure() && !wrong.error().message().empty();
  y[4] = attrs.get<int64_t>("nowhere").has_value() ? 1 : 0;
  y[5] = 0;
  for (std::string_view name : attrs) y[5] = y[5] * 100 + static_cast<int64_t>(name.size());
  auto inner = attrs.get<ffi::Dictionary>("inner");
  if (!inner) return inner.error();
  y[6] = static_cast<int64_t>(*inner->get<double>("value") * 2);
  y[7] = attrs.get<Mode>("mode").has_value() ? 1 : 0;
  return ffi::Error::Success();
}
EXPORTED(names_all_attributes)
(names_all_attributes, AllAttributes, ffi::Ffi::Bind().Attrs().Ret<ffi::BufferR1<ffi::S64>>());

static ffi::Error StructOfAll(Window window, ffi::Result<ffi::BufferR0<ffi::F32>> out) {
  *out->typed_data() = window.scale * static_cast<float>(window.size);
  return ffi::Error::Success();
}
EXPORTED(names_struct_of_all)
(names_struct_of_all, StructOfAll, ffi::Ffi::Bind().Attrs<Window>().Ret<ffi::BufferR0<ffi::F32>>());

static int64_t pointed_at = 41;
extern "C" __attribute__((visibility("default"))) int64_t* names_pointee() { return &pointed_at; }
static ffi::Error Pointed(int64_t* pointer, ffi::Result<ffi::BufferR0<ffi::S64>> out) {
  *out->typed_data() = ++*pointer;
  return ffi::Error::Success();
}
EXPORTED(names_pointer)
(names_pointer, Pointed,
 ffi::Ffi::Bind().Attr<ffi::Pointer<int64_t>>("address").Ret<ffi::BufferR0<ffi::S64>>());

// ---- any number of buffers ----

static ffi::Error Remaining(ffi::BufferR0<ffi::F32> factor, ffi::RemainingArgs args,
                            ffi::RemainingRets rets) {
  if (args.size() != rets.size() || args.empty() != rets.empty()) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "as many results as arguments");
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (args.isa<ffi::Buffer<ffi::F64>>(i)) return ffi::Error::InvalidArgument("f64");
    ffi::ErrorOr<ffi::Buffer<ffi::F32>> x = args.get<ffi::Buffer<ffi::F32>>(i);
    auto y = rets.get<ffi::Buffer<ffi::F32>>(i);
    if (x.has_error() || y.has_error()) return ffi::Error::InvalidArgument("not f32");
    for (size_t j = 0; j < x->element_count(); ++j) {
      (*y)->typed_data()[j] = *factor.typed_data() * x->typed_data()[j];
    }
  }
  return ffi::Error::Success();
}
EXPORTED(names_remaining)
(names_remaining, Remaining,
 ffi::Ffi::Bind().Arg<ffi::BufferR0<ffi::F32>>().RemainingArgs().RemainingRets());

static ffi::Error Optional(ffi::Buffer<ffi::F32> x, std::optional<ffi::Buffer<ffi::F32>> bias,
                           ffi::ResultBuffer<ffi::F32> y,
                           std::optional<ffi::ResultBuffer<ffi::S64>> count) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    y->typed_data()[i] = x.typed_data()[i] + (bias ? bias->typed_data()[i] : 0);
  }
  if (count) *(*count)->typed_data() = static_cast<int64_t>(x.element_count());
  return ffi::Error::Success();
}
EXPORTED(names_optional)
(names_optional, Optional,
 ffi::Ffi::Bind()
     .Arg<ffi::Buffer<ffi::F32>>()
     .OptionalArg<ffi::Buffer<ffi::F32>>()
     .Ret<ffi::Buffer<ffi::F32>>()
     .OptionalRet<ffi::Buffer<ffi::S64>>());

// A handler that binds no argument takes calls with any.
static ffi::Error NoArguments(ffi::Result<ffi::BufferR0<ffi::S64>> out) {
  *out->typed_data() = 7;
  return ffi::Error::Success();
}
EXPORTED(names_no_arguments)
(names_no_arguments, NoArguments, ffi::Ffi::Bind().Ret<ffi::BufferR0<ffi::S64>>());

// ---- errors ----

static ffi::Expected<int64_t, std::string> Half(int64_t n) {
  if (n % 2 != 0) return ffi::Unexpected("odd");
  return n / 2;
}
static ffi::ErrorOr<int64_t> Quarter(int64_t n) {
  auto half = Half(n);
  if (!half.has_value()) return ffi::Unexpected(ffi::Error::InvalidArgument(half.error()));
  if (*half % 2 != 0) {
    return ffi::Unexpected(ffi::Error(XLA_FFI_Error_Code_OUT_OF_RANGE, "half is odd"));
  }
  return *half / 2;
}
static ffi::Error Quarters(int64_t n, ffi::Result<ffi::BufferR0<ffi::S64>> out) {
  ffi::ErrorOr<int64_t> quarter = Quarter(n);
  if (quarter.has_error()) {
    ffi::Error error = quarter.error();
    const std::string& message = error.message();
    if (error.success() || !error.errc().has_value()) return ffi::Error::Internal("no code");
    return ffi::Error(*error.errc(), std::to_string(n) + ": " + message);
  }
  *out->typed_data() = quarter.value();
  return ffi::Error();
}
EXPORTED(names_quarter)
(names_quarter, Quarters, ffi::Ffi::Bind().Attr<int64_t>("n").Ret<ffi::BufferR0<ffi::S64>>());

// ---- context ----

static ffi::Error Everything(ffi::Context context, ffi::ScratchAllocator scratch,
                             ffi::ThreadPool pool, ffi::RunId run, int32_t ordinal, int64_t two,
                             ffi::Result<ffi::BufferR1<ffi::S64>> out) {
  std::optional<void*> memory = scratch.Allocate(1000, 64);
  if (memory.has_value()) std::memset(*memory, 1, 1000);  // JAX has none on the CPU
  int64_t* y = out->typed_data();
  y[0] = memory ? static_cast<int64_t>(reinterpret_cast<uintptr_t>(*memory) % 64) : 0;
  y[1] = pool.num_threads() >= 0;
  y[2] = run.run_id == context.get<ffi::RunId>()->run_id;
  y[3] = ordinal - *context.get<ffi::DeviceOrdinal>();
  y[4] = two;
  y[5] = context.api()->api_version.major_version + (context.ctx() == nullptr ? 1 : 0);
  return ffi::Error::Success();
}
EXPORTED(names_context)
(names_context, Everything,
 ffi::Ffi::Bind()
     .Ctx()
     .Ctx<ffi::ScratchAllocator>()
     .Ctx<ffi::ThreadPool>()
     .Ctx<ffi::RunId>()
     .Ctx<ffi::DeviceOrdinal>()
     .Ctx<ffi::Doubled>()
     .Ret<ffi::BufferR1<ffi::S64>>());

static ffi::Error OnStream(void*) { return ffi::Error::Success(); }
EXPORTED(names_stream)
(names_stream, OnStream, ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>(),
 {ffi::Traits::kCmdBufferCompatible});

// ---- futures ----

static ffi::Future Later(ffi::ThreadPool pool, int64_t parts, int64_t fail,
                         ffi::Result<ffi::BufferR1<ffi::S64>> out) {
  ffi::CountDownPromise done(parts);
  ffi::Future future(done);
  for (int64_t i = 0; i < parts; ++i) {
    pool.Schedule([done, i, fail, y = out->typed_data()]() mutable {
      y[i] = 10 * i;
      done.CountDown(i == fail ? ffi::Error(ffi::ErrorCode::kDataLoss, "part " + std::to_string(i))
                               : ffi::Error::Success());
    });
  }
  return future;
}
EXPORTED(names_future)
(names_future, Later,
 ffi::Ffi::Bind()
     .Ctx<ffi::ThreadPool>()
     .Attr<int64_t>("parts")
     .Attr<int64_t>("fail")
     .Ret<ffi::BufferR1<ffi::S64>>());

static ffi::Future AtOnce(ffi::Result<ffi::BufferR0<ffi::S64>> out) {
  ffi::Promise promise;
  ffi::Future future(promise);
  int64_t ready = 0;
  {
    ffi::Promise other;
    ffi::Future waited(other);
    waited.OnReady([&](const std::optional<ffi::Error>& error) { ready = error ? 0 : 5; });
    other.SetAvailable();
  }
  *out->typed_data() = ready;
  promise.SetAvailable();
  return future;
}
EXPORTED(names_at_once)(names_at_once, AtOnce, ffi::Ffi::Bind().Ret<ffi::BufferR0<ffi::S64>>());

// ---- stages and state ----

struct Plan {
  static ffi::TypeId id;
  int64_t size;
  std::vector<float> weights;
};
ffi::TypeId Plan::id = {};
static XLA_FFI_TypeInfo plan_info = ffi::MakeTypeInfo<Plan>();
extern "C" __attribute__((visibility("default"))) XLA_FFI_TypeId* names_plan_id() {
  return &Plan::id;
}
extern "C" __attribute__((visibility("default"))) const XLA_FFI_TypeInfo* names_plan_info() {
  return &plan_info;
}

static ffi::ErrorOr<std::unique_ptr<Plan>> MakePlan(int64_t size) {
  if (size < 0) return ffi::Unexpected(ffi::Error::InvalidArgument("size is negative"));
  auto plan = std::make_unique<Plan>();
  plan->size = size;
  plan->weights.assign(static_cast<size_t>(size), 0.5f);
  return ffi::ErrorOr<std::unique_ptr<Plan>>(std::move(plan));  // nvcc does not move it by itself
}
EXPORTED(names_plan_instantiate)
(names_plan_instantiate, MakePlan, ffi::Ffi::BindInstantiate().Attr<int64_t>("size"));
static ffi::Error PreparePlan(ffi::Dictionary attrs) {
  return attrs.size() == 0 ? ffi::Error::Internal("no attributes") : ffi::Error::Success();
}
EXPORTED(names_plan_prepare)(names_plan_prepare, PreparePlan, ffi::Ffi::BindPrepare().Attrs());
EXPORTED(names_plan_initialize)
(
    names_plan_initialize,
    [](Plan* plan) {
      return plan->size >= 0 ? ffi::Error::Success() : ffi::Error::Internal("no plan");
    },
    ffi::Ffi::Bind<ffi::ExecutionStage::kInitialize>().Ctx<ffi::State<Plan>>());
static ffi::Error RunPlan(Plan* plan, int64_t, ffi::ResultBuffer<ffi::F32> out) {
  std::fill_n(out->typed_data(), out->element_count(),
              std::accumulate(plan->weights.begin(), plan->weights.end(), 0.0f));
  return ffi::Error::Success();
}
EXPORTED(names_plan)
(names_plan, RunPlan,
 ffi::Ffi::BindExecute()
     .Ctx<ffi::State<Plan>>()
     .Attr<int64_t>("size")
     .Ret<ffi::Buffer<ffi::F32>>());

// ---- other ways to define a handler ----

// Without a binding.
static constexpr char kOffset[] = "offset";
static ffi::Error Auto(ffi::Buffer<ffi::F32> x, ffi::Result<ffi::Buffer<ffi::F32>> y,
                       ffi::Attr<float, kOffset> offset) {
  std::transform(x.typed_data(), x.typed_data() + x.element_count(), y->typed_data(),
                 [&](float value) { return value + *offset; });
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_AUTO(kAuto, Auto);
extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* names_auto(
    XLA_FFI_CallFrame* frame) {
  return kAuto(frame);
}

// Types of std among the parameters.
static constexpr char kTag[] = "tag";
static ffi::Error Tagged(ffi::AnyBuffer, ffi::Result<ffi::BufferR0<ffi::S64>> size,
                         ffi::Attr<std::string_view, kTag> tag) {
  *size->typed_data() = static_cast<int64_t>(tag->size());
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(names_tagged, Tagged);

// As a constant in a namespace, with a function that the compiler can inline.
namespace kernels {
static ffi::Error Copy(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  std::memcpy(y->untyped_data(), x.untyped_data(), x.size_bytes());
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER(kCopy, ffi::Ffi::Wrapper<Copy>(),
                       ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>(),
                       {ffi::Traits::kCmdBufferCompatible});
static_assert(std::is_same_v<decltype(kCopy), XLA_FFI_Handler* const>);
}  // namespace kernels
XLA_FFI_DECLARE_HANDLER_SYMBOL(names_copy);
extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* names_copy(
    XLA_FFI_CallFrame* frame) {
  return kernels::kCopy(frame);
}

// Bound by hand, with a function that captures and a name that is no literal.
extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* names_by_hand(
    XLA_FFI_CallFrame* frame) {
  static int64_t calls = 0;
  int64_t* counter = &calls;
  static auto handler = ffi::Ffi::Bind()
                            .Attr<int64_t>(std::string("st") + "ep")
                            .Ret<ffi::BufferR0<ffi::S64>>()
                            .To([counter](int64_t step, ffi::Result<ffi::BufferR0<ffi::S64>> out) {
                              *out->typed_data() = (*counter += step);
                              return ffi::Error::Success();
                            });
  return handler->Call(frame);
}
static ffi::Error BoundTo(ffi::Dictionary attrs, ffi::Result<ffi::BufferR0<ffi::S64>> out) {
  *out->typed_data() = static_cast<int64_t>(attrs.size());
  return ffi::Error::Success();
}
extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* names_bound_to(
    XLA_FFI_CallFrame* frame) {
  static std::unique_ptr<ffi::Ffi> handler = ffi::Ffi::BindTo(BoundTo);
  return handler->Call(frame);
}

// ---- plain C ----

// A handler that uses nothing but the structs of c_api.h.
extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* names_plain_c(
    XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr &&
      frame->extension_start->type == XLA_FFI_Extension_Metadata) {
    auto* metadata =
        reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start)->metadata;
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    // What a handler that uses no struct of a later version may say.
    metadata->api_version.minor_version = std::min(XLA_FFI_API_MINOR, 1);
    metadata->traits = 0;
    return nullptr;
  }
  XLA_FFI_Error_Create_Args error = {};
  error.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
  error.errc = XLA_FFI_Error_Code_UNIMPLEMENTED;
  error.message = "wants an f32 argument and a result";
  if (frame->struct_size < XLA_FFI_CallFrame_STRUCT_SIZE || frame->args.size != 1 ||
      frame->rets.size != 1 || frame->args.types[0] != XLA_FFI_ArgType_BUFFER) {
    return frame->api->XLA_FFI_Error_Create(&error);
  }
  auto* x = static_cast<XLA_FFI_Buffer*>(frame->args.args[0]);
  auto* y = static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0]);
  if (x->dtype != XLA_FFI_DataType_F32) return frame->api->XLA_FFI_Error_Create(&error);
  int64_t count = 1;
  for (int64_t i = 0; i < x->rank; ++i) count *= x->dims[i];
  for (int64_t i = 0; i < count; ++i) {
    static_cast<float*>(y->data)[i] = -static_cast<float*>(x->data)[i];
  }
  return nullptr;
}

// What XLA's header says of itself, to be printed.
extern "C" __attribute__((visibility("default"))) const char* names_streamed() {
  static const std::string text = [] {
    std::ostringstream stream;
    stream << ffi::DataType::F32 << " " << XLA_FFI_DataType_F8E4M3FN << " "
           << XLA_FFI_AttrType_DICTIONARY << " " << XLA_FFI_ExecutionStage_PREPARE;
    return stream.str();
  }();
  return text.c_str();
}
