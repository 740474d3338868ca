// Walking over what users hand in, which may be endless or change under way.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

namespace farcall::python {

namespace nb = nanobind;

// What lists of sizes and of operands may hold. More is taken for a mistake: an endless sequence.
inline constexpr size_t kMaxItems = size_t{1} << 20;

// Calls `visit` with each item while `visit` is true, as `for item in iterable` does. Holds the
// item meanwhile. Ctrl-C ends it.
template <class Visit>
void for_each_item(nb::handle iterable, Visit&& visit) {
  constexpr size_t kItemsBetweenSignals = 4096;
  nb::object iterator = nb::steal(PyObject_GetIter(iterable.ptr()));
  if (!iterator.is_valid()) nb::raise_python_error();
  for (size_t count = 1;; ++count) {
    nb::object item = nb::steal(PyIter_Next(iterator.ptr()));
    if (!item.is_valid()) break;
    if (!visit(std::move(item))) return;
    if (count % kItemsBetweenSignals == 0 && PyErr_CheckSignals() != 0) nb::raise_python_error();
  }
  if (PyErr_Occurred()) nb::raise_python_error();
}

}  // namespace farcall::python
