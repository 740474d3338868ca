// The arguments of buffer callbacks: farcall.Buffer and farcall.ExecutionContext.
//
// A Buffer is a view of the program's memory and is valid until its callback returns. Views taken
// from it are counted. If some outlive the callback, the memory is kept for them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include <farcall/ffi/callback.h>

namespace farcall::python {

namespace nb = nanobind;

// New references; raise if out of memory. `callback`, a str, is for messages.
nb::object make_buffer(const Buffer& buffer, bool is_writeable, nb::handle callback);
nb::object make_execution_context(const ExecutionContext& context);

bool is_buffer(nb::handle object);
// True if a numpy array is a view of a Buffer. Its memory may change, unlike that of an Array.
bool shows_buffer(PyObject* numpy_array);

// True if anyone has taken a view of the Buffer or its address. If not, a result was not written.
bool was_seen(nb::handle buffer);

// Ends the use of the Buffer: further access raises. Returns true if views of it remain.
bool close_buffer(nb::handle buffer);
// Keeps the memory for the remaining views.
void keep_memory(nb::handle buffer, std::shared_ptr<const void> memory);

// Adds Buffer, ExecutionContext and ExecutionStage.
void bind_buffers(nb::module_& module);

}  // namespace farcall::python
