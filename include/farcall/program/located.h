// Adds the user's source line to errors of equations and calls.
#pragma once

#include <string>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/program.h>
#include <farcall/program/text.h>

namespace farcall {

// Raises the error that is being handled, with the line unless it is null or the error has one: an
// equation inside a loop adds its line first.
[[noreturn]] inline void raise_at(const Error& error, const SourceLocationPtr& where) {
  if (!where || error.message().find("\n  at ") != std::string::npos) throw;
  error.raise_with(fmt::format("{}\n  at {}", error.message(), to_text(*where)));
  throw;  // not reached; raise_with does not return
}

// Runs `body`. Adds the equation's source line to an Error that has none yet.
template <class F>
auto with_location(const Equation& equation, F&& body) {
  try {
    return body();
  } catch (const Error& error) {
    raise_at(error, equation.where);
  }
}

}  // namespace farcall
