// Propagation of specs through a program on arrays over a mesh, from operands to results and from
// results to operands.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include <farcall/program/program.h>
#include <farcall/program/sharding.h>

#include "trace/internal/division.h"

namespace farcall {

// The names of an operation's dimensions, from its parameters, or else by position and size.
NamedDimensions name_dimensions(const Params* params, std::span<const ShapeDtype> operands,
                                std::span<const ShapeDtype> results);
NamedDimensions name_by_place(std::span<const ShapeDtype> operands,
                              std::span<const ShapeDtype> results);

// A program inside an equation, and the specs of its inputs and outputs.
struct NestedSpecs {
  ProgramPtr program;
  CallSpecs specs;
};

// An empty spec is that of a whole value, or of one whose spec is unknown.
class Propagation {
 public:
  // `specs` are those of the program's inputs, and of its outputs (or empty if none are wanted).
  // `program` and `mesh` must outlive this object. If `are_fixed`, whole inputs stay whole.
  Propagation(const Program& program, const CallSpecs& specs, const Mesh& mesh, bool are_fixed);

  PartitionSpec spec_of(Atom atom) const {
    return atom.is_variable() ? specs_[atom.index] : PartitionSpec();
  }
  CallSpecs specs_of(const Equation& equation) const;
  // The specs of the program's inputs and outputs.
  CallSpecs specs() const;
  // The programs that an equation runs, in the order of its parameters. Empty for a shard_map and
  // for equations without programs.
  std::vector<NestedSpecs> nested(const Equation& equation) const;

 private:
  // set() and update() return whether any spec became known.
  bool set(Atom atom, const PartitionSpec& spec);
  bool update(const Equation& equation, bool is_backward);
  CallSpecs inferred(const Equation& equation) const;
  struct Inside {
    CallSpecs known, specs;
    std::vector<NestedSpecs> programs;
  };
  const Inside& look_inside(const Equation& equation) const;
  // The specs of the equation, derived from those of its programs, which are added to `programs`.
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

// Whether the program holds a sharding_constraint or a shard_map.
bool has_meshes(const Program& program);
// The mesh of the first of these that was recorded with several devices, else of the first with
// one. All of its devices belong to this process. Empty if there is none.
Mesh home_of(const Program& program);
Mesh home_of(const Params& params);  // of an equation with these parameters
// Whether each split dimension of the array is a multiple of its number of parts.
bool fits(ShapeDtype type, const PartitionSpec& spec, std::span<const MeshAxis> axes);

}  // namespace farcall
