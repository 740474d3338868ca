// Relays: equations that a plugin's program hands back to be run by the native engine, on the CPU.
//
// A plugin knows one handler of ours. It finds the relay by the attribute `id` and the run by the
// number in its first operand. What a relay throws is kept for the run and raised as it was when
// execution has ended; the plugin sees an error at once, so that the run stops.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <farcall/program/engine.h>

#include "pjrt/client.h"

namespace farcall::pjrt {

class Relay {
 public:
  // Compiles the equation.
  Relay(const Program& program, const Equation& equation);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  int64_t id() const { return id_; }
  const Executable& executable() const { return *executable_; }

 private:
  std::shared_ptr<const Executable> executable_;
  int64_t id_;
};

// One execution of a program with relays; found by its number while it lasts.
class Run {
 public:
  explicit Run(const ExecutionOptions& options);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  uint64_t number() const { return number_; }
  const ExecutionOptions& options() const { return options_; }
  void fail(std::exception_ptr error);
  bool has_failed() const;
  // What the first relay that failed threw.
  void raise_if_failed() const;

 private:
  uint64_t number_;
  const ExecutionOptions& options_;
  mutable std::mutex mutex_;
  std::exception_ptr error_;
};

// Tells the plugin of the handler, once for each client. Raises UNIMPLEMENTED for a client that is
// no CPU's.
void register_relay(const Client& client);

}  // namespace farcall::pjrt
