// Types of state that whoever uses a library registers: XLA's `static TypeId id`, which the Python
// module of the library makes known to the runtime. The command has the library alone.
#pragma once

#include <string>
#include <vector>

#include "tools/elf_file.h"

namespace farcall::tools {

// From now on, a handler in this process that creates state of an unregistered type registers it.
// Nothing deletes that state: XLA's deleter comes with the registration.
void adopt_state_types();
// Whether a type was registered so.
bool has_adopted_types();

// Gives an id to all types that the symbols of a loaded library show, for inspect: it may mistake
// another variable named `id` for the id of a type.
void adopt_types_of(const ElfFile& file);
// The variables that are ids of types of state, by the same rule.
std::vector<ElfSymbol> state_type_ids(const ElfFile& file);
// The name of the type, such as "mine::Counter", whose id such a variable is.
std::string type_of(const ElfSymbol& variable);

// The C++ name of a registered type, or the name that it was registered by.
std::string state_type_name(int64_t type_id);

}  // namespace farcall::tools
