// Programs as StableHLO text, the input of XLA's compilers.
#pragma once

#include <string>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/program/program.h>

namespace farcall {

struct MeshLayout;  // farcall/program/mesh_engine.h

// A module whose function `main` computes the program on a platform. A foreign call becomes a
// custom call of its target, a callback one of a target such as farcall.pure_callback with the name
// of its function. Random keys become ui64, tokens arrays without elements. With a layout
// (mesh_layout() of farcall/trace/mesh_layout.h) the module runs on all devices of its mesh, with
// annotations of Shardy's dialect; a shard_map needs one. Raises UNIMPLEMENTED, with the user's
// line, for operations that StableHLO lacks.
FARCALL_API std::string to_stablehlo(const ProgramPtr& program, std::string_view platform = "cpu",
                                     const MeshLayout* layout = nullptr);

}  // namespace farcall
