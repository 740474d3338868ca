// The extension module: everything that Python sees of the core.
#include <dlfcn.h>

#include <farcall/core/error.h>
#include <farcall/version.h>

#include "array_object.h"
#include "bind.h"
#include "convert.h"
#include "errors.h"
#include "ffi_call_object.h"
#include "jit_object.h"
#include "location.h"
#include "tangents.h"
#include "tree.h"

namespace {

// Untyped handlers report failure through functions that they expect the process to export. Python
// loads extensions privately, so the library is made global here.
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
  bind_dtypes(module);
  bind_errors(module);
  bind_array_type(module);
  bind_arrays(module);
  bind_shape_dtype(module);
  bind_tree(module);
  bind_program(module);
  bind_jit(module);
  nanobind::module_ transforms = module.def_submodule("transforms");
  bind_tangents(transforms);
  bind_vmap(transforms);
  bind_derivatives(transforms);
  bind_jacobians(transforms);
  bind_checkpoint(transforms);
  bind_custom_rules(transforms);
  nanobind::module_ lax = module.def_submodule("lax");
  bind_lax(lax);
  nanobind::module_ control_flow = module.def_submodule("control_flow");
  bind_control_flow(control_flow);
  bind_collectives(control_flow);
  bind_lax_arrays(lax);
  nanobind::module_ linalg = module.def_submodule("linalg");
  bind_linalg(linalg);
  bind_lax_indexing(lax);
  nanobind::module_ numpy = module.def_submodule("numpy");
  bind_numpy(numpy);
  bind_numpy_arrays(numpy);
  bind_numpy_indexing(numpy);
  nanobind::module_ ffi = module.def_submodule("ffi");
  bind_ffi(ffi);
  bind_define(ffi);
  nanobind::module_ callbacks = module.def_submodule("callbacks");
  bind_callbacks(callbacks);
  bind_ffi_call(ffi);
  install_location_provider();
}
