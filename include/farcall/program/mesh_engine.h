// Engines that compile a program for all devices of a mesh at once.
#pragma once

#include <memory>
#include <vector>

#include <farcall/program/engine.h>
#include <farcall/program/sharding.h>

namespace farcall {

// How the inputs and outputs of a program lie that runs on all devices of a mesh.
struct MeshLayout {
  Mesh mesh;
  std::vector<PartitionSpec> inputs, outputs;
};

class MeshEngine : public Engine {
 public:
  // Null for an engine that is none.
  static const MeshEngine* of(const Engine& engine) {
    return dynamic_cast<const MeshEngine*>(&engine);
  }

  // Compiles for the mesh of the layout, whose devices are this engine's. The executable takes and
  // gives ShardedBuffers that lie as the layout says. Raises as compile() does.
  virtual std::shared_ptr<const Executable> compile_over(ProgramPtr program,
                                                         const MeshLayout& layout) const = 0;
};

}  // namespace farcall
