// Types of state and user data: names, ids and how to destroy an object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <farcall/abi.h>

namespace farcall::runtime {

using Deleter = void (*)(void*);

// Reads either layout of the type info; null gives null.
Deleter deleter_of(const void* type_info);

void register_type(std::string_view name, FARCALL_FFI_TypeId* type_id, Deleter deleter);

struct TypeRecord {
  std::string name;
  int64_t id = 0;
  Deleter deleter = nullptr;
};
// An id of 0 when there is none.
TypeRecord find_type(int64_t id);

// "\"counter\"", or the number of an id that was never registered; for messages.
std::string type_text(int64_t id);

}  // namespace farcall::runtime
