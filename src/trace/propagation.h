// How the values of a program lie whose inputs are spread over the devices of a mesh: followed from
// operands to results, and from results to operands.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <farcall/program/program.h>
#include <farcall/program/sharding.h>

#include "trace/internal/division.h"

namespace farcall {

// Of an operation: how its parameters tie dimensions, or by their places and sizes.
NamedDimensions name_dimensions(const Params* params, std::span<const ShapeDtype> operands,
                                std::span<const ShapeDtype> results);
NamedDimensions name_by_place(std::span<const ShapeDtype> operands,
                              std::span<const ShapeDtype> results);

// A program inside an equation, and how its inputs and outputs lie.
struct NestedSpecs {
  ProgramPtr program;
  CallSpecs specs;
};

// An empty spec is that of a value that lies whole, or of which nothing is known.
class Propagation {
 public:
  // `inputs` and `outputs` (empty where nothing is wanted) are over this mesh, which outlives this.
  // With `are_fixed` inputs that lie whole stay so.
  Propagation(const Program& program, const CallSpecs& specs, const Mesh& mesh, bool are_fixed);

  PartitionSpec spec_of(Atom atom) const {
    return atom.is_variable() ? specs_[atom.index] : PartitionSpec();
  }
  CallSpecs specs_of(const Equation& equation) const;
  // Those of the program's inputs and outputs.
  CallSpecs specs() const;
  // Of the programs that an equation runs, in the order of its parameters. None for a shard_map and
  // for other equations.
  std::vector<NestedSpecs> nested(const Equation& equation) const;

 private:
  // Whether anything became known.
  bool set(Atom atom, const PartitionSpec& spec);
  bool update(const Equation& equation, bool is_backward);
  CallSpecs inferred(const Equation& equation) const;
  struct Inside {
    CallSpecs known, specs;
    std::vector<NestedSpecs> programs;
  };
  const Inside& look_inside(const Equation& equation) const;
  // The specs of the equation, from those inside; `programs` are those inside.
  CallSpecs through(const Equation& equation, std::vector<NestedSpecs>& programs) const;
  CallSpecs through_loop(const ProgramPtr& body, CallSpecs specs, size_t first_carry,
                         size_t num_carry, std::vector<NestedSpecs>& programs) const;
  CallSpecs inside(const Program& program, const CallSpecs& specs) const {
    return Propagation(program, specs, mesh_, false).specs();
  }

  const Program& program_;
  const Mesh& mesh_;
  std::vector<PartitionSpec> specs_;
  std::vector<bool> is_fixed_;
  mutable std::unordered_map<const Equation*, Inside> inside_;
};

// Whether it holds a sharding_constraint or a shard_map.
bool has_meshes(const Program& program);
// Whether a dimension of the array is a multiple of its parts wherever it is split.
bool fits(ShapeDtype type, const PartitionSpec& spec, std::span<const MeshAxis> axes);

}  // namespace farcall
