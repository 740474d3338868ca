// What a buffer callback is handed: farcall.Buffer and farcall.ExecutionContext.
//
// A Buffer is a view of the program's own memory and serves until its callback returns. Views that
// others take from it are counted; where some outlive the callback, the memory is kept for them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include <farcall/ffi/callback.h>

namespace farcall::python {

namespace nb = nanobind;

// New references; raise when there is no memory. `callback` is a str for messages.
nb::object make_buffer(const Buffer& buffer, bool is_writeable, nb::handle callback);
nb::object make_execution_context(const ExecutionContext& context);

bool is_buffer(nb::handle object);
// Whether a numpy array shows the memory of a Buffer, which may change while arrays may not.
bool shows_buffer(PyObject* numpy_array);

// Whether anybody has taken a view of the Buffer or asked for its address. A result of which nobody
// has was not written.
bool was_seen(nb::handle buffer);

// The callback is over: the Buffer raises from now on. True when there are views of it left.
bool close_buffer(nb::handle buffer);
// The memory of those views.
void keep_memory(nb::handle buffer, std::shared_ptr<const void> memory);

// Adds Buffer, ExecutionContext and ExecutionStage.
void bind_buffers(nb::module_& module);

}  // namespace farcall::python
