// tvm-ffi (the package apache-tvm-ffi): its functions as foreign targets, and ours as its
// functions.
//
// Both sides write into results that the caller gives (destination passing): operands first, then
// results, as DLPack tensors in the memory where they are. farcall is not linked against tvm-ffi,
// whose library the process loads when it is first needed. Interface of version 0.1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/exchange/export_handler.h>

namespace farcall {

// Loads the library: `path` is that of libtvm_ffi.so. The same again does nothing. Raises NOT_FOUND
// for a file that cannot be loaded, FAILED_PRECONDITION for one that is no such library.
FARCALL_API void load_tvm_ffi(const std::string& path);

// Registers a function, an object handle of tvm-ffi, as a target on the CPU; a reference is kept
// for the life of the process. `arguments` says what it is called with, in order: "args" and "rets"
// are all operands and all results, anything else is an attribute of the call (a bool, an integer,
// a float or a string). An error that the function raises becomes a FfiError. Raises
// FAILED_PRECONDITION unless the library is loaded, ALREADY_EXISTS for a name that is taken.
FARCALL_API void register_tvm_function(std::string_view name, void* function,
                                       std::vector<std::string> arguments = {"args", "rets"});

// Adds functions to the global table of tvm-ffi, under `global_name`, which replaces one of that
// name; `name` stands in messages. The arguments are tensors on the CPU, dense and row-major:
// operands, then results; there are no attributes. What running raises becomes an error of tvm-ffi of the kind ValueError,
// MemoryError or RuntimeError. Raise FAILED_PRECONDITION unless the library is loaded, and
// what export_handler() raises.
FARCALL_API void export_to_tvm(const std::string& global_name, std::string name,
                               ProgramPtr program);
FARCALL_API void export_to_tvm(const std::string& global_name, std::string name, size_t num_results,
                               RecordForCall record);

}  // namespace farcall
