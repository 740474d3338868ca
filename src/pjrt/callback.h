// Buffer callbacks that the plugin calls itself: its programs call a handler of farcall, which
// finds the run in the user data of the execution, and the callback by the attribute `id`.
#pragma once

#include <cstdint>
#include <string>

#include "pjrt/client.h"
#include "pjrt/relay.h"

namespace farcall::pjrt {

// Registers the handler for callbacks with these traits, once for each client. Returns its target.
std::string register_callbacks(const Client& client, bool is_command_buffer_compatible);

// The type of the user data that is a Run.
int64_t run_type();

}  // namespace farcall::pjrt
