// Printing programs as text, and parsing it.
#pragma once

#include <string>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/program/program.h>

namespace farcall {

struct PrintOptions {
  // Constants with more elements are printed as "...", which cannot be parsed. By default all are
  // printed in full.
  int64_t max_constant_elements = INT64_MAX;
  bool source_locations = false;  // as a comment after each equation
};

// Example:
//   { lambda ; a:f32[3]. let b:f32[3] = mul a 2.0:f32[] in (b,) }
// All parameters are printed; numbers are printed so that parsing gives the same value. A program
// that several equations run is printed in full once, with a number ("jaxpr=@1={ lambda … }");
// other places refer to the number ("jaxpr=@1").
FARCALL_API std::string to_text(const Program& program, const PrintOptions& options = {});

// Parses and verifies a program. Raises INVALID_ARGUMENT with line and column.
FARCALL_API ProgramPtr parse_program(std::string_view text);

// "model.py:12 (forward)"
FARCALL_API std::string to_text(const SourceLocation& location);

// A parameter as it is printed in a program's text.
FARCALL_API std::string to_text(const Value& value);

}  // namespace farcall
