// The text of programs before and after a pass of the engine.
#pragma once

#include <string>

#include <farcall/passes/passes.h>
#include <farcall/program/text.h>

namespace farcall::native {

// The program as printed.
inline std::string printed(const std::string& text) { return to_text(*parse_program(text)); }

// What the pass makes of the program, without dead code.
template <class Pass>
std::string after_pass(const Pass& pass, const std::string& text) {
  return to_text(*remove_dead_code(pass(parse_program(text))));
}

}  // namespace farcall::native
