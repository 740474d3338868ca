// The mesh that a program runs over.
#pragma once

#include <optional>

#include <farcall/core/export.h>
#include <farcall/program/mesh_engine.h>
#include <farcall/program/program.h>
#include <farcall/trace/divisions.h>

namespace farcall {

// The layout of a program whose inputs have these shardings: that over the mesh of the first one
// with several devices. No value if there is none.
FARCALL_API std::optional<MeshLayout> mesh_layout(const Program& program, const Shardings& inputs);

}  // namespace farcall
