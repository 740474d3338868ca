#include "engine/native/cluster_domain.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/primitives/indexing.h>
#include <farcall/primitives/reduce.h>
#include <farcall/primitives/structural.h>

#include "engine/native/kernels/clusters/tile_load.h"
#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/movement/moves.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/movement/take.h"

namespace farcall::native {
namespace {

// A tile of a row reduction holds whole rows, so several rows must fit in the cache.
constexpr int64_t kMaxReducedColumns = 8192;

Extent join(Extent a, Extent b) {
  if (a == b || b == Extent::kScalar) return a;
  return a == Extent::kScalar ? b : Extent::kFull;
}

std::optional<Extent> known_extent(Atom atom, const Extents& extents) {
  return atom.is_variable() ? extents.of(atom.index) : Extent::kScalar;
}

// `may_regroup`: see Domain.
bool set_columns(Domain& domain, int64_t columns, bool may_regroup = false) {
  const bool is_other = domain.columns != 0 && domain.columns != columns;
  if (is_other && (may_regroup || !domain.may_regroup)) return false;
  if (domain.has_reduction && columns > kMaxReducedColumns) return false;
  domain.may_regroup = may_regroup && (domain.columns == 0 || domain.may_regroup);
  domain.columns = columns;
  return true;
}

bool set_size(Domain& domain, int64_t size) {
  if (domain.size != size && domain.size != 1) return false;
  domain.size = size;
  return true;
}

// How a broadcast repeats an operand that has more than one element but fewer than its result: as a
// whole (kColumn), or each element (kRow). No value for other patterns.
std::optional<Extent> repetition(const Program& program, const Equation& equation) {
  const auto& mapped = params_as<BroadcastInDimParams>(equation.params.get()).broadcast_dimensions;
  const ShapeDtype in = program.type_of(equation.inputs[0]);
  const ShapeDtype out = program.variable_types[equation.outputs[0]];
  // For each dimension of the result with more than one element: whether the operand has it.
  std::vector<bool> has;
  size_t next = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(out.rank()); ++i) {
    const bool is_mapped = next < mapped.size() && mapped[next] == i;
    const bool is_there = is_mapped && in.shape()[next] != 1;
    if (is_mapped) ++next;
    if (out.shape()[i] != 1) has.push_back(is_there);
  }
  if (std::ranges::is_sorted(has, std::greater<>())) return Extent::kRow;
  if (std::ranges::is_sorted(has)) return Extent::kColumn;
  return std::nullopt;
}

bool is_cheap_move(const Program& program, const Equation& equation) {
  const ShapeDtype result = program.variable_types[equation.outputs[0]];
  const std::optional<ElementSource> source = moved_elements(program, equation);
  return source && (result.size() == 1 || StridedView(result, *source).is_worth_loading());
}

bool is_transposed_move(const Program& program, const Equation& equation) {
  const std::optional<ElementSource> source = moved_elements(program, equation);
  return source &&
         StridedView(program.variable_types[equation.outputs[0]], *source).is_transposed();
}

std::optional<Extent> extent_of_view(const Equation& equation, const Extents& extents) {
  const Atom operand = equation.inputs[0];
  return operand.is_variable() ? extents.of(operand.index) : std::nullopt;
}

std::optional<Extent> extent_of_broadcast(const Program& program, const Equation& equation,
                                          const Extents& extents, Domain& domain) {
  const Atom operand = equation.inputs[0];
  const int64_t from = program.type_of(operand).size();
  const int64_t to = program.variable_types[equation.outputs[0]].size();
  std::optional<Extent> known = known_extent(operand, extents);
  const bool is_outside = !known;
  if (is_outside && from == 1) known = Extent::kScalar;
  if (known == Extent::kScalar) {
    const bool has_rows = domain.columns != 0 && !domain.may_regroup;
    const bool fits = to == 1 || set_size(domain, to) || (has_rows && to == domain.rows());
    return fits ? known : std::nullopt;
  }
  if (from == to) {
    if (!is_outside) return known;
    return set_size(domain, to) ? std::optional(Extent::kFull) : std::nullopt;
  }
  if (!is_outside && (known != Extent::kRow || from != domain.rows())) return std::nullopt;
  if (!set_size(domain, to)) return std::nullopt;
  // A value reduced over all dimensions has one element.
  if (!is_outside && from == 1) return known;
  const std::optional<Extent> repeated = repetition(program, equation);
  if (!repeated || (!is_outside && repeated != known)) return std::nullopt;
  const int64_t columns = repeated == Extent::kRow ? to / from : from;
  const bool may_be_move =
      is_outside && repeated == Extent::kColumn && is_cheap_move(program, equation);
  return set_columns(domain, columns, may_be_move) ? repeated : std::nullopt;
}

std::optional<Extent> extent_of_reduction(const Program& program, const Equation& equation,
                                          Domain& domain) {
  const Atom operand = equation.inputs[0];
  if (!operand.is_variable()) return std::nullopt;
  const int64_t from = program.type_of(operand).size();
  const int64_t to = program.variable_types[equation.outputs[0]].size();
  const int64_t columns = from / to;
  if (domain.has_transposed || columns <= 1 || columns > kMaxReducedColumns ||
      !set_size(domain, from) || !set_columns(domain, columns)) {
    return std::nullopt;
  }
  domain.has_reduction = true;
  return Extent::kRow;
}

// `operands` have an element for each of the result.
std::optional<Extent> extent_of_operation(const Program& program, const Equation& equation,
                                          std::span<const Atom> operands, const Extents& extents,
                                          Domain& domain) {
  const int64_t size = program.variable_types[equation.outputs[0]].size();
  std::optional<Extent> result = Extent::kScalar;
  bool has_outside = false;
  for (const Atom operand : operands) {
    std::optional<Extent> known = known_extent(operand, extents);
    if (!known && program.type_of(operand).size() == 1) known = Extent::kScalar;
    if (known) {
      result = join(*result, *known);
    } else {
      has_outside = true;
    }
  }
  if (size != 1) {
    const bool is_of_rows = size != domain.size && domain.size != 1 && domain.columns != 0 &&
                            size == domain.rows() && result == Extent::kRow;
    if (!is_of_rows && !set_size(domain, size)) return std::nullopt;
    if (has_outside) result = is_of_rows ? Extent::kRow : Extent::kFull;
  }
  // A result of column values only is computed for all rows, as it would be outside of a cluster.
  return result == Extent::kColumn ? Extent::kFull : result;
}

// Applies to values that the cluster computes. Several rows are processed at a time, as many as fit
// in the cache.
std::optional<Extent> extent_of_column_reduction(const Program& program, const Equation& equation,
                                                 const Extents& extents, Domain& domain) {
  const Atom operand = equation.inputs[0];
  if (!operand.is_variable()) return std::nullopt;
  const std::optional<Extent> known = extents.of(operand.index);
  if (known != Extent::kFull && known != Extent::kColumn) return std::nullopt;
  const int64_t from = program.type_of(operand).size();
  const int64_t to = program.variable_types[equation.outputs[0]].size();
  if (domain.has_reduction || domain.has_transposed || from != domain.size ||
      !set_columns(domain, to)) {
    return std::nullopt;
  }
  domain.reduces_columns = true;
  return Extent::kColumn;
}

// The operands must come from outside: a moved element may lie in another tile of the cluster.
std::optional<Extent> extent_of_move(const Program& program, const Equation& equation,
                                     const Extents& extents, Domain& domain) {
  if (!equation.inputs[0].is_variable()) return std::nullopt;
  for (const Atom operand : equation.inputs) {
    if (operand.is_variable() && extents.of(operand.index)) return std::nullopt;
  }
  const int64_t size = program.variable_types[equation.outputs[0]].size();
  if (size == 1) return Extent::kScalar;
  const bool is_transposed = is_transposed_move(program, equation);
  if ((is_transposed && domain.has_reduction) || !set_size(domain, size)) return std::nullopt;
  domain.has_transposed |= is_transposed;
  return Extent::kFull;
}

// An element may be taken from another tile of the operand, which must come from outside therefore.
std::optional<Extent> extent_of_take(const Program& program, const Equation& equation,
                                     const Extents& extents, Domain& domain) {
  if (extents.of(equation.inputs[0].index)) return std::nullopt;
  return extent_of_operation(program, equation, std::span(equation.inputs).subspan(1), extents,
                             domain);
}

// Whether the equation takes single elements.
bool is_take(const Program& program, const Equation& equation, const GatherParams& params) {
  const ShapeDtype operand = program.type_of(equation.inputs[0]);
  const ShapeDtype indices = program.type_of(equation.inputs[1]);
  const ShapeDtype result = program.variable_types[equation.outputs[0]];
  if (!equation.inputs[0].is_variable() || result.size() < 2 || result.size() != indices.size()) {
    return false;
  }
  const Windows windows = windows_of_gather(params, operand, indices, result);
  return windows.line() && Take::of(windows, params, operand.dtype(), indices.dtype());
}

bool is_cheap_pad(const Program& program, const Equation& equation, const PadParams& params) {
  const ShapeDtype result = program.variable_types[equation.outputs[0]];
  if (!equation.inputs[0].is_variable() || result.size() < 2) return false;
  const auto padded =
      Padded::of(program.type_of(equation.inputs[0]), result, params.padding_config);
  return padded && padded->is_worth_loading();
}

bool is_cheap_join(const Program& program, const Equation& equation, int64_t dimension) {
  if (equation.inputs.size() > kMostJoined) return false;
  std::vector<Joined::Operand> operands;
  for (const Atom atom : equation.inputs) {
    if (!atom.is_variable()) return false;
    operands.push_back({program.type_of(atom), 0});
  }
  return Joined(program.variable_types[equation.outputs[0]], dimension, operands)
      .is_worth_loading();
}

// The role of an equation that reduces its last or its first dimensions; kNone for others.
Role role_of_reduction(const Program& program, const Equation& equation) {
  const auto* params = try_params<ReduceParams>(equation.params.get());
  if (!params) return Role::kNone;
  const ShapeDtype type = program.type_of(equation.inputs[0]);
  std::vector<bool> goes;  // whether reduced, for each dimension with more than one element
  for (int64_t i = 0; i < static_cast<int64_t>(type.rank()); ++i) {
    if (type.shape()[i] == 1) continue;
    goes.push_back(std::ranges::find(params->axes, i) != params->axes.end());
  }
  if (std::ranges::find(goes, true) == goes.end()) return Role::kNone;
  if (std::ranges::is_sorted(goes)) return Role::kReduction;
  return std::ranges::is_sorted(goes, std::greater<>()) ? Role::kColumnReduction : Role::kNone;
}

}  // namespace

bool unite(Domain& domain, const Domain& other) {
  Domain both = domain;
  both.has_reduction = domain.has_reduction || other.has_reduction;
  both.has_transposed = domain.has_transposed || other.has_transposed;
  if (both.has_reduction && both.has_transposed) return false;
  if (other.size != 1 && !set_size(both, other.size)) return false;
  const bool has_columns =
      other.columns == 0 || set_columns(both, other.columns, other.may_regroup);
  if (!has_columns && !other.may_regroup) return false;
  if (both.has_reduction && both.columns > kMaxReducedColumns) return false;
  domain = both;
  return true;
}

std::optional<ElementSource> moved_elements(const Program& program, const Equation& equation) {
  const ShapeDtype operand = program.type_of(equation.inputs[0]);
  if (try_params<DynamicSliceParams>(equation.params.get())) {
    return ElementSource{dense_strides(operand.shape())};
  }
  return element_source(equation.primitive->name, operand,
                        program.variable_types[equation.outputs[0]], equation.params.get());
}

bool may_be_part(const Program& program, const Equation& slice, const Equation& join) {
  const auto* params = try_params<ConcatenateParams>(join.params.get());
  if (!params || !slice.inputs[0].is_variable()) return false;
  const ShapeDtype type = program.variable_types[slice.outputs[0]];
  if (type.size() == 0) return false;
  return StridedView(type, *moved_elements(program, slice))
      .stride_of_runs(Joined::run_size(type, params->dimension))
      .has_value();
}

Role role_of(const Program& program, const Equation& equation) {
  if (equation.outputs.size() != 1 || has_effect(equation.effects)) return Role::kNone;
  const auto is_ordinary = [](ShapeDtype type) {
    return !type.is_token() && !is_key(type.dtype()) && type.size() > 0;
  };
  const ShapeDtype out = program.variable_types[equation.outputs[0]];
  if (const auto* params = try_params<ConcatenateParams>(equation.params.get())) {
    const bool is_join = is_ordinary(out) && equation.inputs.size() > 1 &&
                         is_cheap_join(program, equation, params->dimension);
    return is_join ? Role::kJoin : Role::kNone;
  }
  if (try_params<DynamicSliceParams>(equation.params.get())) {
    const bool is_move = is_ordinary(out) && is_ordinary(program.type_of(equation.inputs[0])) &&
                         is_cheap_move(program, equation);
    return is_move ? Role::kMove : Role::kNone;
  }
  if (const auto* params = try_params<PadParams>(equation.params.get())) {
    const bool is_of_numbers = is_ordinary(out) && is_ordinary(program.type_of(equation.inputs[0]));
    return is_of_numbers && is_cheap_pad(program, equation, *params) ? Role::kPad : Role::kNone;
  }
  if (const auto* params = try_params<GatherParams>(equation.params.get())) {
    const bool is_of_numbers = is_ordinary(out) && is_ordinary(program.type_of(equation.inputs[0]));
    return is_of_numbers && is_take(program, equation, *params) ? Role::kTake : Role::kNone;
  }
  if (equation.inputs.size() > kMaxElementwiseInputs) return Role::kNone;
  std::array<ShapeDtype, kMaxElementwiseInputs> types;
  for (size_t i = 0; i < equation.inputs.size(); ++i)
    types[i] = program.type_of(equation.inputs[i]);
  const std::span<const ShapeDtype> inputs(types.data(), equation.inputs.size());
  if (!is_ordinary(out) || !std::ranges::all_of(inputs, is_ordinary)) return Role::kNone;
  const Primitive& primitive = *equation.primitive;
  if (primitive.kind == PrimitiveKind::kView) return Role::kView;
  const Params* params = equation.params.get();
  const ElementwiseFactory describe = find_elementwise(primitive.name);
  if (!describe) {
    if (try_params<BroadcastInDimParams>(params)) return Role::kBroadcast;
    if (try_params<IotaParams>(params)) return out.size() == 1 ? Role::kNone : Role::kCount;
    const bool is_move = inputs.size() == 1 && is_cheap_move(program, equation);
    return is_move ? Role::kMove : role_of_reduction(program, equation);
  }
  const ElementwiseSpec spec = describe(inputs, {&out, 1}, params);
  if (spec.conversion && spec.conversion->is_copy()) return Role::kView;
  return spec.is_valid() ? Role::kOperation : Role::kNone;
}

namespace {

// The same as extent_in. Changes the role of a broadcast that has to be a move.
std::optional<Extent> place_in(const Program& program, const Equation& equation, Role& role,
                               const Extents& extents, Domain& domain) {
  if (domain.reduces_columns) return std::nullopt;
  Domain grown = domain;
  std::optional<Extent> found;
  switch (role) {
    case Role::kNone:
    case Role::kPart:
      break;
    case Role::kView:
      found = extent_of_view(equation, extents);
      break;
    case Role::kBroadcast:
      found = extent_of_broadcast(program, equation, extents, grown);
      if (!found && is_cheap_move(program, equation)) {
        grown = domain;
        found = extent_of_move(program, equation, extents, grown);
        role = Role::kMove;
      }
      break;
    case Role::kMove:
    case Role::kJoin:
    case Role::kPad:
      found = extent_of_move(program, equation, extents, grown);
      break;
    case Role::kTake:
      found = extent_of_take(program, equation, extents, grown);
      break;
    case Role::kCount:
      if (set_size(grown, program.variable_types[equation.outputs[0]].size())) {
        found = Extent::kFull;
      }
      break;
    case Role::kReduction:
      found = extent_of_reduction(program, equation, grown);
      break;
    case Role::kColumnReduction:
      found = extent_of_column_reduction(program, equation, extents, grown);
      break;
    case Role::kOperation:
      found = extent_of_operation(program, equation, equation.inputs, extents, grown);
      break;
  }
  if (found) domain = grown;
  return found;
}

// All results of equations that a kJoin reads are kParts.
void find_parts(const Program& body, std::vector<Role>& roles) {
  if (std::ranges::find(roles, Role::kJoin) == roles.end()) return;
  std::vector<size_t> made_by(body.variable_types.size(), SIZE_MAX);
  for (size_t i = 0; i < body.equations.size(); ++i) {
    const Equation& equation = body.equations[i];
    made_by[equation.outputs[0]] = i;
    if (roles[i] != Role::kJoin) continue;
    for (const Atom atom : equation.inputs) {
      if (made_by[atom.index] != SIZE_MAX) roles[made_by[atom.index]] = Role::kPart;
    }
  }
}

}  // namespace

std::optional<Extent> extent_in(const Program& program, const Equation& equation, Role role,
                                const Extents& extents, Domain& domain) {
  return place_in(program, equation, role, extents, domain);
}

ClusterLayout layout_of_cluster(const Program& body) {
  class Inside final : public Extents {
   public:
    explicit Inside(size_t num_variables) : found(num_variables) {}
    std::optional<Extent> of(uint32_t variable) const override { return found[variable]; }

    std::vector<std::optional<Extent>> found;
  };
  std::vector<Role> roles;
  roles.reserve(body.equations.size());
  for (const Equation& equation : body.equations) roles.push_back(role_of(body, equation));
  find_parts(body, roles);
  ClusterLayout layout;
  // The second pass knows all rows and columns of the domain.
  Inside inside(0);
  for (int i = 0; i < 2; ++i) {
    inside = Inside(body.variable_types.size());
    layout.roles = roles;
    layout.domain.reduces_columns = false;
    for (size_t j = 0; j < body.equations.size(); ++j) {
      const Equation& equation = body.equations[j];
      if (roles[j] == Role::kPart) continue;
      const auto extent = place_in(body, equation, layout.roles[j], inside, layout.domain);
      FARCALL_ASSERT(extent.has_value());
      inside.found[equation.outputs[0]] = extent;
    }
  }
  layout.extents = std::move(inside.found);
  return layout;
}

std::string misfit(const Program& program, const Equation& equation, Role role,
                   const Domain& domain) {
  const bool is_reduction = role == Role::kReduction || role == Role::kColumnReduction;
  if ((is_reduction && domain.has_transposed) ||
      (role == Role::kMove && domain.has_reduction && is_transposed_move(program, equation))) {
    return "a cluster that reads a transposed matrix reduces nothing";
  }
  if (role == Role::kMove || role == Role::kJoin || role == Role::kPad || role == Role::kTake) {
    return "it reads elements of other tiles than it writes";
  }
  const ShapeDtype in = program.type_of(equation.inputs[0]);
  const ShapeDtype out = program.variable_types[equation.outputs[0]];
  if (role == Role::kReduction && in.size() / out.size() > kMaxReducedColumns) {
    return fmt::format("its rows of {} elements are longer than the {} that a cluster reduces",
                       in.size() / out.size(), kMaxReducedColumns);
  }
  if (role == Role::kColumnReduction && domain.has_reduction) {
    return "a cluster that reduces rows does not reduce columns too";
  }
  const std::string lie =
      domain.columns == 0 ? fmt::format("{} elements", domain.size)
                          : fmt::format("{} rows of {} elements", domain.rows(), domain.columns);
  return fmt::format("that cluster goes over {}, which {} does not fit", lie,
                     (is_reduction ? in : out).to_string());
}

Extent extent_outside(ShapeDtype type, const Domain& domain) {
  if (type.size() == 1) return Extent::kScalar;
  return type.size() == domain.size ? Extent::kFull : Extent::kRow;
}

}  // namespace farcall::native
