// The engine "stepwise": runs programs equation by equation, on two devices with memory of their
// own.
#pragma once

#include <farcall/program/engine.h>

namespace farcall::testing {

// Added to the process's engines by the first call.
const Engine& stepwise_engine();

// How often devices took elements from the host's memory, and gave elements to it.
struct Transfers {
  int64_t to_device = 0, to_host = 0;
};
Transfers transfers();

// Until release() is called, results of programs are not ready.
void hold_results();
void release_results();
// Until fail_results(false), waiting for a result raises INTERNAL, though it is ready.
void fail_results(bool fails);

}  // namespace farcall::testing
