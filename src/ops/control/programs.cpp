#include "ops/control/programs.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/batch.h>

#include "ops/type_rules.h"

namespace farcall::control {

void append_range(Order& order, size_t begin, size_t count) {
  for (size_t i = 0; i < count; ++i) order.push_back(static_cast<int64_t>(begin + i));
}

ProgramPtr rearrange(const ProgramPtr& program, const Order& inputs, const Order& outputs,
                     std::span<const ShapeDtype> unused) {
  const auto is_identity = [](const Order& order, size_t size) {
    Order natural;
    append_range(natural, 0, size);
    return order == natural;
  };
  if (is_identity(inputs, program->inputs.size()) &&
      is_identity(outputs, program->outputs.size())) {
    return program;
  }
  Order key = inputs;
  key.push_back(static_cast<int64_t>(inputs.size()));
  append<int64_t>(key, outputs);
  for (const ShapeDtype type : unused) key.push_back(reinterpret_cast<intptr_t>(type.id()));
  return program->derived.find_or_make<ProgramPtr>("rearranged", std::move(key), [&]() {
    auto result = std::make_shared<Program>(*program);
    result->inputs.clear();
    size_t next_unused = 0;
    for (const int64_t input : inputs) {
      if (input == kUnused) {
        result->inputs.push_back(static_cast<uint32_t>(result->variable_types.size()));
        result->variable_types.push_back(unused[next_unused++]);
      } else {
        result->inputs.push_back(program->inputs[static_cast<size_t>(input)]);
      }
    }
    result->outputs = in_order<Atom>(program->outputs, outputs);
    return ProgramPtr(std::move(result));
  });
}

std::vector<bool> flags_of(const std::vector<bool>& flags, size_t begin, size_t count) {
  const auto first = flags.begin() + static_cast<int64_t>(begin);
  return {first, first + static_cast<int64_t>(count)};
}

size_t count_of(const std::vector<bool>& flags) {
  return static_cast<size_t>(std::ranges::count(flags, true));
}

std::vector<bool> operator!(std::vector<bool> flags) {
  flags.flip();
  return flags;
}

std::vector<bool> operator+(std::vector<bool> a, const std::vector<bool>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Array> with_tangents(const JvpCall& call) {
  std::vector<Array> operands(call.primals.begin(), call.primals.end());
  for (const Array& tangent : call.tangents) {
    if (!tangent.is_null()) operands.push_back(tangent);
  }
  return operands;
}

void check_same_types(std::span<const ShapeDtype> types, std::span<const ShapeDtype> others,
                      std::string_view what, std::string_view other) {
  if (std::ranges::equal(types, others, {}, &ShapeDtype::strengthened, &ShapeDtype::strengthened)) {
    return;
  }
  type_error(fmt::format("{} ({}) must be of the types of {} ({})", what, describe(types), other,
                         describe(others)));
}

ShapeDtype slice_of(ShapeDtype type) { return type.with_shape(type.shape().subspan(1)); }

ShapeDtype stack_of(ShapeDtype type, int64_t length) { return batched_type(type, 0, length); }

}  // namespace farcall::control
