#include "recursion.h"

#include <nanobind/nanobind.h>
#include <pthread.h>

#include <algorithm>
#include <cstdint>

namespace farcall::python {
namespace {

// The lowest stack address that this thread may use; 0 if unknown.
uintptr_t lowest_address() {
  constexpr size_t kReserve = 512 << 10;  // for the calls of the last level
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* stack = nullptr;
  size_t size = 0;
  const int failed = pthread_attr_getstack(&attributes, &stack, &size);
  pthread_attr_destroy(&attributes);
  if (failed != 0) return 0;
  return reinterpret_cast<uintptr_t>(stack) + std::min(kReserve, size / 2);
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
