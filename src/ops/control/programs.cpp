#include "ops/control/programs.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/type_text.h>
#include <farcall/ops/callback.h>
#include <farcall/program/walk.h>
#include <farcall/trace/batch.h>

#include "ops/foreign/vmap_methods.h"

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
  for (const ShapeDtype& type : unused) key.push_back(type.id());
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

SharedPrograms share_captured(std::span<const Recording> recordings) {
  SharedPrograms shared;
  std::unordered_map<const ArrayNode*, int64_t> places;
  for (const Recording& recording : recordings) {
    for (const Array& array : recording.captured) {
      const auto place = static_cast<int64_t>(shared.captured.size());
      if (places.try_emplace(&array.node(), place).second) shared.captured.push_back(array);
    }
  }
  for (const auto& [program, captured] : recordings) {
    Order inputs(shared.captured.size(), kUnused), outputs;
    for (size_t i = 0; i < captured.size(); ++i) {
      inputs[static_cast<size_t>(places[&captured[i].node()])] = static_cast<int64_t>(i);
    }
    std::vector<ShapeDtype> unused;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kUnused) unused.push_back(shared.captured[i].type());
    }
    append_range(inputs, captured.size(), program->inputs.size() - captured.size());
    append_range(outputs, 0, program->outputs.size());
    shared.programs.push_back(rearrange(program, inputs, outputs, unused));
  }
  return shared;
}

FlatFunction as_function(const Recording& recording) {
  return [recording](std::span<const Array> inputs) {
    return evaluate(*recording.program, concat<Array>(recording.captured, inputs));
  };
}

bool widen(AxisSets& carry, const Program& program) {
  if (!carry) return false;
  const std::vector<AxisSet> out = axes_of(program)->outputs;
  bool has_changed = false;
  for (size_t i = 0; i < carry->size(); ++i) {
    AxisSet& axes = (*carry)[i];
    has_changed |= (out[i] & ~axes) != 0;
    axes |= out[i];
  }
  return has_changed;
}

namespace {

// Raises for an ordered callback without a vmap_method.
void check_order(const BatchCall& call, const Equation& equation, std::string_view where) {
  const CallbackParams* callback = try_callback(equation.params.get());
  // debug_callback runs in the order of the elements anyway.
  if (!callback || !callback->is_ordered || callback->vmap_method ||
      equation.primitive == &callback_primitive(CallbackKind::kDebug)) {
    return;
  }
  invalid_argument(
      fmt::format("{}: vmap over {} makes the decision differ between the elements, and {} calls "
                  "{} {}, which is ordered: the order of its effects would be lost. Ask for one "
                  "element after the other with vmap_method=\"sequential\", or give "
                  "ordered=False",
                  call.primitive.name, to_string(call.axis), where, equation.primitive->name,
                  callback->callback->name));
}

}  // namespace

BatchResults batch_with_effects(const BatchCall& call, std::string_view where) {
  const std::string_view name = call.primitive.name;
  for (const NamedProgram& nested : call.params->programs()) {
    for_each_program(*nested.program, [&](const Program& each) {
      for (const Equation& equation : each.equations) check_order(call, equation, where);
    });
  }
  const auto axes = call.primitive.axis_names(call.params.get());
  if (!call.axis.name.empty() && std::ranges::find(axes, call.axis.name) != axes.end()) {
    throw Error(
        ErrorCode::kUnimplemented,
        fmt::format("{}: vmap over {} makes the decision differ between the elements, and {} "
                    "has effects, so that each element runs by itself; but it also has a "
                    "collective over that axis, which needs all elements at once",
                    name, to_string(call.axis), where));
  }
  return batch_in_loop(call, std::string(name));
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
  invalid_argument(fmt::format("{} ({}) must be of the types of {} ({})", what,
                               types_to_string(types), other, types_to_string(others)));
}

ShapeDtype slice_of(ShapeDtype type) { return type.with_shape(type.shape().subspan(1)); }

ShapeDtype stack_of(ShapeDtype type, int64_t length) { return batched_type(type, 0, length); }

}  // namespace farcall::control
