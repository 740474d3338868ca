// Values that vary over the axes of a mesh.
//
// While the body of a shard_map that checks replication is recorded, each value has a set of axes:
// those along which the devices may have different values of it. Where values with different sets
// meet in one operation, the operands with fewer axes get the others by `pvary`, the identity whose
// transpose is a psum. The result of a psum does not vary over its axes, and its transpose is
// pvary. So derivatives taken inside the body are summed over the devices where they must be.
//
// Elsewhere axes are not tracked, and these functions return no sets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>
#include <farcall/trace/record.h>

namespace farcall {

// A bit for each axis.
using AxisSet = uint64_t;
// A set for each array; without a value where axes are not tracked.
using AxisSets = std::optional<std::vector<AxisSet>>;

// Whether axes are tracked on this thread.
FARCALL_API bool is_tracking_axes();
// The names of the axes of a set.
FARCALL_API std::vector<std::string> names_of(AxisSet axes);

// The axes over which a traced array varies. The set of a concrete array is empty.
FARCALL_API AxisSet varying_axes(const Array& array);
FARCALL_API AxisSets varying_axes(std::span<const Array> arrays);

// The array, marked as varying over the axes too. Arrays without tangents are returned unchanged.
FARCALL_API Array vary_over(const Array& array, AxisSet axes);
// The arrays, marked as varying over at least the axes of their sets.
FARCALL_API std::vector<Array> vary_like(std::vector<Array> arrays, const AxisSets& sets);

// The arrays, marked as varying over the axes over which any of them varies.
FARCALL_API std::vector<Array> vary_alike(std::vector<Array> arrays);

// The functions of record.h, for inputs with these sets. A function that is recorded without sets
// is recorded without tracking.
FARCALL_API ProgramPtr record(const FlatFunction& function, std::span<const ShapeDtype> inputs,
                              const AxisSets& sets, std::string name = {});
FARCALL_API Recording record_closure(const FlatFunction& function,
                                     std::span<const ShapeDtype> inputs, const AxisSets& sets,
                                     std::string name = {});
FARCALL_API Recording record_with_constants(const FlatFunction& function,
                                            std::span<const ShapeDtype> inputs,
                                            const AxisSets& sets, std::string name = {});

// The sets of the inputs and outputs of a program that was recorded, or first used, while axes were
// tracked.
struct ProgramAxes {
  std::vector<AxisSet> inputs, outputs;
};
FARCALL_API std::optional<ProgramAxes> axes_of(const Program& program);

}  // namespace farcall
