// Running programs on arrays that are sharded over a mesh.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <farcall/program/mesh_engine.h>
#include <farcall/program/sharding.h>
#include <farcall/trace/array.h>

namespace farcall {

// The sharding of the first sharded input; null if there is none.
const NamedSharding* first_sharding(std::span<const Array> inputs);
// The spec of each input on this mesh; empty for inputs that are not sharded over it.
std::vector<PartitionSpec> specs_on(const Mesh& mesh, std::span<const Array> inputs);

// The same program with operations divided among the devices if their primitive has a partition
// rule: foreign calls with a sharding rule. An engine that runs on meshes divides everything else
// too.
struct DividedProgram {
  std::shared_ptr<const Executable> executable;
  // Set if the executable runs on all devices of the mesh.
  std::optional<MeshLayout> layout;
};
using DividedProgramPtr = std::shared_ptr<const DividedProgram>;
// Null if nothing is divided.
DividedProgramPtr partitioned(const Executable& executable, const Mesh& mesh,
                              std::span<const PartitionSpec> specs);

// Shards the results of a program that ran on inputs with these specs: like the operands that they
// were computed from elementwise, else replicated.
void spread_results(const Program& program, const Mesh& mesh, std::span<const PartitionSpec> specs,
                    std::span<Array> results);

}  // namespace farcall
