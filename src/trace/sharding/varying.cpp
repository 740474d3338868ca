// Tracking of axes: the sets of arrays and programs, and the operations between sets.
#include <farcall/trace/varying.h>

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/primitives/collectives.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/rules.h>

#include "trace/internal/axis_sets.h"
#include "trace/internal/axis_tracking.h"
#include "trace/interpreters/tracing.h"

namespace farcall {
namespace {

// ---- pvary and psum_invariant ----

std::vector<ShapeDtype> same_type(std::span<const ShapeDtype> inputs, const Params*) {
  if (inputs.size() != 1) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("takes 1 operand, got {}", inputs.size()));
  }
  return {inputs[0].strengthened()};
}

std::vector<std::string> axis_names(const Params* params) {
  return params_as<ReduceAxesParams>(params).axes;
}

extern const Primitive kPvary;
extern const Primitive kPsumInvariant;

// A mapped axis has none of the names: it would hide the axis of the mesh.
const TransformRules kPvaryRules = {.jvp = linear_jvp,
                                    .transpose =
                                        [](const TransposeCall& call) {
                                          return bind_primitive(kPsumInvariant, call.params,
                                                                call.cotangents);
                                        },
                                    .batch = same_axis_batch};
const TransformRules kPsumInvariantRules = {.jvp = linear_jvp,
                                            .transpose =
                                                [](const TransposeCall& call) {
                                                  return bind_primitive(kPvary, call.params,
                                                                        call.cotangents);
                                                },
                                            .batch = same_axis_batch};

constexpr Primitive tracked_primitive(std::string_view name, const TransformRules* rules) {
  return {.name = name,
          .type_rule = same_type,
          .parse = parse_params<ReduceAxesParams>,
          .flops = no_flops,
          .rules = rules,
          .axis_names = axis_names,
          .never_run =
              "the program belongs to the body of a shard_map that is being recorded, and "
              "runs only as a part of it"};
}
const Primitive kPvary = tracked_primitive("pvary", &kPvaryRules);
const Primitive kPsumInvariant = tracked_primitive("psum_invariant", &kPsumInvariantRules);

const bool kVaryingRegistered = [] {
  register_primitive(kPvary);
  register_primitive(kPsumInvariant);
  return true;
}();

thread_local AxisTracking* tracking = nullptr;

Array pvary(const Array& array, AxisSet axes) {
  return bind_one(kPvary, make_params(ReduceAxesParams{names_of(axes)}), {&array, 1});
}

// Whether each program in the parameters has operands of its own sets, and marks values itself.
bool marks_itself(const Primitive& primitive, const Params* params) {
  switch (primitive.kind) {
    case PrimitiveKind::kScan:
    case PrimitiveKind::kWhile:
    case PrimitiveKind::kCond:
    case PrimitiveKind::kBarrier:
      return true;
    default:
      return primitive.body || try_params<ShardMapParams>(params) || is_pvary(primitive);
  }
}

}  // namespace

// ---- scopes ----

AxisTracking::AxisTracking(std::span<const std::string> axes) : outer_(tracking) {
  if (outer_) axes_ = outer_->axes_;
  axes_.insert(axes_.end(), axes.begin(), axes.end());
  if (axes_.size() >= 64) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("shard_map: at most 63 axes can be checked, got {}", axes_.size()));
  }
  // An inner shard_map cannot communicate over the axes of an outer one.
  if (outer_) diverging_ = (AxisSet{1} << outer_->axes_.size()) - 1;
  tracking = this;
}
AxisTracking::~AxisTracking() { tracking = outer_; }
AxisTracking* AxisTracking::current() { return tracking; }

WithoutTracking::WithoutTracking() : outer_(tracking) { tracking = nullptr; }
WithoutTracking::~WithoutTracking() { tracking = outer_; }

Diverging::Diverging(AxisSet axes) : tracking_(tracking) {
  if (!tracking_) return;
  outer_ = tracking_->diverging_;
  tracking_->diverging_ |= axes;
}
Diverging::~Diverging() {
  if (tracking_) tracking_->diverging_ = outer_;
}

// ---- sets of arrays ----

bool is_tracking_axes() { return tracking != nullptr; }

std::vector<std::string> names_of(AxisSet axes) {
  std::vector<std::string> names;
  for (size_t i = 0; tracking && i < tracking->axes().size(); ++i) {
    if (axes >> i & 1) names.push_back(tracking->axes()[i]);
  }
  return names;
}

AxisSet varying_axes(const Array& array) {
  if (!tracking || array.is_null() || array.is_concrete()) return 0;
  const auto* node = dynamic_cast<const TracingNode*>(&array.node());
  return (node ? node->varying_axes() : 0) | tracking->diverging();
}

AxisSets varying_axes(std::span<const Array> arrays) {
  if (!tracking) return std::nullopt;
  std::vector<AxisSet> sets;
  sets.reserve(arrays.size());
  for (const Array& array : arrays) sets.push_back(varying_axes(array));
  return sets;
}

Array vary_over(const Array& array, AxisSet axes) {
  if (!tracking || array.is_null() || !has_tangent(array.type())) return array;
  const AxisSet missing = axes & ~varying_axes(array);
  return missing ? pvary(array, missing) : array;
}

std::vector<Array> vary_like(std::vector<Array> arrays, const AxisSets& sets) {
  if (!sets) return arrays;
  for (size_t i = 0; i < std::min(arrays.size(), sets->size()); ++i) {
    arrays[i] = vary_over(arrays[i], (*sets)[i]);
  }
  return arrays;
}

std::vector<Array> vary_alike(std::vector<Array> arrays) {
  if (!tracking) return arrays;
  AxisSet all = 0;
  for (const Array& array : arrays) all |= varying_axes(array);
  // No derivative reaches a concrete array.
  for (Array& array : arrays) {
    if (!array.is_concrete()) array = vary_over(array, all);
  }
  return arrays;
}

// ---- applications ----

bool is_pvary(const Primitive& primitive) { return &primitive == &kPvary; }

bool is_between_sets(const Primitive& primitive) {
  return is_pvary(primitive) || &primitive == &kPsumInvariant;
}

std::vector<Array> met(const AxisTracking& scope, const Primitive& primitive,
                       const ParamsPtr& params, std::span<const Array> inputs) {
  std::vector<Array> operands(inputs.begin(), inputs.end());
  if (is_pvary(primitive)) return operands;
  std::vector<AxisSet> sets = *varying_axes(inputs);
  const AxisTypes types(scope.axes());
  AxisSet wanted = 0;
  if (marks_itself(primitive, params.get())) {
    // Devices that take different ways must not wait for each other inside, so the cotangents are
    // summed outside.
    wanted = types.decision(params.get(), sets);
    for (AxisSet& set : sets) set |= wanted;
    if (params && !params->programs().empty()) types.give_sets(primitive, params.get(), sets);
  } else {
    for (const AxisSet set : sets) wanted |= set;
    if (is_collective(primitive, params.get())) {
      wanted |= types.set_of(primitive.axis_names(params.get()));
    }
  }
  if (wanted == 0) return operands;
  for (Array& operand : operands) {
    // No derivative reaches a concrete array.
    if (!operand.is_concrete()) operand = vary_over(operand, wanted);
  }
  return operands;
}

size_t num_tracked_axes() { return tracking ? tracking->axes().size() : 0; }

std::vector<std::string> take_tracked(std::vector<std::string>& axes) {
  std::vector<std::string> taken;
  if (!tracking) return taken;
  std::erase_if(axes, [&](const std::string& name) {
    const bool is_tracked = std::ranges::find(tracking->axes(), name) != tracking->axes().end();
    if (is_tracked) taken.push_back(name);
    return is_tracked;
  });
  return taken;
}

AxisSet tracked_axes(std::span<const std::string> names) {
  return tracking ? AxisTypes(tracking->axes()).set_of(names) : 0;
}

Array psum_over(const Array& x, std::vector<std::string> axes) {
  return bind_one(kPsumInvariant, make_params(ReduceAxesParams{std::move(axes)}), {&x, 1});
}

// ---- programs ----

namespace {

struct KeptAxes {
  std::mutex mutex;
  std::optional<ProgramAxes> axes;
};
using KeptAxesPtr = std::shared_ptr<KeptAxes>;

KeptAxesPtr kept_axes(const Program& program) {
  return program.derived.find_or_make<KeptAxesPtr>("axes", {},
                                                   [] { return std::make_shared<KeptAxes>(); });
}

}  // namespace

void keep_axes(const Program& program, ProgramAxes axes) {
  const KeptAxesPtr kept = kept_axes(program);
  const std::lock_guard lock(kept->mutex);
  if (!kept->axes) kept->axes = std::move(axes);
}

std::optional<ProgramAxes> axes_of(const Program& program) {
  return tracking ? kept_axes_of(program) : std::nullopt;
}

std::optional<ProgramAxes> kept_axes_of(const Program& program) {
  const KeptAxesPtr kept = kept_axes(program);
  const std::lock_guard lock(kept->mutex);
  return kept->axes;
}

}  // namespace farcall
