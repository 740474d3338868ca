// The numpy arrays that a traced function closes over.
#pragma once

#include <Python.h>

#include <farcall/trace/array.h>

namespace farcall::python {

// While a scope is open on this thread, a numpy array that occurs again with the same contents
// becomes the same Array, so that a program has one constant for it. The outermost scope clears the
// table.
class KnownArraysScope {
 public:
  KnownArraysScope();
  ~KnownArraysScope();
  KnownArraysScope(const KnownArraysScope&) = delete;
  KnownArraysScope& operator=(const KnownArraysScope&) = delete;
};

// Returns `array`, a copy of the numpy array's contents, or the earlier copy if the contents are
// equal.
Array known_array(PyObject* numpy_array, Array array);

}  // namespace farcall::python
