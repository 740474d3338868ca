// Running programs on arrays that are sharded over a mesh.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/program/mesh_engine.h>
#include <farcall/program/sharding.h>
#include <farcall/trace/array.h>
#include <farcall/trace/divisions.h>

namespace farcall {

// The sharding of the first sharded input; null if there is none.
const NamedSharding* first_sharding(std::span<const Array> inputs);
// The spec of each input on this mesh; empty for inputs that are not sharded over it.
std::vector<PartitionSpec> specs_on(const Mesh& mesh, std::span<const Array> inputs);

// The key under which a program caches data for inputs with these specs.
using DivisionKey = std::pair<std::string, std::vector<int64_t>>;
DivisionKey division_key(std::string kind, const Mesh& mesh, std::span<const PartitionSpec> specs);

// The program with equations divided among the devices if their primitives have a partition rule:
// foreign calls and custom_partitioning. An engine for meshes divides all other equations itself.
struct DividedProgram {
  std::shared_ptr<const Executable> executable;
  // Set if the executable runs on all devices of the mesh.
  std::optional<MeshLayout> layout;
  // A report on each call that could be divided, in program order.
  std::vector<DivisionReport> calls = {};
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
