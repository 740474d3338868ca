// The numpy arrays that a function under transformation closes over.
#pragma once

#include <Python.h>

#include <farcall/trace/array.h>

namespace farcall::python {

// While one is open on this thread, a numpy array that is met again with the same contents is the
// same Array, so that a program has one constant of it. All is forgotten when the outermost ends.
class KnownArraysScope {
 public:
  KnownArraysScope();
  ~KnownArraysScope();
  KnownArraysScope(const KnownArraysScope&) = delete;
  KnownArraysScope& operator=(const KnownArraysScope&) = delete;
};

// `array`, a copy of the numpy array's contents, or the one that was made of it before.
Array known_array(PyObject* numpy_array, Array array);

}  // namespace farcall::python
