#include <farcall/ops/optimization_barrier.h>

#include <farcall/primitives/primitives.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/rules.h>

#include "ops/internal/register.h"

namespace farcall {
namespace {

std::vector<ShapeDtype> same_types(std::span<const ShapeDtype> inputs, const Params*) {
  return {inputs.begin(), inputs.end()};
}

// Applies the barrier to the arrays that are not null; null arrays stay.
std::vector<Array> barrier_of(const Primitive& primitive, std::span<const Array> arrays) {
  std::vector<Array> operands;
  for (const Array& array : arrays) {
    if (!array.is_null()) operands.push_back(array);
  }
  std::vector<Array> made = bind_primitive(primitive, nullptr, operands);
  std::vector<Array> results(arrays.begin(), arrays.end());
  size_t next = 0;
  for (Array& result : results) {
    if (!result.is_null()) result = std::move(made[next++]);
  }
  return results;
}

JvpResults barrier_jvp(const JvpCall& call) {
  return {bind_primitive(call.primitive, nullptr, call.primals),
          barrier_of(call.primitive, call.tangents)};
}

std::vector<Array> barrier_transpose(const TransposeCall& call) {
  return barrier_of(call.primitive, call.cotangents);
}

BatchResults barrier_batch(const BatchCall& call) {
  return {bind_primitive(call.primitive, nullptr, call.inputs),
          {call.axes.begin(), call.axes.end()}};
}

std::vector<Array> barrier_at_once(const ParamsPtr&, std::span<const Array> inputs) {
  return {inputs.begin(), inputs.end()};
}

const TransformRules kBarrierRules = {.jvp = barrier_jvp,
                                      .transpose = barrier_transpose,
                                      .batch = barrier_batch,
                                      .evaluate = barrier_at_once};
}  // namespace

const Primitive kBarrier = {.name = "optimization_barrier",
                            .type_rule = same_types,
                            .flops = no_flops,
                            .rules = &kBarrierRules,
                            .kind = PrimitiveKind::kBarrier};
FARCALL_REGISTER_PRIMITIVE(kBarrier);

namespace lax {

std::vector<Array> optimization_barrier(ListOf<Array> operands) {
  return bind_primitive(kBarrier, nullptr, operands);
}

}  // namespace lax
}  // namespace farcall
