// A program that a plugin has compiled.
#pragma once

#include <memory>

#include <farcall/program/mesh_engine.h>

#include "pjrt/client.h"

namespace farcall::pjrt {

// On one device, whose results may use the memory of donated inputs, with the help of others where
// the program holds a shard_map over several; or with a layout on all devices of its mesh, which
// are of the same client. Raises what lowering and the plugin raise.
std::shared_ptr<const Executable> compile_for(const PjrtDevice& device, ProgramPtr program,
                                              const MeshLayout* layout,
                                              std::vector<bool> donated = {});

}  // namespace farcall::pjrt
