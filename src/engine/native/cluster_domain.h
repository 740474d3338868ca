// Which equations run together, tile by tile: how each value of a cluster lies over its elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <farcall/program/program.h>

namespace farcall::native {

// The elements of a cluster, row by row.
struct Domain {
  int64_t size = 1;
  int64_t columns = 0;           // of a row; 0 where nothing depends on the rows
  bool has_reduction = false;    // of rows
  bool reduces_columns = false;  // after which nothing fits

  int64_t rows() const { return columns == 0 ? 1 : size / columns; }
};

// False where there is no domain that holds both; the first one then stays as it is.
bool unite(Domain& domain, const Domain& other);

// What elements a value has: one, one for each row, one for each column, which all rows repeat, or
// all. A value of fewer elements than its type stands for that type's broadcast one.
enum class Extent : uint8_t { kScalar, kRow, kColumn, kFull };

// The kinds of equations in clusters.
enum class Role : uint8_t {
  kNone,             // it cannot be in one
  kView,             // its operand's elements as they are
  kBroadcast,        // broadcast_in_dim
  kMove,             // elements of an operand from outside, in another order or some of them
  kCount,            // iota
  kReduction,        // along the last dimensions
  kColumnReduction,  // along the first dimensions; nothing in the cluster reads the result
  kOperation,        // elementwise
};
Role role_of(const Program& program, const Equation& equation);

// The extents of operands that the cluster computes; nothing for those that come from outside.
class Extents {
 public:
  virtual ~Extents() = default;
  virtual std::optional<Extent> of(uint32_t variable) const = 0;
};

// The extent of the equation's result in a cluster of this domain, which grows where it has to.
// Nothing where the equation does not fit; the domain then stays as it is.
std::optional<Extent> extent_in(const Program& program, const Equation& equation, Role role,
                                const Extents& extents, Domain& domain);

// Of all variables of a cluster's body; nothing for its inputs. The domain becomes the cluster's.
std::vector<std::optional<Extent>> extents_of_cluster(const Program& body, Domain& domain);

// Why an equation does not fit, in words.
std::string misfit(const Program& program, const Equation& equation, Role role,
                   const Domain& domain);

// The extent of an operand from outside of an equation that fits; not of a broadcast.
Extent extent_outside(ShapeDtype type, const Domain& domain);

}  // namespace farcall::native
