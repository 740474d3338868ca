// The axes of a mesh along which the values of a program may differ between devices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <farcall/program/program.h>
#include <farcall/program/sharding.h>

namespace farcall {

// A bit for each axis.
using AxisSet = uint64_t;

// The axes that a spec names.
AxisSet axes_of(const PartitionSpec& spec, std::span<const MeshAxis> axes);

// For each output, the axes along which it may differ, for inputs that differ along the axes of
// their specs. Functions and foreign calls are assumed to be deterministic. The result of a
// reduction or a gather over an axis does not differ along it.
std::vector<AxisSet> varying_axes(const Program& program, std::span<const MeshAxis> axes,
                                  std::span<const PartitionSpec> in_specs);

}  // namespace farcall
