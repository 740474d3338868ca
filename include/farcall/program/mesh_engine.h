// Engines that compile a program for all devices of a mesh at once.
#pragma once

#include <memory>
#include <vector>

#include <farcall/program/engine.h>
#include <farcall/program/sharding.h>

namespace farcall {

// The shardings of the inputs and outputs of a program that runs on all devices of a mesh.
struct MeshLayout {
  Mesh mesh;
  std::vector<PartitionSpec> inputs, outputs;
};

class MeshEngine : public Engine {
 public:
  // Null if the engine is not a MeshEngine.
  static const MeshEngine* of(const Engine& engine) {
    return dynamic_cast<const MeshEngine*>(&engine);
  }

  // Compiles for the mesh of the layout, whose devices belong to this engine. The executable takes
  // and returns ShardedBuffers with the shardings of the layout. Results may use the memory of
  // donated inputs. Raises like compile().
  virtual std::shared_ptr<const Executable> compile_over(
      ProgramPtr program, const MeshLayout& layout, std::vector<bool> donated_inputs) const = 0;
};

}  // namespace farcall
