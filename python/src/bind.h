// The parts of the module, one file each.
#pragma once

#include <nanobind/nanobind.h>

namespace farcall::python {

namespace nb = nanobind;
using namespace nanobind::literals;

void bind_arrays(nb::module_& module);            // conversions for the Python side of Array
void bind_callbacks(nb::module_& module);         // callbacks and their buffers
void bind_caches(nb::module_& module);            // contents and limits of caches
void bind_checkpoint(nb::module_& module);        // checkpoint, named calls
void bind_collectives(nb::module_& module);       // psum and other collectives
void bind_config(nb::module_& module);            // flags
void bind_control_flow(nb::module_& module);      // loops and branches
void bind_linear_functions(nb::module_& module);  // and roots
void bind_custom_rules(nb::module_& module);      // custom_jvp, custom_vjp, custom_vmap
void bind_define(nb::module_& module);            // definitions of targets
void bind_derivatives(nb::module_& module);       // jvp, vjp, linearize, grad
void bind_exchange(nb::module_& module);          // export of programs to other libraries
void bind_ffi(nb::module_& module);               // registration of targets and types
void bind_fft(nb::module_& module);               // Fourier transforms
void bind_image(nb::module_& module);             // images
void bind_jacobians(nb::module_& module);         // jacfwd, jacrev
void bind_lax(nb::module_& module);               // the primitives as functions
void bind_convolutions(nb::module_& module);      // convolutions
void bind_lax_arrays(nb::module_& module);        // operations along dimensions, windows, shapes
void bind_lax_indexing(nb::module_& module);      // gather, scatter, dynamic slices
void bind_linalg(nb::module_& module);            // linear algebra
void bind_closures(nb::module_& module);
void bind_sharding(nb::module_& module);
void bind_nn(nb::module_& module);                 // neural network functions
void bind_numpy(nb::module_& module);              // numpy's functions
void bind_numpy_arrays(nb::module_& module);       // sorting, splitting, products
void bind_numpy_elementwise(nb::module_& module);  // elementwise functions
void bind_numpy_indexing(nb::module_& module);     // indexing with arrays
void bind_numpy_made(nb::module_& module);         // windows, matrices, grids, polynomials
void bind_numpy_linalg(nb::module_& module);       // linear algebra with promotion
void bind_numpy_order(nb::module_& module);        // order, quantiles, neighbours
void bind_numpy_places(nb::module_& module);       // indices, selection, insertion
void bind_numpy_products(nb::module_& module);     // products
void bind_numpy_ranges(nb::module_& module);       // ranges
void bind_numpy_reductions(nb::module_& module);   // reductions
void bind_numpy_shapes(nb::module_& module);       // shapes, joining
void bind_program(nb::module_& module);            // Program and its text
void bind_random(nb::module_& module);             // random numbers
void bind_profile(nb::module_& module);            // profiles of runs
void bind_report(nb::module_& module);             // reports of compiled foreign calls
void bind_segments(nb::module_& module);           // segment reductions, trees as vectors
void bind_shape_dtype(nb::module_& module);        // ShapeDtypeStruct
void bind_scipy_fft(nb::module_& module);          // cosine transforms
void bind_scipy_linalg(nb::module_& module);       // linear algebra with scipy's names
void bind_signal(nb::module_& module);             // signal processing
void bind_sparse(nb::module_& module);             // iterative solvers
void bind_special(nb::module_& module);            // special functions
void bind_stats(nb::module_& module);              // distributions
void bind_testing(nb::module_& module);            // checks of derivatives and of batching
void bind_update_wrapper(nb::module_& module);     // attributes of wrapped functions
void bind_vmap(nb::module_& module);               // vmap
// Device, and functions of devices and of arrays' placement.
void bind_devices(nb::module_& module, nb::module_& functions);
void bind_distributed(nanobind::module_& module);

}  // namespace farcall::python
