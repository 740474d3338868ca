// Programs as text, and back.
#pragma once

#include <string>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/program/program.h>

namespace farcall {

struct PrintOptions {
  // Constants with more elements are printed without their values ("..."), which cannot be parsed
  // back; by default all are printed in full.
  int64_t max_constant_elements = INT64_MAX;
  bool source_locations = false;  // as a comment behind each equation
};

// For instance
//   { lambda ; a:f32[3]. let b:f32[3] = mul a 2.0:f32[] in (b,) }
// Every parameter of every equation is shown; numbers are printed so that they read back exactly. A
// program that several equations run is written where it stands first, behind a number ("jaxpr=@1={
// lambda … }"), and referred to by that number elsewhere ("jaxpr=@1").
FARCALL_API std::string to_text(const Program& program, const PrintOptions& options = {});

// The program that `text` describes, verified. Raises INVALID_ARGUMENT with line and column.
FARCALL_API ProgramPtr parse_program(std::string_view text);

// "model.py:12 (forward)"
FARCALL_API std::string to_text(const SourceLocation& location);

// One parameter as it stands in a program's text.
FARCALL_API std::string to_text(const Value& value);

}  // namespace farcall
