// Divides the dimensions of an operation's arrays over the axes of a mesh. Dimensions with the same
// name are divided alike.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/rules.h>

namespace farcall {

// For each dimension of an array, the names of its factors, the slowest first; usually one. A
// dimension without names cannot be divided.
using DimensionNames = std::vector<std::vector<std::string>>;

struct NamedDimensions {
  std::vector<DimensionNames> operands, results;
  // The sizes of factors that share a dimension with others. Other factors have the size of their
  // dimension.
  std::map<std::string, int64_t> sizes = {};

  bool has_names() const;
};

struct Division {
  CallSpecs specs;
  std::vector<std::string> axes;    // all axes that divide a dimension
  std::vector<std::string> summed;  // the axes that divide operands but no result
};

// Divides each name like the first array (operands first) in which it is divided, as far as the
// numbers of parts divide all of its dimensions. An axis divides one name only.
FARCALL_API Division divide(const NamedDimensions& names, const SpecsCall& call);

// ---- parts of specs ----

// The axes that split a dimension.
inline std::vector<std::string> entry(const PartitionSpec& spec, int64_t dimension) {
  return dimension < static_cast<int64_t>(spec.size()) ? spec[static_cast<size_t>(dimension)]
                                                       : std::vector<std::string>();
}
// Removes the entries after the last split dimension, so that equivalent specs are equal.
FARCALL_API PartitionSpec shortened(PartitionSpec spec);
// Whether any dimension is split.
FARCALL_API bool is_any_split(std::span<const PartitionSpec> specs);

}  // namespace farcall
