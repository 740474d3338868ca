// tvm-ffi (the package apache-tvm-ffi): its functions as foreign targets, and programs of farcall
// as its functions.
//
// Both sides write into results that the caller passes: operands first, then results, as DLPack
// tensors, without copies. farcall is not linked against tvm-ffi; load_tvm_ffi() loads its library.
// Interface of version 0.1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/exchange/export_handler.h>

namespace farcall {

// Loads the library: `path` is that of libtvm_ffi.so. Does nothing if it is loaded already. Raises
// NOT_FOUND for a file that cannot be loaded, FAILED_PRECONDITION for a file that is not that
// library.
FARCALL_API void load_tvm_ffi(const std::string& path);

// Registers a function, given as an object handle of tvm-ffi, as a target on the CPU. A reference
// is kept for the life of the process. `arguments` lists the function's arguments in order: "args"
// and "rets" are all operands and all results, any other name is an attribute of the call (a bool,
// an integer, a float or a string). An error that the function raises becomes an FfiError. Raises
// FAILED_PRECONDITION if the library is not loaded, ALREADY_EXISTS for a registered name.
FARCALL_API void register_tvm_function(std::string_view name, void* function,
                                       std::vector<std::string> arguments = {"args", "rets"});

// Adds a function to the global table of tvm-ffi under `global_name`, replacing an existing one;
// `name` appears in messages. The arguments are dense, row-major tensors on the CPU: operands, then
// results; there are no attributes. Errors of a call become tvm-ffi errors of the kind ValueError,
// MemoryError or RuntimeError. Raise FAILED_PRECONDITION if the library is not loaded, and what
// export_handler() raises.
FARCALL_API void export_to_tvm(const std::string& global_name, std::string name,
                               ProgramPtr program);
FARCALL_API void export_to_tvm(const std::string& global_name, std::string name, size_t num_results,
                               RecordForCall record);

}  // namespace farcall
