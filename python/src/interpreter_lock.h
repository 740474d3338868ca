// Taking and dropping the interpreter lock, also while the process ends.
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

namespace farcall::python {

// Python before 3.14 ends a daemon thread that wants the lock when the interpreter is gone, by
// unwinding it: through destructors that would use the interpreter, and that may not throw. Such a
// thread sleeps instead, until the process has ended.
template <class F>
auto or_sleep_at_exit(F&& python) {
#ifdef __GLIBCXX__
  try {
    return python();
  } catch (const abi::__forced_unwind&) {
    for (;;) pause();
  }
#else
  return python();
#endif
}

// For a thread that may hold the lock already.
class WithLock {
 public:
  WithLock() : state_(or_sleep_at_exit(PyGILState_Ensure)) {}
  ~WithLock() { PyGILState_Release(state_); }
  WithLock(const WithLock&) = delete;
  WithLock& operator=(const WithLock&) = delete;

 private:
  PyGILState_STATE state_;
};

// For a thread that holds the lock.
class WithoutLock {
 public:
  WithoutLock() : state_(PyEval_SaveThread()) {}
  ~WithoutLock() {
    or_sleep_at_exit([this] { PyEval_RestoreThread(state_); });
  }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace farcall::python
