// Drawings of programs. Values flow from top to bottom; nested programs are drawn inside the box of
// their equation; foreign calls are highlighted.
#pragma once

#include <cstddef>
#include <string>

#include <farcall/core/export.h>
#include <farcall/program/program.h>

namespace farcall {

struct DrawOptions {
  // The limit for all programs together. A note says how many equations are omitted.
  size_t max_equations = 150;
};

// For Graphviz; nested programs are clusters.
FARCALL_API std::string to_dot(const Program& program, const DrawOptions& options = {});
// An SVG image with its own layout; needs no other software.
FARCALL_API std::string to_svg(const Program& program, const DrawOptions& options = {});

}  // namespace farcall
