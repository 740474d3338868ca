// The extension module.
#include <dlfcn.h>

#include <farcall/core/error.h>
#include <farcall/version.h>

#include "argument_errors.h"
#include "array_object.h"
#include "bind.h"
#include "convert.h"
#include "documented_function.h"
#include "errors.h"
#include "ffi_call_object.h"
#include "jit_object.h"
#include "location.h"
#include "tangents.h"
#include "tree.h"

namespace {

// Untyped handlers report failure through functions that the process must export. Python loads
// extensions with local symbols, so this makes the library's symbols global.
void export_library_symbols() {
  Dl_info info;
  void* address = reinterpret_cast<void*>(
      static_cast<std::string_view (*)(farcall::ErrorCode)>(farcall::error_code_name));
  if (dladdr(address, &info)) dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

}  // namespace

NB_MODULE(_core, module) {
  using namespace farcall::python;
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = FARCALL_VERSION;
  export_library_symbols();
  nanobind::module_ config = module.def_submodule("config");
  bind_config(config);
  nanobind::module_ devices = module.def_submodule("devices");
  bind_dtypes(module);
  bind_errors(module);
  bind_array_type(module);
  bind_documented_function(module);
  bind_arrays(module);
  bind_devices(module, devices);
  bind_shape_dtype(module);
  bind_tree(module);
  bind_program(module);
  bind_report(module);
  bind_profile(module);
  bind_update_wrapper(module);
  bind_jit(module);
  nanobind::module_ transforms = module.def_submodule("transforms");
  bind_tangents(transforms);
  bind_vmap(transforms);
  bind_derivatives(transforms);
  bind_jacobians(transforms);
  bind_caches(module);
  bind_checkpoint(transforms);
  bind_custom_rules(transforms);
  bind_closures(transforms);
  nanobind::module_ testing = module.def_submodule("testing");
  bind_testing(testing);
  nanobind::module_ sharding = module.def_submodule("sharding");
  bind_sharding(sharding);
  nanobind::module_ lax = module.def_submodule("lax");
  bind_lax(lax);
  nanobind::module_ control_flow = module.def_submodule("control_flow");
  bind_control_flow(control_flow);
  bind_linear_functions(control_flow);
  bind_collectives(control_flow);
  bind_convolutions(lax);
  bind_lax_arrays(lax);
  nanobind::module_ linalg = module.def_submodule("linalg");
  bind_linalg(linalg);
  bind_lax_indexing(lax);
  nanobind::module_ random = module.def_submodule("random");
  bind_random(random);
  nanobind::module_ numpy = module.def_submodule("numpy");
  bind_numpy(numpy);
  bind_numpy_arrays(numpy);
  bind_numpy_indexing(numpy);
  bind_numpy_made(numpy);
  bind_numpy_elementwise(numpy);
  bind_numpy_order(numpy);
  bind_numpy_places(numpy);
  bind_numpy_products(numpy);
  bind_numpy_ranges(numpy);
  bind_numpy_reductions(numpy);
  bind_numpy_shapes(numpy);
  nanobind::module_ numpy_linalg = module.def_submodule("numpy_linalg");
  bind_numpy_linalg(numpy_linalg);
  nanobind::module_ scipy_linalg = module.def_submodule("scipy_linalg");
  bind_scipy_linalg(scipy_linalg);
  nanobind::module_ signal = module.def_submodule("signal");
  bind_signal(signal);
  nanobind::module_ fft = module.def_submodule("fft");
  bind_fft(fft);
  nanobind::module_ scipy_fft = module.def_submodule("scipy_fft");
  bind_scipy_fft(scipy_fft);
  nanobind::module_ sparse = module.def_submodule("sparse");
  bind_sparse(sparse);
  nanobind::module_ special = module.def_submodule("special");
  bind_special(special);
  nanobind::module_ stats = module.def_submodule("stats");
  bind_stats(stats);
  nanobind::module_ image = module.def_submodule("image");
  bind_image(image);
  nanobind::module_ nn = module.def_submodule("nn");
  bind_nn(nn);
  bind_segments(nn);
  nanobind::module_ ffi = module.def_submodule("ffi");
  bind_ffi(ffi);
  bind_define(ffi);
  nanobind::module_ exchange = module.def_submodule("exchange");
  bind_exchange(exchange);
  nanobind::module_ callbacks = module.def_submodule("callbacks");
  bind_callbacks(callbacks);
  bind_ffi_call(ffi);
  nanobind::module_ distributed = module.def_submodule("distributed");
  bind_distributed(distributed);
  bind_location(module);
  explain_argument_errors(module);
}
