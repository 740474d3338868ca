// Programs on arrays that are spread over the devices of a mesh.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <farcall/program/mesh_engine.h>
#include <farcall/program/sharding.h>
#include <farcall/trace/array.h>

namespace farcall {

// Of the first input that is spread; null where none is.
const NamedSharding* first_sharding(std::span<const Array> inputs);
// How each input is spread over this mesh.
std::vector<PartitionSpec> specs_on(const Mesh& mesh, std::span<const Array> inputs);

// The same program with the applications divided among the devices whose primitives have a rule for
// that: foreign calls of which somebody said how. An engine that runs on meshes cuts all else too.
struct DividedProgram {
  std::shared_ptr<const Executable> executable;
  // Of an executable that runs on all devices of the mesh.
  std::optional<MeshLayout> layout;
};
using DividedProgramPtr = std::shared_ptr<const DividedProgram>;
// Null where nothing is divided.
DividedProgramPtr partitioned(const Executable& executable, const Mesh& mesh,
                              std::span<const PartitionSpec> specs);

// The results of a program that ran on inputs spread so are spread too: like the operands that they
// were computed from element by element, over no axis otherwise.
void spread_results(const Program& program, const Mesh& mesh, std::span<const PartitionSpec> specs,
                    std::span<Array> results);

}  // namespace farcall
