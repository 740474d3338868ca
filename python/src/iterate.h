// Iteration over user objects, which may be endless or change meanwhile.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

namespace farcall::python {

namespace nb = nanobind;

// The maximal length of lists of sizes and operands. A longer one is assumed to be an endless
// sequence that was passed by mistake.
inline constexpr size_t kMaxItems = size_t{1} << 20;

// Calls `visit` with each item until it returns false, like `for item in iterable`. Holds a
// reference to the item during the call. Ctrl-C interrupts it.
template <class Visit>
void for_each_item(nb::handle iterable, Visit&& visit) {
  constexpr size_t kItemsBetweenSignals = 4096;
  const nb::object held = nb::borrow(iterable);
  PyObject* const all = held.ptr();
  // Without an iterator, which would take longer than most visits.
  const bool is_plain = PyTuple_CheckExact(all) || PyList_CheckExact(all);
  const nb::object iterator = is_plain ? nb::object() : nb::steal(PyObject_GetIter(all));
  if (!is_plain && !iterator.is_valid()) nb::raise_python_error();
  const auto next = [&](Py_ssize_t i) {
    if (!is_plain) return nb::steal(PyIter_Next(iterator.ptr()));
    return nb::borrow(i < PySequence_Fast_GET_SIZE(all) ? PySequence_Fast_GET_ITEM(all, i)
                                                        : nullptr);
  };
  for (size_t count = 1;; ++count) {
    nb::object item = next(static_cast<Py_ssize_t>(count) - 1);
    if (!item.is_valid()) break;
    if (!visit(std::move(item))) return;
    if (count % kItemsBetweenSignals == 0 && PyErr_CheckSignals() != 0) nb::raise_python_error();
  }
  if (PyErr_Occurred()) nb::raise_python_error();
}

}  // namespace farcall::python
