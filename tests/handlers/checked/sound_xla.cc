// Sound handlers that look suspicious, written with the header of XLA's name.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using Out = ffi::Result<F32>;

#define EXPORT extern "C" __attribute__((visibility("default")))
#define HANDLER(name, ...)                                   \
  EXPORT XLA_FFI_Error* name(XLA_FFI_CallFrame* call_frame); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(name, __VA_ARGS__)

// Not a handler, and harmful to call: inspect has to live with it.
EXPORT int not_a_handler(int* out) { return *out = 5; }

static ffi::Error Norm(float eps, F32 x, Out y) {
  const auto width = static_cast<size_t>(x.dimensions().back());
  for (size_t row = 0; width != 0 && row < x.element_count() / width; ++row) {
    float sum = 0;
    const float* from = x.typed_data() + row * width;
    for (size_t i = 0; i < width; ++i) sum += from[i] * from[i];
    for (size_t i = 0; i < width; ++i) y->typed_data()[row * width + i] = from[i] / (sum + eps);
  }
  return ffi::Error::Success();
}
HANDLER(xla_norm, Norm, ffi::Ffi::Bind().Attr<float>("eps").Arg<F32>().Ret<F32>());

// Carries no signature, because no macro exports it.
XLA_FFI_DEFINE_HANDLER(kNorm, Norm, ffi::Ffi::Bind().Attr<float>("eps").Arg<F32>().Ret<F32>());
EXPORT XLA_FFI_Error* xla_unsigned(XLA_FFI_CallFrame* frame) { return kNorm(frame); }

static ffi::Error Scratch(ffi::ScratchAllocator scratch, F32 x, Out y) {
  auto memory = scratch.Allocate(x.size_bytes());
  if (!memory.has_value()) return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no scratch");
  if (x.element_count() == 0) return ffi::Error::Success();
  std::memcpy(*memory, x.typed_data(), x.size_bytes());
  std::memcpy(y->typed_data(), *memory, x.size_bytes());
  return ffi::Error::Success();
}
HANDLER(xla_scratch, Scratch, ffi::Ffi::Bind().Ctx<ffi::ScratchAllocator>().Arg<F32>().Ret<F32>());

static ffi::Error InPlace(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] + 1;
  return ffi::Error::Success();
}
HANDLER(xla_in_place, InPlace, ffi::Ffi::Bind().Arg<F32>().Ret<F32>());

static ffi::Error Refuses(F32 x, Out y) {
  if (x.element_count() % 4 != 0)
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "the size must be a multiple of 4");
  if (x.element_count() != 0) std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  return ffi::Error::Success();
}
HANDLER(xla_refuses, Refuses, ffi::Ffi::Bind().Arg<F32>().Ret<F32>());

struct Table {
  std::vector<float> values;
};
static ffi::ErrorOr<std::unique_ptr<Table>> MakeTable() {
  auto table = std::make_unique<Table>();
  for (int i = 0; i < 100; ++i) table->values.push_back(static_cast<float>(i));
  return table;
}
HANDLER(xla_table_instantiate, MakeTable, ffi::Ffi::BindInstantiate());
static ffi::Error UsesTable(Table* table, F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] * table->values[i % 100];
  return ffi::Error::Success();
}
HANDLER(xla_table, UsesTable, ffi::Ffi::Bind().Ctx<ffi::State<Table>>().Arg<F32>().Ret<F32>());

static ffi::Future Later(ffi::ThreadPool pool, F32 x, Out y) {
  ffi::Promise promise;
  ffi::Future future(promise);
  pool.Schedule(
      [promise, from = x.typed_data(), to = y->typed_data(), n = x.element_count()]() mutable {
        for (size_t i = 0; i < n; ++i) to[i] = from[i] * from[i];
        promise.SetAvailable();
      });
  return future;
}
HANDLER(xla_later, Later, ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<F32>().Ret<F32>());

// Any element type: bytes alone are moved.
static ffi::Error Moves(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  if (x.size_bytes() != y->size_bytes())
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "sizes differ");
  if (x.size_bytes() > 0) std::memmove(y->untyped_data(), x.untyped_data(), x.size_bytes());
  return ffi::Error::Success();
}
HANDLER(xla_moves, Moves, ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

static ffi::Error Flags(ffi::Buffer<ffi::S8> x, ffi::ResultBuffer<ffi::PRED> y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] > 3;
  return ffi::Error::Success();
}
HANDLER(xla_flags, Flags,
        ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::S8>>().Ret<ffi::Buffer<ffi::PRED>>());
