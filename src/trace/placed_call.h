// Calls whose arguments and results are to lie over meshes: in_shardings and out_shardings of jit.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <farcall/trace/array.h>
#include <farcall/trace/divisions.h>

namespace farcall {

// One for each array: the only one that is given stands for all. Raises INVALID_ARGUMENT for
// another number of them, and for those that do not fit their arrays (Partition). `what` is
// "jit(f): in_shardings", `name_of` names an array.
Shardings spread_shardings(const Shardings& given, std::span<const ShapeDtype> types,
                           const std::string& what,
                           const std::function<std::string(size_t)>& name_of);

// How arrays lie that lie over a mesh.
Shardings shardings_of(std::span<const Array> arrays);

// All are empty, or have one for each array.
// Inputs that nothing is said of, and that lie nowhere yet, are whole on the devices of the
// results.
std::vector<Array> place_inputs(std::span<const Array> inputs, const Shardings& in_shardings,
                                const Shardings& out_shardings);
std::vector<Array> place_results(std::vector<Array> results, const Shardings& out_shardings);
// The traced ones lie so in the program that is recorded.
std::vector<Array> constrain_results(std::vector<Array> results, const Shardings& out_shardings);

}  // namespace farcall
