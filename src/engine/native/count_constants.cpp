#include "engine/native/count_constants.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include <farcall/primitives/structural.h>

#include "engine/native/cluster_domain.h"
#include "passes/internal/foreign.h"
#include "passes/internal/nested.h"

namespace farcall::native {
namespace {

// Shorter constants stay in the caches.
constexpr int64_t kLeastElements = 4096;

template <class T>
bool counts_up(const void* data, int64_t size) {
  const auto* x = static_cast<const T*>(data);
  if constexpr (std::is_floating_point_v<T>) {
    if (std::signbit(x[0])) return false;
  }
  for (int64_t i = 0; i < size; ++i) {
    if (x[i] != static_cast<T>(i)) return false;
  }
  return true;
}

bool counts_up(ShapeDtype type, const Storage& storage) {
  if (type.rank() != 1 || type.size() < kLeastElements || !storage.data()) return false;
  switch (type.dtype()) {
    case DType::kInt32:
      return counts_up<int32_t>(storage.data(), type.size());
    case DType::kUInt32:
      return counts_up<uint32_t>(storage.data(), type.size());
    case DType::kInt64:
      return counts_up<int64_t>(storage.data(), type.size());
    case DType::kFloat32:
      return counts_up<float>(storage.data(), type.size());
    case DType::kFloat64:
      return counts_up<double>(storage.data(), type.size());
    default:
      return false;
  }
}

// Whether the equation reads the elements of the variable one after the other.
bool reads_in_order(const Program& program, const Equation& equation, uint32_t variable) {
  switch (role_of(program, equation)) {
    case Role::kView:
    case Role::kBroadcast:
    case Role::kOperation:
      return true;
    case Role::kTake:
      return equation.inputs[0] != Atom::variable(variable);
    default:
      return false;
  }
}

bool is_read_in_order(const Program& program, uint32_t variable) {
  const Atom atom = Atom::variable(variable);
  return std::ranges::find(program.outputs, atom) == program.outputs.end() &&
         std::ranges::all_of(program.equations, [&](const Equation& equation) {
           return std::ranges::find(equation.inputs, atom) == equation.inputs.end() ||
                  reads_in_order(program, equation, variable);
         });
}

}  // namespace

ProgramPtr count_constants(ProgramPtr program) {
  program = pass_nested(std::move(program), count_constants);
  std::vector<uint32_t> counting;
  for (const Constant& constant : program->constants) {
    const ShapeDtype type = program->variable_types[constant.variable];
    if (!counts_up(type, constant.storage)) continue;
    if (is_read_in_order(*program, constant.variable)) counting.push_back(constant.variable);
  }
  if (counting.empty()) return program;
  const std::vector<bool> of_calls = values_of_calls(*program);
  std::erase_if(counting, [&](uint32_t variable) { return of_calls[variable]; });
  if (counting.empty()) return program;
  const std::shared_ptr<Program> changed = to_change(std::move(program));
  std::erase_if(changed->constants, [&](const Constant& constant) {
    return std::ranges::find(counting, constant.variable) != counting.end();
  });
  std::vector<Equation> counts;
  for (const uint32_t variable : counting) {
    const ShapeDtype type = changed->variable_types[variable];
    counts.push_back({.primitive = &primitive_named("iota"),
                      .params = make_params(IotaParams{type.dtype(), {type.size()}, 0}),
                      .outputs = {variable}});
  }
  changed->equations.insert(changed->equations.begin(), std::make_move_iterator(counts.begin()),
                            std::make_move_iterator(counts.end()));
  return changed;
}

}  // namespace farcall::native
