// Handlers with one defect each, written with the header of XLA's name.
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <unistd.h>
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using S32 = ffi::Buffer<ffi::S32>;
using Out = ffi::Result<F32>;

// A compiler that sees the defect may remove it.
#define OPAQUE(value) asm volatile("" : "+r"(value))

#define EXPORT extern "C" __attribute__((visibility("default")))
#define HANDLER(name, ...)                                   \
  EXPORT XLA_FFI_Error* name(XLA_FFI_CallFrame* call_frame); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(name, __VA_ARGS__)
#define UNARY ffi::Ffi::Bind().Arg<F32>().Ret<F32>()

static void copy(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i];
}

static ffi::Error WritePast(F32 x, Out y) {
  copy(x, y);
  std::memset(y->typed_data() + x.element_count(), 0, 32);
  return ffi::Error::Success();
}
HANDLER(xla_write_past, WritePast, UNARY);

static ffi::Error ReadPast(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    y->typed_data()[i] = x.typed_data()[i] + x.typed_data()[i + 2];
  }
  return ffi::Error::Success();
}
HANDLER(xla_read_past, ReadPast, UNARY);

static ffi::Error WritesInput(F32 x, Out y) {
  if (x.element_count() > 0) const_cast<float*>(x.typed_data())[0] = 0;
  copy(x, y);
  return ffi::Error::Success();
}
HANDLER(xla_writes_input, WritesInput, UNARY);

static ffi::Error Misses(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); i += 2) y->typed_data()[i] = x.typed_data()[i];
  return ffi::Error::Success();
}
HANDLER(xla_misses, Misses, UNARY);

static ffi::Error Accumulates(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] += x.typed_data()[i];
  return ffi::Error::Success();
}
HANDLER(xla_accumulates, Accumulates, UNARY);

static ffi::Error Counts(F32 x, Out y) {
  static thread_local float calls = 0;
  ++calls;
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] + calls;
  return ffi::Error::Success();
}
HANDLER(xla_counts, Counts, UNARY);

static ffi::Error StaticBuffer(F32 x, Out y) {
  static std::vector<float> buffer(1 << 17);
  for (size_t i = 0; i < x.element_count(); ++i) buffer[i] = x.typed_data()[i] * 2;
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = buffer[i];
  return ffi::Error::Success();
}
HANDLER(xla_static_buffer, StaticBuffer, UNARY);

static ffi::Error Leaks(F32 x, Out y) {
  auto* block = static_cast<char*>(std::malloc(x.element_count() + 1));
  asm volatile("" : "+r"(block));
  copy(x, y);
  return ffi::Error::Success();
}
HANDLER(xla_leaks, Leaks, UNARY);

static ffi::Error Throws(F32 x, Out y) {
  copy(x, y);
  if (x.element_count() == 0) throw std::invalid_argument("nothing to do");
  return ffi::Error::Success();
}
HANDLER(xla_throws, Throws, UNARY);

static ffi::Error Silent(F32 x, Out y) {
  copy(x, y);
  if (x.element_count() % 2 == 0) return ffi::Error(ffi::ErrorCode::kInternal, "");
  return ffi::Error::Success();
}
HANDLER(xla_silent, Silent, UNARY);

// By hand, so that nothing stands between the exception and the runtime.
EXPORT XLA_FFI_Error* xla_throws_bare(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr) {
    auto* metadata =
        reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start)->metadata;
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    metadata->api_version.minor_version = XLA_FFI_API_MINOR;
    return nullptr;
  }
  throw std::runtime_error("bare");
}

// Small elements: bytes 0 and 1 are common values of a result.
static ffi::Error Flags(ffi::Buffer<ffi::S8> x, ffi::ResultBuffer<ffi::PRED> y) {
  for (size_t i = 1; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] > 3;
  return ffi::Error::Success();
}
HANDLER(xla_misses_flag, Flags,
        ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::S8>>().Ret<ffi::Buffer<ffi::PRED>>());

// With aliased memory, reads operand elements that it has already overwritten.
static ffi::Error Reverses(F32 x, Out y) {
  const size_t n = x.element_count();
  for (size_t i = 0; i < n; ++i) y->typed_data()[i] = x.typed_data()[n - 1 - i];
  return ffi::Error::Success();
}
HANDLER(xla_reverses, Reverses, UNARY);

static ffi::Error RowSums(ffi::BufferR2<ffi::F32> x, ffi::Result<ffi::BufferR1<ffi::F32>> sums) {
  const auto rows = x.dimensions()[0], columns = x.dimensions()[1];
  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += x.typed_data()[i * columns + j];
    sums->typed_data()[i] = sum;
  }
  return ffi::Error::Success();
}
HANDLER(xla_row_sums, RowSums,
        ffi::Ffi::Bind().Arg<ffi::BufferR2<ffi::F32>>().Ret<ffi::BufferR1<ffi::F32>>());

// One lane of eight is wrong.
static ffi::Error WrongLane(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + (i % 8 == 7 ? 2 : 1);
  return ffi::Error::Success();
}
HANDLER(xla_wrong_lane, WrongLane, UNARY);

static ffi::Error NullPointer(F32 x, Out y) {
  copy(x, y);
  float* nothing = nullptr;
  asm volatile("" : "+r"(nothing));
  if (x.element_count() == 0) *nothing = 1;
  return ffi::Error::Success();
}
HANDLER(xla_null_pointer, NullPointer, UNARY);

// A log of all calls.
static ffi::Error Logs(F32 x, Out y) {
  static std::mutex mutex;
  static std::vector<size_t> sizes;
  const std::lock_guard lock(mutex);
  sizes.push_back(x.element_count());
  copy(x, y);
  return ffi::Error::Success();
}
HANDLER(xla_logs, Logs, UNARY);

static ffi::Error KeepsAttribute(F32 x, Out y, float factor) {
  static const float kept = factor;
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = kept * x.typed_data()[i];
  return ffi::Error::Success();
}
HANDLER(xla_keeps_attribute, KeepsAttribute,
        ffi::Ffi::Bind().Arg<F32>().Ret<F32>().Attr<float>("factor"));

static ffi::Error EndsParent(F32 x, Out y) {
  copy(x, y);
  kill(getppid(), SIGTERM);
  return ffi::Error::Success();
}
HANDLER(xla_ends_parent, EndsParent, UNARY);

static ffi::Error SetsVariable(F32 x, Out y) {
  copy(x, y);
  setenv("MKL_NUM_THREADS", "1", 1);
  return ffi::Error::Success();
}
HANDLER(xla_sets_variable, SetsVariable, UNARY);

static ffi::Error Aborts(F32 x, Out y) {
  copy(x, y);
  if (x.element_count() > 64) std::abort();
  return ffi::Error::Success();
}
HANDLER(xla_aborts, Aborts, UNARY);

// Waits forever.
static ffi::Error Waits(F32 x, Out y) {
  copy(x, y);
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  condition.wait(lock, [&] { return x.element_count() != 1; });
  return ffi::Error::Success();
}
HANDLER(xla_waits, Waits, UNARY);

// The limits let nan through, which becomes the least integer.
static ffi::Error Histogram(F32 x, ffi::Result<S32> counts) {
  for (size_t i = 0; i < counts->element_count(); ++i) counts->typed_data()[i] = 0;
  const auto num_bins = static_cast<int32_t>(counts->element_count());
  for (size_t i = 0; num_bins > 0 && i < x.element_count(); ++i) {
    float value = x.typed_data()[i];
    value = value < -3 ? -3 : value > 2.9f ? 2.9f : value;
    int32_t bin = static_cast<int32_t>((value + 3) / 6 * static_cast<float>(num_bins));
    OPAQUE(bin);
    ++counts->typed_data()[bin];
  }
  return ffi::Error::Success();
}
HANDLER(xla_histogram, Histogram, ffi::Ffi::Bind().Arg<F32>().Ret<S32>());

static ffi::Error TableAtPosition(F32 table, F32 position, Out y) {
  const auto size = static_cast<int32_t>(table.element_count());
  for (size_t i = 0; i < y->element_count(); ++i) {
    float at = position.typed_data()[i];
    if (at < 0) at = 0;
    if (at > static_cast<float>(size - 1)) at = static_cast<float>(size - 1);
    int32_t index = static_cast<int32_t>(at);
    OPAQUE(index);
    y->typed_data()[i] = size > 0 ? table.typed_data()[index] : 0;
  }
  return ffi::Error::Success();
}
HANDLER(xla_table_at_position, TableAtPosition, ffi::Ffi::Bind().Arg<F32>().Arg<F32>().Ret<F32>());

// Filled within microseconds of the first call.
static ffi::Error TableWhileFilled(F32 x, Out y) {
  static std::vector<float>* volatile table = nullptr;
  if (!table) {
    auto* made = new std::vector<float>;
    table = made;
    for (int i = 0; i < 1000; ++i) made->push_back(static_cast<float>(i));
  }
  copy(x, y);
  if (x.element_count() > 0) y->typed_data()[0] = table->size() > 999 ? (*table)[999] : -1;
  return ffi::Error::Success();
}
HANDLER(xla_table_while_filled, TableWhileFilled, UNARY);
