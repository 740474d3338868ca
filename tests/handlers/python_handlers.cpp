// Handlers that the Python tests call, written with farcall's header. The tests compile this file.
#include <atomic>
#include <chrono>
#include <complex>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

#define EXPORT extern "C" __attribute__((visibility("default")))

using F32 = ffi::Buffer<ffi::F32>;
using F32Out = ffi::ResultBuffer<ffi::F32>;
using Count = ffi::Result<ffi::BufferR0<ffi::S64>>;

// ---- arithmetic ----

ffi::Error Scale(F32 x, F32Out y, float factor) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    y->typed_data()[i] = x.typed_data()[i] * factor;
  }
  return {};
}
FARCALL_DEFINE_HANDLER(scale, Scale, "factor");

// Adds one to the result's memory, which an alias has filled; without one it holds anything.
ffi::Error AddOneInPlace(ffi::AnyBuffer, F32Out y) {
  for (size_t i = 0; i < y->element_count(); ++i) y->typed_data()[i] += 1;
  return {};
}
FARCALL_DEFINE_HANDLER(add_one_in_place, AddOneInPlace);

ffi::Error SumAndDifference(F32 x, F32 y, F32Out sum, F32Out difference) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    sum->typed_data()[i] = x.typed_data()[i] + y.typed_data()[i];
    difference->typed_data()[i] = x.typed_data()[i] - y.typed_data()[i];
  }
  return {};
}
FARCALL_DEFINE_HANDLER(sum_and_difference, SumAndDifference);

// ---- any buffers ----

// Each argument to the result of the same place, byte by byte.
ffi::Error CopyAll(ffi::RemainingArgs args, ffi::RemainingRets rets) {
  if (rets.size() != args.size()) return ffi::Error::InvalidArgument("as many results, please");
  for (size_t i = 0; i < args.size(); ++i) {
    auto in = args.get<ffi::AnyBuffer>(i);
    auto out = rets.get<ffi::AnyBuffer>(i);
    if (!in || !out) return ffi::Error::Internal("no buffer");
    if (in->size_bytes() != (*out)->size_bytes())
      return ffi::Error::InvalidArgument("sizes differ");
    if (in->size_bytes() > 0) {
      std::memcpy((*out)->untyped_data(), in->untyped_data(), in->size_bytes());
    }
  }
  return {};
}
FARCALL_DEFINE_HANDLER(copy_all, CopyAll);

// The order in which the elements of a matrix lie in memory.
ffi::Error MemoryOrder(F32 x, ffi::Result<ffi::Buffer<ffi::F32, 1>> y) {
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  return {};
}
FARCALL_DEFINE_HANDLER(memory_order, MemoryOrder);

// 0, 1, 2, … in the order of the result's memory.
ffi::Error FillInMemoryOrder(F32Out y) {
  for (size_t i = 0; i < y->element_count(); ++i) y->typed_data()[i] = static_cast<float>(i);
  return {};
}
FARCALL_DEFINE_HANDLER(fill_in_memory_order, FillInMemoryOrder);

ffi::Error Address(ffi::AnyBuffer x, Count y) {
  *y->typed_data() = static_cast<int64_t>(reinterpret_cast<intptr_t>(x.untyped_data()));
  return {};
}
FARCALL_DEFINE_HANDLER(address, Address);

// ---- attributes ----

// What came, as text: "name=kind:value " for each attribute, in the order of the call.
static std::string describe(const ffi::Dictionary& attributes) {
  std::string text;
  for (auto it = attributes.begin(); it != attributes.end(); ++it) {
    const auto number = [&](const char* kind, auto sample) {
      using T = decltype(sample);
      if (attributes.isa<T>(it)) {
        const T value = *attributes.get<T>(it);
        text += std::string(kind) + ":" + std::to_string(value) + " ";
      }
      if (attributes.isa<ffi::Span<const T>>(it)) {
        const auto values = *attributes.get<ffi::Span<const T>>(it);
        text += std::string(kind) + "[" + std::to_string(values.size()) + "]:";
        for (const T value : values) text += std::to_string(value) + ",";
        text += " ";
      }
    };
    text += std::string(*it) + "=";
    number("pred", bool());
    number("s8", int8_t());
    number("s16", int16_t());
    number("s32", int32_t());
    number("s64", int64_t());
    number("u8", uint8_t());
    number("u16", uint16_t());
    number("u32", uint32_t());
    number("u64", uint64_t());
    number("f32", float());
    number("f64", double());
    if (attributes.isa<std::complex<float>>(it)) {
      const auto value = *attributes.get<std::complex<float>>(it);
      text += "c64:" + std::to_string(value.real()) + "," + std::to_string(value.imag()) + " ";
    }
    if (attributes.isa<std::complex<double>>(it)) {
      const auto value = *attributes.get<std::complex<double>>(it);
      text += "c128:" + std::to_string(value.real()) + "," + std::to_string(value.imag()) + " ";
    }
    if (attributes.isa<std::string_view>(it)) {
      text += "str:" + std::string(*attributes.get<std::string_view>(it)) + " ";
    }
    if (attributes.isa<ffi::Dictionary>(it)) {
      text += "{" + describe(*attributes.get<ffi::Dictionary>(it)) + "} ";
    }
    if (text.back() == '=') text += "? ";
  }
  return text;
}

ffi::Error Describe(ffi::Dictionary attributes, ffi::Result<ffi::Buffer<ffi::U8, 1>> out) {
  std::string text = describe(attributes);
  text.resize(out->element_count(), ' ');
  std::memcpy(out->typed_data(), text.data(), text.size());
  return {};
}
FARCALL_DEFINE_HANDLER(describe_attributes, Describe, ffi::all_attributes);

ffi::Error WantsMany(F32 x, F32Out, float factor, int64_t axis, std::string_view mode) {
  (void)x, (void)factor, (void)axis, (void)mode;
  return {};
}
FARCALL_DEFINE_HANDLER(wants_many, WantsMany, "factor", "axis", "mode");

// ---- counting ----

static std::atomic<int64_t> calls{0};
EXPORT int64_t num_calls() { return calls; }

ffi::Error CountCalls(Count out) {
  *out->typed_data() = ++calls;
  return {};
}
FARCALL_DEFINE_HANDLER(count_calls, CountCalls);

static std::atomic<int64_t> made{0}, alive{0};
struct State {
  explicit State(int64_t start) : next(start) { ++made, ++alive; }
  ~State() { --alive; }
  std::atomic<int64_t> next;
};
EXPORT int64_t num_states_made() { return made; }
EXPORT int64_t num_states_alive() { return alive; }

ffi::ErrorOr<std::unique_ptr<State>> Instantiate(int64_t start) {
  if (start < 0) return ffi::Error::InvalidArgument("start is negative");
  return std::make_unique<State>(start);
}
FARCALL_DEFINE_HANDLER(counter_instantiate, Instantiate, ffi::kInstantiate, "start");

ffi::Error CountOn(ffi::State<State> state, Count out) {
  *out->typed_data() = state->next++;
  return {};
}
FARCALL_DEFINE_HANDLER(counter, CountOn);

// ---- scratch ----

// Twice what it is asked for, in two blocks.
ffi::Error TakesScratch(ffi::ScratchAllocator scratch, int64_t size, Count out) {
  *out->typed_data() = 0;
  for (int i = 0; i < 2; ++i) {
    ffi::ErrorOr<void*> memory = scratch.try_allocate(static_cast<size_t>(size));
    if (memory.has_error()) return std::move(memory).error();
    *out->typed_data() += size;
  }
  return {};
}
FARCALL_DEFINE_HANDLER(takes_scratch, TakesScratch, "size");

// ---- memory ----

// Copies all elements but the last `skip`, and changes the byte at `offset` of an operand; "" is
// none.
ffi::Error Misbehaves(F32 x, F32Out y, ffi::ScratchAllocator scratch, std::string_view where,
                      int64_t offset, int64_t skip) {
  ffi::ErrorOr<void*> block = scratch.try_allocate(64);
  if (block.has_error()) return std::move(block).error();
  const size_t kept = x.element_count() - static_cast<size_t>(skip);
  std::memmove(y->typed_data(), x.typed_data(), kept * sizeof(float));
  auto* memory = static_cast<unsigned char*>(where == "argument" ? x.untyped_data()
                                             : where == "result" ? y->untyped_data()
                                                                 : *block);
  if (!where.empty()) memory[offset] ^= 1;
  return {};
}
FARCALL_DEFINE_HANDLER(misbehaves, Misbehaves, "where", "offset", "skip");

// ---- tokens ----

ffi::Error TokenIn(ffi::Token, F32 x, F32Out y) {
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  return {};
}
FARCALL_DEFINE_HANDLER(token_in, TokenIn);

// ---- failing ----

ffi::Error Fail(ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer>, int64_t code, std::string_view text) {
  return ffi::Error(static_cast<ffi::ErrorCode>(code), std::string(text));
}
FARCALL_DEFINE_HANDLER(fail, Fail, "code", "text");

ffi::Error Throw(ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer>) {
  throw std::runtime_error("the sky fell");
}
FARCALL_DEFINE_HANDLER(throws, Throw);

ffi::Error ThrowNumber(ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer>) { throw 42; }
FARCALL_DEFINE_HANDLER(throws_number, ThrowNumber);

// Fails where the first element is negative.
ffi::Error NotNegative(F32 x, F32Out y) {
  if (x.typed_data()[0] < 0) return ffi::Error(ffi::ErrorCode::kOutOfRange, "x is negative");
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  return {};
}
FARCALL_DEFINE_HANDLER(not_negative, NotNegative);

// ---- time ----

ffi::Error Sleep(F32 x, F32Out y, int64_t milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  return {};
}
FARCALL_DEFINE_HANDLER(sleep_for, Sleep, "milliseconds");

// ---- untyped functions ----

struct XlaCustomCallStatus;
// Given by whoever loads the library.
extern "C" void XlaCustomCallStatusSetFailure(XlaCustomCallStatus* status, const char* message,
                                              size_t message_length);

EXPORT void untyped_add(float* out, const float** in) { out[0] = in[0][0] + in[1][0]; }
EXPORT void untyped_invert(float* out, const float** in, XlaCustomCallStatus* status) {
  constexpr std::string_view kText = "division by zero";
  if (in[0][0] == 0) return XlaCustomCallStatusSetFailure(status, kText.data(), kText.size());
  out[0] = 1 / in[0][0];
}
// Writes the length of its opaque string.
EXPORT void untyped_length(float* out, const float**, const char*, size_t size,
                           XlaCustomCallStatus*) {
  out[0] = static_cast<float>(size);
}

// ---- a handler of an interface that does not exist yet ----

EXPORT FARCALL_FFI_Error* from_the_future(FARCALL_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr &&
      frame->extension_start->type == FARCALL_FFI_Extension_Metadata) {
    auto* extension = reinterpret_cast<FARCALL_FFI_Metadata_Extension*>(frame->extension_start);
    extension->metadata->api_version.major_version = 7;
    extension->metadata->api_version.minor_version = 3;
  }
  return nullptr;
}
