// Calls with requested shardings of arguments and results: in_shardings and out_shardings of jit.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <farcall/trace/array.h>
#include <farcall/trace/divisions.h>

namespace farcall {

// Returns one sharding for each array; a single given one applies to all. Raises INVALID_ARGUMENT
// if their number does not match, and for those that do not fit their arrays (Partition). `what` is
// "jit(f): in_shardings", `name_of` names an array.
Shardings spread_shardings(const Shardings& given, std::span<const ShapeDtype> types,
                           const std::string& what,
                           const std::function<std::string(size_t)>& name_of);

// The shardings of the arrays that lie over a mesh; no value for others. Empty if there are none.
Shardings shardings_of(std::span<const Array> arrays);

// Each list of shardings is empty or has one element for each array. Uncommitted inputs without a
// sharding are put whole on the devices of the results.
std::vector<Array> place_inputs(std::span<const Array> inputs, const Shardings& in_shardings,
                                const Shardings& out_shardings);
std::vector<Array> place_results(std::vector<Array> results, const Shardings& out_shardings);
// Adds sharding constraints for traced results to the recorded program.
std::vector<Array> constrain_results(std::vector<Array> results, const Shardings& out_shardings);

}  // namespace farcall
