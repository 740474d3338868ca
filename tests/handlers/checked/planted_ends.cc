// Handlers with one defect each, written with farcall/ffi.h: they end the process, do not end
// themselves, or fail without a proper error. check_test.cpp tells which.
#undef NDEBUG
#include <unistd.h>

#include <cassert>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using S32 = ffi::Buffer<ffi::S32>;
using Out = ffi::Result<F32>;

// A compiler that sees the defect may remove it.
#define OPAQUE(value) asm volatile("" : "+r"(value))

static void copy(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i];
}

static void null_pointer(F32 x, Out y) {
  copy(x, y);
  int* nothing = nullptr;
  OPAQUE(nothing);
  if (x.element_count() > 2) *nothing = 1;
}
FARCALL_DEFINE_HANDLER(null_pointer, null_pointer);

// The mean of no elements.
static void divides_by_size(S32 x, ffi::Result<ffi::BufferR0<ffi::S32>> mean) {
  int32_t sum = 0;
  for (size_t i = 0; i < x.element_count(); ++i) sum += x.typed_data()[i];
  auto count = static_cast<int32_t>(x.element_count());
  OPAQUE(count);
  *mean->typed_data() = sum / count;
}
FARCALL_DEFINE_HANDLER(divides_by_size, divides_by_size);

static void divides_by_value(S32 x, ffi::Result<S32> y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = 1000 / x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(divides_by_value, divides_by_value);

static int deep(int n) {
  volatile char local[4096];
  local[0] = static_cast<char>(n);
  return n == 0 ? 0 : deep(n - 1) + local[0];
}
static void recurses(F32 x, Out y) {
  copy(x, y);
  if (x.element_count() > 60) y->typed_data()[0] = static_cast<float>(deep(1 << 20));
}
FARCALL_DEFINE_HANDLER(recurses, recurses);

static void aborts(F32 x, Out y) {
  copy(x, y);
  if (x.element_count() == 1) std::abort();
}
FARCALL_DEFINE_HANDLER(aborts, aborts);

static void frees_twice(F32 x, Out y) {
  auto* block = new float[x.element_count() + 1];
  copy(x, y);
  for (int i = 0; i < (x.element_count() == 4 ? 2 : 1); ++i) {
    OPAQUE(block);
    delete[] block;
  }
}
FARCALL_DEFINE_HANDLER(frees_twice, frees_twice);

static void asserts(F32 x, Out y) {
  copy(x, y);
  assert(x.element_count() % 2 == 0 && "rows come in pairs");
}
FARCALL_DEFINE_HANDLER(asserts, asserts);

// The copy of the process goes on with the calls.
static void forks(F32 x, Out y) {
  static const pid_t first_process = getpid();
  static int num_forks = 0;
  copy(x, y);
  if (x.element_count() == 9 && getpid() == first_process && ++num_forks <= 2) (void)fork();
}
FARCALL_DEFINE_HANDLER(forks, forks);

static void exits(F32 x, Out y) {
  copy(x, y);
  if (x.element_count() > 16) std::exit(0);
}
FARCALL_DEFINE_HANDLER(exits, exits);

ffi::Error exits_at_once(F32 x, Out y) {
  copy(x, y);
  if (x.element_count() == 17) _exit(0);
  return {};
}
FARCALL_DEFINE_HANDLER(exits_at_once, exits_at_once);

static void throws_in_noexcept(F32 x, Out y) noexcept {
  copy(x, y);
  if (x.element_count() == 0) throw std::runtime_error("empty");
}
static void terminates(F32 x, Out y) { throws_in_noexcept(x, y); }
FARCALL_DEFINE_HANDLER(terminates, terminates);

static void hangs(F32 x, Out y) {
  copy(x, y);
  while (x.element_count() == 1) asm volatile("");
}
FARCALL_DEFINE_HANDLER(hangs, hangs);

static ffi::Future never_done(F32 x, Out y) {
  copy(x, y);
  static auto* promises = new std::vector<ffi::Promise>;  // kept, and never set
  ffi::Promise promise;
  promises->push_back(promise);
  return ffi::Future(promise);
}
FARCALL_DEFINE_HANDLER(never_done, never_done);

static void throws(F32 x, Out y) {
  copy(x, y);
  std::vector<float> few(4);
  if (x.element_count() > 4) y->typed_data()[0] = few.at(x.element_count());
}
FARCALL_DEFINE_HANDLER(throws, throws);

struct Odd {};
static void throws_odd(F32 x, Out y) {
  copy(x, y);
  if (x.element_count() == 0) throw Odd();
}
FARCALL_DEFINE_HANDLER(throws_odd, throws_odd);

static ffi::Error silent(F32 x, Out y) {
  copy(x, y);
  if (x.element_count() == 0) return ffi::Error(ffi::ErrorCode::kInvalidArgument, "");
  return {};
}
FARCALL_DEFINE_HANDLER(silent, silent);
