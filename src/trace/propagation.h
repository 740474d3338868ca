// Propagates the shardings of a program's inputs to its other values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <farcall/primitives/dot_general.h>
#include <farcall/program/program.h>
#include <farcall/program/sharding.h>

namespace farcall {

// The spec of each variable; empty if it is not split.
class Propagation {
 public:
  // `inputs` has a spec for each input, on a mesh with these axes. `program` and `axes` must
  // outlive this.
  Propagation(const Program& program, std::span<const PartitionSpec> inputs,
              std::span<const MeshAxis> axes);

  PartitionSpec spec_of(Atom atom) const {
    return atom.is_variable() ? specs_[atom.index] : PartitionSpec();
  }
  std::vector<PartitionSpec> inputs_of(const Equation& equation) const;
  // The specs of the program's outputs.
  std::vector<PartitionSpec> outputs() const;

  // Sets the specs of the results of the next equation.
  void set_results(const Equation& equation, std::span<const PartitionSpec> specs);
  // Derives them from the equation's operands.
  void add(const Equation& equation) { set_results(equation, results_of(equation)); }
  void add_all() {
    for (const Equation& equation : program_.equations) add(equation);
  }

 private:
  std::span<const int64_t> shape_of(Atom atom) const { return program_.type_of(atom).shape(); }
  std::vector<PartitionSpec> results_of(const Equation& equation) const;
  std::optional<PartitionSpec> by_dimensions(const Equation& equation,
                                             const std::vector<PartitionSpec>& inputs) const;
  PartitionSpec product(const DotGeneralParams& p, const Equation& equation,
                        const std::vector<PartitionSpec>& inputs) const;

  const Program& program_;
  std::span<const MeshAxis> axes_;
  std::vector<PartitionSpec> specs_;
};

// The axes that split a dimension.
inline std::vector<std::string> entry(const PartitionSpec& spec, int64_t dimension) {
  return dimension < static_cast<int64_t>(spec.size()) ? spec[static_cast<size_t>(dimension)]
                                                       : std::vector<std::string>();
}

// Whether the spec is valid for the type: each split dimension is a multiple of the number of its
// parts.
bool fits(ShapeDtype type, const PartitionSpec& spec, std::span<const MeshAxis> axes);

}  // namespace farcall
