#include "ops/foreign/vmap_methods.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <farcall/ops/lax.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/primitives/primitives.h>
#include <farcall/program/program.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/interpreter.h>

namespace farcall {
namespace {

ShapeDtype with_leading(ShapeDtype type, int64_t size) {
  return type.is_token() ? type : batched_type(type, 0, size);
}

bool is_aliased(const ForeignSite& site, size_t input) {
  return std::ranges::any_of(site.input_output_aliases, [&](const auto& alias) {
    return alias.first == static_cast<int64_t>(input);
  });
}

std::vector<int64_t> result_axes(std::span<const ShapeDtype> results) {
  std::vector<int64_t> axes;
  for (const ShapeDtype& type : results) axes.push_back(type.is_token() ? kNotBatched : 0);
  return axes;
}

// Moves the batch dimensions of operands to the front.
std::vector<Array> all_in_front(const BatchCall& call) {
  std::vector<Array> inputs;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    inputs.push_back(call.is_batched(i) ? move_axis(call.inputs[i], call.axes[i], 0, call.axis.size)
                                        : call.inputs[i]);
  }
  return inputs;
}

// One call on whole batches. Unbatched operands get a leading dimension of size `unbatched_size`,
// if it has a value. Aliased operands get the full size, because their memory is that of a result.
BatchResults batch_at_once(const BatchCall& call, const ForeignSite& site,
                           std::vector<Array> inputs, std::optional<int64_t> unbatched_size) {
  std::vector<bool> is_widened(inputs.size(), false);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type().is_token()) continue;
    if (!call.is_batched(i)) {
      const auto size = is_aliased(site, i) ? call.axis.size : unbatched_size;
      if (!size) continue;
      inputs[i] = move_axis(inputs[i], kNotBatched, 0, *size);
    }
    is_widened[i] = true;
  }
  std::vector<ShapeDtype> results;
  for (const ShapeDtype& type : site.result_types) {
    results.push_back(with_leading(type, call.axis.size));
  }
  std::vector<int64_t> axes = result_axes(results);
  return {bind_primitive(call.primitive, site.widened(is_widened, std::move(results)), inputs),
          std::move(axes)};
}

Array slice_of(const Array& x, int64_t i) {
  std::vector<int64_t> starts(x.rank(), 0), limits(x.shape().begin(), x.shape().end());
  starts[0] = i;
  limits[0] = i + 1;
  return lax::reshape(lax::slice(x, starts, limits), x.shape().subspan(1));
}

// One call for each element of the batch.
BatchResults batch_unrolled(const BatchCall& call, const ForeignSite& site,
                            std::span<const Array> inputs) {
  std::vector<std::vector<Array>> parts(site.result_types.size());
  for (int64_t n = 0; n < call.axis.size; ++n) {
    std::vector<Array> operands;
    for (size_t i = 0; i < inputs.size(); ++i) {
      operands.push_back(call.is_batched(i) ? slice_of(inputs[i], n) : inputs[i]);
    }
    const auto results = bind_primitive(call.primitive, call.params, operands);
    for (size_t i = 0; i < results.size(); ++i) {
      const ShapeDtype type = results[i].type();
      parts[i].push_back(type.is_token() ? results[i]
                                         : lax::reshape(results[i], with_leading(type, 1).shape()));
    }
  }
  BatchResults batched{{}, result_axes(site.result_types)};
  for (size_t i = 0; i < parts.size(); ++i) {
    const ShapeDtype type = site.result_types[i];
    if (type.is_token()) {
      batched.outputs.push_back(parts[i].empty() ? lax::create_token() : parts[i].back());
    } else if (parts[i].empty()) {
      batched.outputs.push_back(basic_operations().zeros(with_leading(type, 0)));
    } else {
      batched.outputs.push_back(lax::concatenate(parts[i], 0));
    }
  }
  return batched;
}

}  // namespace

std::string to_string(const BatchAxis& axis) {
  return axis.name.empty() ? fmt::format("a mapped axis of size {}", axis.size)
                           : fmt::format("the mapped axis \"{}\" of size {}", axis.name, axis.size);
}

BatchResults batch_in_loop(const BatchCall& call, const std::string& name) {
  const std::vector<Array> inputs = all_in_front(call);
  const auto of_element = [&](size_t i) {
    const ShapeDtype type = inputs[i].type();
    return call.is_batched(i) ? type.with_shape(type.shape().subspan(1)) : type;
  };
  std::vector<ShapeDtype> types;
  for (size_t i = 0; i < inputs.size(); ++i) types.push_back(of_element(i));
  types = infer_types(call.primitive, types, call.params.get());

  std::vector<Array> constants, slices, carry;
  std::vector<int64_t> carried(types.size(), -1);
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i].is_token()) continue;
    carried[i] = static_cast<int64_t>(carry.size());
    carry.push_back(lax::create_token());
  }
  ProgramBuilder step;
  std::vector<Atom> operands(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (call.is_batched(i)) continue;
    constants.push_back(inputs[i]);
    operands[i] = Atom::variable(step.add_input(inputs[i].type()));
  }
  for (const Array& token : carry) step.add_input(token.type());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!call.is_batched(i)) continue;
    slices.push_back(inputs[i]);
    operands[i] = Atom::variable(step.add_input(of_element(i)));
  }
  const auto results = step.add_equation(call.primitive, call.params, operands, current_location());
  std::vector<Atom> outputs;
  for (const bool tokens : {true, false}) {
    for (size_t i = 0; i < results.size(); ++i) {
      if ((carried[i] >= 0) == tokens) outputs.push_back(Atom::variable(results[i]));
    }
  }
  const ScanParams scan{.jaxpr = step.build(outputs, name),
                        .length = call.axis.size,
                        .num_carry = static_cast<int64_t>(carry.size()),
                        .num_consts = static_cast<int64_t>(constants.size())};
  std::vector<Array> all = std::move(constants);
  all.insert(all.end(), carry.begin(), carry.end());
  all.insert(all.end(), slices.begin(), slices.end());
  const std::vector<Array> found = bind_primitive(kScan, make_params(scan), all);
  BatchResults batched{{}, result_axes(types)};
  size_t next = carry.size();
  for (const int64_t token : carried) {
    batched.outputs.push_back(token >= 0 ? found[static_cast<size_t>(token)] : found[next++]);
  }
  return batched;
}

BatchResults batch_by_method(const BatchCall& call, const ForeignSite& site,
                             std::string_view method) {
  if (method == "sequential") return batch_in_loop(call, site.name);
  std::vector<Array> inputs = all_in_front(call);
  if (method == "sequential_unrolled") return batch_unrolled(call, site, inputs);
  if (method == "expand_dims") return batch_at_once(call, site, std::move(inputs), 1);
  if (method == "broadcast_all") {
    return batch_at_once(call, site, std::move(inputs), call.axis.size);
  }
  return batch_at_once(call, site, std::move(inputs), std::nullopt);  // legacy_vectorized
}

}  // namespace farcall
