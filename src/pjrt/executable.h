// A program that a plugin has compiled.
#pragma once

#include <memory>

#include <farcall/program/mesh_engine.h>

#include "pjrt/client.h"

namespace farcall::pjrt {

// Without a layout: compiles for one device. Results may use the memory of donated inputs. Other
// devices take part if the program contains a shard_map over several. With a layout: compiles for
// all devices of its mesh, which belong to the same client. Raises what lowering and the plugin
// raise.
std::shared_ptr<const Executable> compile_for(const PjrtDevice& device, ProgramPtr program,
                                              const MeshLayout* layout, std::vector<bool> donated);

}  // namespace farcall::pjrt
