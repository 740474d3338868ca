// Acquiring and releasing the interpreter lock. A thread that requests it while the process ends
// sleeps; see ended_threads.cpp.
#pragma once

#include <Python.h>

#include <memory>
#include <utility>

namespace farcall::python {

// Acquires the lock; the thread may hold it already.
class WithLock {
 public:
  WithLock() : state_(PyGILState_Ensure()) {}
  ~WithLock() { PyGILState_Release(state_); }
  WithLock(const WithLock&) = delete;
  WithLock& operator=(const WithLock&) = delete;

 private:
  PyGILState_STATE state_;
};

// For releases on arbitrary threads: runs `python` with the lock, or not at all if the interpreter
// and its objects are gone.
template <class F>
void with_interpreter(F&& python) {
  if (!Py_IsInitialized()) return;
  const WithLock lock;
  python();
}

// A shared object with Python references, which may be released on any thread.
template <class T>
std::shared_ptr<T> share(T value) {
  return std::shared_ptr<T>(new T(std::move(value)),
                            [](T* object) { with_interpreter([object] { delete object; }); });
}

// Releases the lock, which the thread must hold.
class WithoutLock {
 public:
  WithoutLock() : state_(PyEval_SaveThread()) {}
  ~WithoutLock() { PyEval_RestoreThread(state_); }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace farcall::python
