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

// The key under which a program caches data for inputs with these specs.
using DivisionKey = std::pair<std::string, std::vector<int64_t>>;
DivisionKey division_key(std::string kind, const Mesh& mesh, std::span<const PartitionSpec> specs);

// A program on inputs with given specs. Equations are divided among the devices if their primitives
// have a partition rule: foreign calls and custom_partitioning. An engine for meshes divides all
// other equations itself.
struct DividedProgram {
  // The specs of the program's results; empty for those that do not fit.
  std::vector<PartitionSpec> results = {};
  std::shared_ptr<const Executable> executable = nullptr;  // null if `executable` itself runs
  // Set if the executable runs on all devices of the mesh.
  std::optional<MeshLayout> layout = {};
  // A report on each call that could be divided, in program order.
  std::vector<DivisionReport> calls = {};
};
using DividedProgramPtr = std::shared_ptr<const DividedProgram>;
// For a run on `device`. Never null. The program caches the result.
DividedProgramPtr partitioned(const Executable& executable, const Device& device, const Mesh& mesh,
                              std::span<const PartitionSpec> specs);

// How an executable runs on sharded inputs.
struct SpreadPlan {
  Mesh mesh;                         // of the first sharded input, else the home
  const Device* device = nullptr;    // for which the program is compiled
  bool is_home_one_device = false;   // the results are whole, and committed to it
  std::vector<PartitionSpec> specs;  // of the inputs over this mesh; empty for other inputs
  DividedProgramPtr divided;
  // If the executable of `divided` runs on all devices: where it reads the inputs.
  std::vector<PlacementPtr> inputs;
  // Otherwise, where the results are kept: like the operands that they were computed from
  // elementwise, else replicated.
  std::vector<PlacementPtr> results;

  bool runs_on_mesh() const { return divided->layout.has_value(); }
};
using SpreadPlanPtr = std::shared_ptr<const SpreadPlan>;
// Null if no input is sharded, unless nothing is committed (`is_committed` speaks for the call) and
// the executable has a home. Raises INVALID_ARGUMENT if the home is one device and an input is
// committed to another.
SpreadPlanPtr plan_spread(const Executable& executable, std::span<const Array> inputs,
                          bool is_committed);
// Puts the results of a run where the plan keeps them.
void spread_results(const SpreadPlan& plan, std::span<Array> results);

}  // namespace farcall
