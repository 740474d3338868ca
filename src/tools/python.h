// Finds Python, and handlers that Python modules provide as capsules.
#pragma once

#include <string>
#include <vector>

#include <farcall/abi.h>
#include <farcall/ffi/attribute.h>
#include <farcall/ffi/foreign_call.h>

namespace farcall::tools {

// The Python of the active environment, the one beside this program, or python3 in the path; empty
// without one.
std::string find_python();

// The output of a short script; empty if it fails.
std::string ask_python(const std::string& script);

struct Capsule {
  std::string name;
  std::string stage;  // "execute" unless the module declares another one
  FARCALL_FFI_Handler* handler;
  std::string problem;  // why the function of this name returned none; `handler` is then null
};

// Whether it is a dotted name, not a path.
bool is_python_module(const std::string& target);

// Starts an interpreter in this process, which must be a child, imports the module, calls
// initialize() of compiled modules in it, and calls its functions without parameters that are known
// to return capsules. The function named `wanted` is always called. Raises Failure(kCouldNotRun).
std::vector<Capsule> load_capsules(const std::string& module, const std::string& wanted);

// Calls a function of numpy arrays, "module:name", in the interpreter of this process, and copies
// its return values into the results. Returns why that fails, such as the exception; empty if it
// does not.
std::string call_python(const std::string& function, std::span<const RawBuffer> arguments,
                        std::span<const RawBuffer> results, const Attributes& attributes);

}  // namespace farcall::tools
