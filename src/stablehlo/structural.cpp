// Operations that move elements without computing.
#include <fmt/format.h>

#include <farcall/primitives/indexing.h>
#include <farcall/primitives/structural.h>

#include "stablehlo/rules.h"

namespace farcall::stablehlo {
namespace {

Values same(Emitter&, const Call& call) { return {call.inputs.begin(), call.inputs.end()}; }

Values broadcast(Emitter& e, const Call& call) {
  const auto& p = call.params<BroadcastInDimParams>();
  return {e.broadcast_in_dim(call.inputs[0], p.shape, p.broadcast_dimensions)};
}

Values transpose(Emitter& e, const Call& call) {
  return {e.op("stablehlo.transpose", call.inputs, call.result(),
               "permutation = " + array_text(call.params<TransposeParams>().permutation))};
}

Values slice(Emitter& e, const Call& call) {
  const auto& p = call.params<SliceParams>();
  return {e.op("stablehlo.slice", call.inputs, call.result(),
               slice_text(p.start_indices, p.limit_indices, p.strides))};
}

Values concatenate(Emitter& e, const Call& call) {
  return {e.op("stablehlo.concatenate", call.inputs, call.result(),
               fmt::format("dimension = {} : i64", call.params<ConcatenateParams>().dimension))};
}

Values rev(Emitter& e, const Call& call) {
  return {e.op("stablehlo.reverse", call.inputs, call.result(),
               "dimensions = " + array_text(call.params<RevParams>().dimensions))};
}

Values iota(Emitter& e, const Call& call) {
  if (call.dtype() == DType::kBool) return {};
  const auto count = [&](ShapeDtype type) {
    return e.op("stablehlo.iota", Values{}, type,
                fmt::format("iota_dimension = {} : i64", call.params<IotaParams>().dimension));
  };
  if (!is_complex(call.dtype())) return {count(call.result())};
  // XLA ends the process for the absolute value of a complex iota.
  const ShapeDtype part = part_of(call.result());
  return {e.op("stablehlo.complex", {count(part), e.number(part, 0)}, call.result())};
}

Values pad(Emitter& e, const Call& call) {
  const auto& config = call.params<PadParams>().padding_config;
  return {e.pad(call.inputs[0], call.inputs[1], config, call.result())};
}

}  // namespace

void add_structural(Rules& rules) {
  for (const std::string_view name : {"copy", "stop_gradient", "name", "optimization_barrier"}) {
    rules[name] = same;
  }
  rules["broadcast_in_dim"] = broadcast;
  rules["reshape"] = [](Emitter& e, const Call& call) {
    return Values{e.reshape(call.inputs[0], call.result().shape())};
  };
  rules["transpose"] = transpose;
  rules["slice"] = slice;
  rules["concatenate"] = on_bytes(concatenate);
  rules["rev"] = rev;
  rules["iota"] = iota;
  rules["pad"] = pad;
  rules["create_token"] = [](Emitter& e, const Call& call) {
    return Values{e.number(call.result(), 0)};
  };
  // In StableHLO a key is one 64-bit number.
  for (const std::string_view name : {"random_wrap", "random_unwrap"}) {
    rules[name] = [](Emitter& e, const Call& call) {
      return Values{e.op("stablehlo.bitcast_convert", call.inputs, call.result())};
    };
  }
}

}  // namespace farcall::stablehlo
