// Which equations can run together, tile by tile, and which elements of a cluster each value has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <farcall/program/program.h>

#include "engine/native/kernels/movement/moves.h"

namespace farcall::native {

// The elements of a cluster, in row-major order.
struct Domain {
  int64_t size = 1;
  int64_t columns = 0;           // of a row; 0 if no value depends on the rows
  bool may_regroup = false;      // only broadcasts that may be moves instead depend on the rows
  bool has_reduction = false;    // has a row reduction
  bool has_transposed = false;   // reads transposed matrices; nothing is reduced then
  bool reduces_columns = false;  // ends with a column reduction; no further equation fits

  int64_t rows() const { return columns == 0 ? 1 : size / columns; }
};

// Extends `domain` to hold both. Returns false and leaves it unchanged if no domain holds both.
bool unite(Domain& domain, const Domain& other);

// The elements of a value: one; one for each row; one for each column, repeated in all rows; or
// all. A value with fewer elements than its type stands for the broadcast value.
enum class Extent : uint8_t { kScalar, kRow, kColumn, kFull };

// The most operands of a concatenation in a cluster.
inline constexpr size_t kMostJoined = 16;

// The kinds of equations in clusters.
enum class Role : uint8_t {
  kNone,             // not allowed in clusters
  kView,             // the elements of the operand, unchanged
  kBroadcast,        // broadcast_in_dim; a kMove where the rows of the cluster do not fit
  kMove,             // selects or permutes the elements of an operand from outside
  kPart,             // a slice of such an operand that only a kJoin reads
  kJoin,             // concatenates operands from outside, and kParts
  kPad,              // adds elements around an operand from outside
  kTake,             // takes elements of an operand from outside at the indices of another one
  kCount,            // iota
  kReduction,        // along the last dimensions
  kColumnReduction,  // along the first dimensions; nothing in the cluster reads the result
  kOperation,        // elementwise
};
Role role_of(const Program& program, const Equation& equation);

// Where the elements of a kMove are in its operand; those of a dynamic slice, relative to its
// start.
std::optional<ElementSource> moved_elements(const Program& program, const Equation& equation);

// Whether a slice may be a kPart of this equation, if that is a kJoin.
bool may_be_part(const Program& program, const Equation& slice, const Equation& join);

// The extents of values that the cluster computes; no value for operands from outside.
class Extents {
 public:
  virtual ~Extents() = default;
  virtual std::optional<Extent> of(uint32_t variable) const = 0;
};

// The extent of the equation's result in a cluster of this domain, which is extended if necessary.
// Equations that are added later may give the domain other rows, if `may_regroup` is set.
// Returns no value and leaves the domain unchanged if the equation does not fit.
std::optional<Extent> extent_in(const Program& program, const Equation& equation, Role role,
                                const Extents& extents, Domain& domain);

struct ClusterLayout {
  Domain domain;
  std::vector<Role> roles;                     // by equation
  std::vector<std::optional<Extent>> extents;  // by variable; no value for inputs and kParts
};
ClusterLayout layout_of_cluster(const Program& body);

// The reason why an equation does not fit, for reports.
std::string misfit(const Program& program, const Equation& equation, Role role,
                   const Domain& domain);

// The extent of an operand from outside, for an equation that fits and is not a broadcast.
Extent extent_outside(ShapeDtype type, const Domain& domain);

}  // namespace farcall::native
