// The process around a call: what a call must leave as it was, and what must not change its
// results.
#pragma once

#include <signal.h>

#include <array>
#include <cstdint>
#include <string>

namespace farcall::tools {

// What belongs to the whole process, which a call must leave as it was: the current directory, the
// locale, signal handlers, standard streams. For calls while no other thread calls the handler.
class ProcessState {
 public:
  // Remembers the state.
  ProcessState();
  // Sets the remembered state. Returns what was different; empty if nothing was.
  std::string restore() const;

 private:
  static constexpr int kNumSignals = 32;

  std::string directory_, locale_;
  std::array<struct sigaction, kNumSignals> actions_;
};

// What results must not depend on.
namespace surroundings {

inline constexpr uint8_t kVariables = 1, kDirectory = 2, kTimeZone = 4, kLocale = 8;
inline constexpr uint8_t kAll = kVariables | kDirectory | kTimeZone | kLocale;

// "the current directory"
std::string name(uint8_t one);
// Changes them for this process. Environment variables change only for what `handler`'s library
// asks for.
void change(uint8_t which, const void* handler);
// The value of an environment variable for code at this address; `value` is the real one or null.
const char* variable(const char* name, const char* value, const void* caller);

}  // namespace surroundings

}  // namespace farcall::tools
