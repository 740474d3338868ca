// Running executables from Python, for jitted and eager calls.
#pragma once

#include <Python.h>

#include <span>
#include <vector>

#include <farcall/core/storage_array.h>
#include <farcall/program/engine.h>

#include "array_object.h"
#include "interpreter_lock.h"
#include "memory_in_use.h"

namespace farcall::python {

inline constexpr size_t kMaxFastArguments = 8;

inline const ExecutionOptions kNoOptions;

// Runs without the interpreter lock, unless the program is so short that releasing it would cost
// more than it gains. The caller holds the lock.
inline void execute(const Executable& executable, std::span<const Storage* const> inputs,
                    std::span<Storage> outputs, const ExecutionOptions& options = kNoOptions) {
  if (executable.may_keep_lock()) {
    const LockedRun run;
    executable.execute(inputs, outputs, options);
    return;
  }
  const InputReferences references(executable, inputs);
  const WithoutLock without_lock;
  executable.execute(inputs, outputs, options);
}

// Collects the storages of the arguments; returns false unless all are concrete arrays.
inline bool collect(PyObject* const* args, size_t nargs, const Storage** storages) {
  for (size_t i = 0; i < nargs; ++i) {
    if (!is_array(args[i])) return false;
    storages[i] = array_of(args[i]).node().storage();
    if (!storages[i]) return false;
  }
  return true;
}

// The container of the results, if it is at most one level deep.
enum class ResultForm : uint8_t { kSingle, kTuple, kList, kTree };

// Wraps the results that `make(i)` returns, for any form except kTree. A new reference, or null
// with an error.
template <class Make>
PyObject* wrap_results(ResultForm form, size_t count, const Make& make) {
  if (form == ResultForm::kSingle) return wrap(make(0));
  const auto size = static_cast<Py_ssize_t>(count);
  PyObject* container = form == ResultForm::kTuple ? PyTuple_New(size) : PyList_New(size);
  if (!container) return nullptr;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* item = wrap(make(static_cast<size_t>(i)));
    if (!item) {
      Py_DECREF(container);
      return nullptr;
    }
    if (form == ResultForm::kTuple) {
      PyTuple_SET_ITEM(container, i, item);
    } else {
      PyList_SET_ITEM(container, i, item);
    }
  }
  return container;
}

inline PyObject* wrap_results(ResultForm form, std::span<const ShapeDtype> types,
                              StorageArray& outputs) {
  return wrap_results(form, types.size(),
                      [&](size_t i) { return Array(types[i], std::move(outputs[i])); });
}

}  // namespace farcall::python
