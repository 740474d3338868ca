// Drawings of programs: values flow from top to bottom; a program that an equation runs stands
// inside the equation's box; foreign calls are marked.
#pragma once

#include <cstddef>
#include <string>

#include <farcall/core/export.h>
#include <farcall/program/program.h>

namespace farcall {

struct DrawOptions {
  // Of all programs together. A note says what is left out.
  size_t max_equations = 150;
};

// For Graphviz; nested programs are clusters.
FARCALL_API std::string to_dot(const Program& program, const DrawOptions& options = {});
// A picture that needs no other software, laid out here.
FARCALL_API std::string to_svg(const Program& program, const DrawOptions& options = {});

}  // namespace farcall
