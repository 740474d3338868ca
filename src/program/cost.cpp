// The cost of programs.
#include <cstdint>
#include <vector>

#include <farcall/program/cost.h>
#include <farcall/program/program.h>
#include <farcall/program/walk.h>

namespace farcall {
Cost Program::cost(const Equation& equation) const {
  const Primitive& primitive = *equation.primitive;
  const Params* params = equation.params.get();
  if (const ProgramPtr body = called_program(equation)) return body->cost();
  if (primitive.cost) return primitive.cost(params);
  Cost cost;
  const auto add_bytes = [&](ShapeDtype type) {
    cost.bytes = saturated_sum(cost.bytes, static_cast<int64_t>(type.nbytes()));
  };
  for (const Atom atom : equation.inputs) add_bytes(type_of(atom));
  for (const uint32_t output : equation.outputs) {
    add_bytes(variable_types[output]);
    cost.flops = saturated_sum(cost.flops, variable_types[output].size());
  }
  if (primitive.flops) {
    std::vector<ShapeDtype> in, out;
    for (const Atom atom : equation.inputs) in.push_back(type_of(atom));
    for (const uint32_t output : equation.outputs) out.push_back(variable_types[output]);
    cost.flops = primitive.flops(in, out, params);
  }
  return cost;
}

Cost Program::cost() const {
  // Kept: many equations may run one program.
  Derived::KnownCost& known = derived.cost();
  Cost total{known.flops, known.bytes};
  if (total.flops >= 0 && total.bytes >= 0) return total;
  total = {};
  for (const Equation& equation : equations) total = total + cost(equation);
  known.flops = total.flops;
  known.bytes = total.bytes;
  return total;
}

}  // namespace farcall
