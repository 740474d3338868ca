// Types of state and user data: names, ids and deleters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <farcall/abi.h>
#include <farcall/core/export.h>

namespace farcall::runtime {

using Deleter = void (*)(void*);

// Reads both layouts of the type info; null if `type_info` is null.
Deleter deleter_of(const void* type_info);

void register_type(std::string_view name, FARCALL_FFI_TypeId* type_id, Deleter deleter);

struct TypeRecord {
  std::string name;
  int64_t id = 0;
  Deleter deleter = nullptr;
};
// The id is 0 if there is no such type.
TypeRecord find_type(int64_t id);

// For tools that call handlers without what registers their types of state: `adopt` is called with
// the id, 0, of such a type, and registers it. Without it, the call is an error.
FARCALL_API void adopt_unregistered_types(void (*adopt)(FARCALL_FFI_TypeId* type_id));
bool adopts_unregistered_types();
// Calls `adopt` if there is one and the type has no id.
void adopt_if_unregistered(FARCALL_FFI_TypeId* type_id);

// For messages: "\"counter\"", or the id if it was never registered.
std::string type_text(int64_t id);

}  // namespace farcall::runtime
