// Adds the user's source line to errors of equations.
#pragma once

#include <string_view>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/program.h>
#include <farcall/program/text.h>

namespace farcall {

// Runs `body`. Adds the equation's source line to an Error that has none yet.
template <class F>
auto with_location(const Equation& equation, F&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (!equation.where) throw;
    const std::string_view text = error.message();
    // An equation inside a loop has already added its line.
    if (text.find("\n  at ") != std::string_view::npos) throw;
    error.raise_with(fmt::format("{}\n  at {}", error.message(), to_text(*equation.where)));
    throw;  // not reached; raise_with does not return
  }
}

}  // namespace farcall
