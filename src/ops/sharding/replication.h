// Along which axes of a mesh the values of a program may differ from device to device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <farcall/program/program.h>
#include <farcall/program/sharding.h>

namespace farcall {

// A bit for each axis.
using AxisSet = uint64_t;

// Those that a spec names.
AxisSet axes_of(const PartitionSpec& spec, std::span<const MeshAxis> axes);

// By output, for inputs that differ along the axes that their specs name. Functions and foreign
// calls give the same for the same operands; what a reduction or a gather over an axis gives is the
// same along it.
std::vector<AxisSet> varying_axes(const Program& program, std::span<const MeshAxis> axes,
                                  std::span<const PartitionSpec> in_specs);

}  // namespace farcall
