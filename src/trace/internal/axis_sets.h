// Which values of a program may differ between the devices along the axes of a mesh.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <farcall/program/program.h>
#include <farcall/program/sharding.h>
#include <farcall/trace/varying.h>

namespace farcall {

// The axes that a spec names. Bit i stands for axes[i].
AxisSet axes_of(const PartitionSpec& spec, std::span<const MeshAxis> axes);

// For each output, the axes along which it may differ, for inputs that differ along the axes of
// their specs. Functions and foreign calls are assumed to be deterministic. The result of a
// reduction or a gather over an axis does not differ along it.
std::vector<AxisSet> differing_axes(const Program& program, std::span<const MeshAxis> axes,
                                    std::span<const PartitionSpec> in_specs);

// The sets of values by the rules of types, which are those of JAX: as above, but the result of a
// gather varies, although it does not differ.
class AxisTypes {
 public:
  explicit AxisTypes(std::span<const std::string> axes) : axes_(axes) {}

  AxisSet set_of(std::span<const std::string> names) const;
  // The sets of the results of one application.
  std::vector<AxisSet> results(const Primitive& primitive, const Params* params,
                               std::span<const AxisSet> inputs, size_t num_results) const;
  // The axes along which devices may take different branches of a cond, or run a different number
  // of steps of a while. Empty for other primitives.
  AxisSet decision(const Params* params, std::span<const AxisSet> inputs) const;
  // Gives programs in the parameters their sets (axes_of), unless they have some.
  void give_sets(const Primitive& primitive, const Params* params,
                 std::span<const AxisSet> inputs) const;

 private:
  std::span<const std::string> axes_;
};

}  // namespace farcall
