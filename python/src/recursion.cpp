#include "recursion.h"

#include <nanobind/nanobind.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace farcall::python {
namespace {

constexpr size_t kReserve = 512 << 10;  // for the calls of the last level

uintptr_t lowest_of(uintptr_t stack, size_t size) { return stack + std::min(kReserve, size / 2); }

// The lowest stack address that the main thread may use, without pthread_getattr_np, which parses
// /proc/self/maps there: half a millisecond. The kernel puts the name of the program at the top of
// the stack.
uintptr_t lowest_address_of_main_thread() {
  rlimit limit;
  const uintptr_t top = getauxval(AT_EXECFN);
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= top) return 0;
  const uintptr_t stack = top - limit.rlim_cur;
  return here > stack && here < top ? lowest_of(stack, limit.rlim_cur) : 0;
}

// The lowest stack address that this thread may use; 0 if unknown.
uintptr_t lowest_address() {
  if (gettid() == getpid()) {
    if (const uintptr_t found = lowest_address_of_main_thread()) return found;
  }
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* stack = nullptr;
  size_t size = 0;
  const int failed = pthread_attr_getstack(&attributes, &stack, &size);
  pthread_attr_destroy(&attributes);
  return failed != 0 ? 0 : lowest_of(reinterpret_cast<uintptr_t>(stack), size);
}

bool is_stack_used_up() {
  static thread_local const uintptr_t lowest = lowest_address();
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) < lowest;
}

}  // namespace

Recursion::Recursion(const char* where) {
  if (Py_EnterRecursiveCall(where)) nanobind::raise_python_error();
  if (!is_stack_used_up()) return;
  Py_LeaveRecursiveCall();
  PyErr_Format(PyExc_RecursionError, "the stack of this thread is exhausted%s", where);
  nanobind::raise_python_error();
}

Recursion::~Recursion() { Py_LeaveRecursiveCall(); }

}  // namespace farcall::python
