// The Python that is at hand, and the handlers that its modules give away as capsules.
#pragma once

#include <string>
#include <vector>

#include <farcall/abi.h>
#include <farcall/ffi/attribute.h>
#include <farcall/ffi/foreign_call.h>

namespace farcall::tools {

// That of the active environment, the one beside this program, or python3 of the path; empty when
// there is none.
std::string find_python();

// What a short script prints; empty when it fails.
std::string ask_python(const std::string& script);

struct Capsule {
  std::string name;
  std::string stage;  // "execute" unless the module says otherwise
  FARCALL_FFI_Handler* handler;
  std::string problem;  // why the function of this name gave none; `handler` is then null
};

// A dotted name and no path.
bool is_python_module(const std::string& target);

// Loads an interpreter into this process, which is to be a child, imports the module there, and
// calls its functions that take nothing and are known to return capsules; that named `wanted`
// anyway. Raises Failure(kCouldNotRun).
std::vector<Capsule> load_capsules(const std::string& module, const std::string& wanted);

// Calls a function of numpy arrays, "module:name", in the interpreter of this process, and copies
// what it returns into the results. False when it raises.
bool call_python(const std::string& function, std::span<const RawBuffer> arguments,
                 std::span<const RawBuffer> results, const Attributes& attributes);

}  // namespace farcall::tools
