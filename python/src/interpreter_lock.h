// Taking and dropping the interpreter lock. A thread that wants it while the process ends sleeps;
// see ended_threads.cpp.
#pragma once

#include <Python.h>

#include <memory>
#include <utility>

namespace farcall::python {

// For a thread that may hold the lock already.
class WithLock {
 public:
  WithLock() : state_(PyGILState_Ensure()) {}
  ~WithLock() { PyGILState_Release(state_); }
  WithLock(const WithLock&) = delete;
  WithLock& operator=(const WithLock&) = delete;

 private:
  PyGILState_STATE state_;
};

// For what threads of any kind let go of: runs `python` with the lock, or not at all where the
// interpreter has gone, and everything that it owned with it.
template <class F>
void with_interpreter(F&& python) {
  if (!Py_IsInitialized()) return;
  const WithLock lock;
  python();
}

// A shared object with Python references in it, which may die on any thread.
template <class T>
std::shared_ptr<T> share(T value) {
  return std::shared_ptr<T>(new T(std::move(value)),
                            [](T* object) { with_interpreter([object] { delete object; }); });
}

// For a thread that holds the lock.
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
