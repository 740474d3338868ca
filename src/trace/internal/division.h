// How the dimensions of an operation's arrays are divided over the axes of a mesh: those of one
// name alike.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/rules.h>

namespace farcall {

// For each dimension of an array the names of its factors, the slowest first, which are mostly one;
// no name where it cannot be divided.
using DimensionNames = std::vector<std::vector<std::string>>;

struct NamedDimensions {
  std::vector<DimensionNames> operands, results;
  // Of factors that share a dimension with others. Others have the size of their dimension.
  std::map<std::string, int64_t> sizes = {};

  bool has_names() const;
};

struct Division {
  CallSpecs specs;
  std::vector<std::string> axes;    // over which anything is divided
  std::vector<std::string> summed;  // those that divide operands alone
};

// Divides each name as the first array is that has it divided, operands first, as far as all its
// dimensions are multiples of their parts. An axis divides one name.
FARCALL_API Division divide(const NamedDimensions& names, const SpecsCall& call);

// ---- parts of specs ----

// The axes that split a dimension.
inline std::vector<std::string> entry(const PartitionSpec& spec, int64_t dimension) {
  return dimension < static_cast<int64_t>(spec.size()) ? spec[static_cast<size_t>(dimension)]
                                                       : std::vector<std::string>();
}
// Without entries behind the last dimension that is split, so that specs are equal that say the
// same.
FARCALL_API PartitionSpec shortened(PartitionSpec spec);
// Whether any dimension is split.
FARCALL_API bool is_any_split(std::span<const PartitionSpec> specs);

}  // namespace farcall
