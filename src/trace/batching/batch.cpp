#include <farcall/trace/batch.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/core/layout.h>
#include <farcall/trace/interpreter.h>

#include "trace/custom/custom.h"
#include "trace/internal/named_axis.h"
#include "trace/interpreters/before_rules.h"
#include "trace/interpreters/tracing.h"

namespace farcall {
namespace {

class BatchNode final : public TracingNode {
 public:
  BatchNode(const TracingInterpreter& interpreter, uint64_t origin, Array value, int64_t axis)
      : TracingNode(unbatched_type(value.type(), axis), interpreter),
        origin_(origin),
        value_(std::move(value)),
        axis_(axis) {}
  uint64_t origin() const { return origin_; }
  const Array& value() const { return value_; }
  const Array* whole() const override { return &value_; }
  AxisSet varying_axes() const override { return farcall::varying_axes(value_); }
  int64_t axis() const { return axis_; }

 private:
  uint64_t origin_;
  Array value_;
  int64_t axis_;
};

// The enclosing named axes of this thread's running function, innermost last.
thread_local std::vector<const BatchAxis*> named_axes;

class BatchInterpreter final : public TracingInterpreter {
 public:
  // `origin`: the id of the interpreter that this one replaces; 0: none.
  explicit BatchInterpreter(const BatchAxis& axis, uint64_t origin = 0)
      : TracingInterpreter(&current_interpreter()), origin_(origin ? origin : id()), axis_(axis) {}

  Array wrap(const Array& value, int64_t axis) const {
    if (value.is_null() || axis == kNotBatched) return value;
    return Array(new BatchNode(*this, origin_, value, axis));
  }

  BatchResults unwrap(std::span<const Array> arrays) const {
    BatchResults result;
    for (const Array& array : arrays) {
      if (const BatchNode* node = mapped(array)) {
        result.outputs.push_back(node->value());
        result.axes.push_back(node->axis());
      } else {
        result.outputs.push_back(array);
        result.axes.push_back(kNotBatched);
      }
    }
    return result;
  }

  std::vector<Array> process(const Primitive& primitive, const ParamsPtr& params,
                             std::span<const Array> inputs) override {
    const BatchResults operands = unwrap(inputs);
    InterpreterScope scope(*parent());
    if (is_constant(operands) && !names_axis(primitive, params, axis_)) {
      return bind_primitive(primitive, params, inputs);
    }
    if (!primitive.rules || !primitive.rules->batch) {
      missing_rule(primitive, "batching", "wrap it in custom_vmap, or map with lax.map");
    }
    check_operands(primitive, params.get(), inputs);
    return wrap_all(
        primitive.rules->batch({primitive, params, operands.outputs, operands.axes, axis_}));
  }

  std::vector<Array> process_custom(const CustomCallPtr& call,
                                    std::span<const Array> inputs) override {
    const BatchResults operands = unwrap(inputs);
    InterpreterScope scope(*parent());
    // A call with derivative rules is batched even if its operands are not: it may close over
    // mapped arrays.
    if (call->batch && is_constant(operands) && axis_.name.empty()) {
      return call_custom(call, inputs);
    }
    return wrap_all(batch_of_custom_call(call, operands.outputs, operands.axes, axis_, origin_));
  }

 private:
  const BatchNode* mapped(const Array& array) const {
    if (array.is_null() || array.node().storage()) return nullptr;
    const auto* node = dynamic_cast<const BatchNode*>(&array.node());
    return node && node->origin() == origin_ ? node : nullptr;
  }

  static bool is_constant(const BatchResults& operands) {
    return std::ranges::all_of(operands.axes, [](int64_t axis) { return axis == kNotBatched; });
  }

  std::vector<Array> wrap_all(const BatchResults& results) const {
    FARCALL_ASSERT(results.outputs.size() == results.axes.size());
    std::vector<Array> wrapped;
    wrapped.reserve(results.outputs.size());
    for (size_t i = 0; i < results.outputs.size(); ++i) {
      wrapped.push_back(wrap(results.outputs[i], results.axes[i]));
    }
    return wrapped;
  }

  uint64_t origin_;
  const BatchAxis& axis_;
};

}  // namespace

NamedAxis::NamedAxis(const BatchAxis& axis) : is_named_(!axis.name.empty()) {
  if (is_named_) named_axes.push_back(&axis);
}
NamedAxis::~NamedAxis() {
  if (is_named_) named_axes.pop_back();
}

struct AxisEnvironment::State {
  std::deque<BatchAxis> axes;
  std::deque<NamedAxis> named;
};
AxisEnvironment::AxisEnvironment(std::span<const std::pair<std::string, int64_t>> axes)
    : state_(std::make_unique<State>()) {
  for (const auto& [name, size] : axes) {
    state_->named.emplace_back(state_->axes.emplace_back(BatchAxis{size, name}));
  }
}
AxisEnvironment::~AxisEnvironment() = default;

bool names_axis(const Primitive& primitive, const ParamsPtr& params, const BatchAxis& axis) {
  if (axis.name.empty() || !primitive.axis_names) return false;
  const auto names = primitive.axis_names(params.get());
  return std::ranges::find(names, axis.name) != names.end();
}

BatchResults same_axis_batch(const BatchCall& call) {
  return {bind_primitive(call.primitive, call.params, call.inputs), {call.axes[0]}};
}

BatchResults batch(const FlatFunction& function, std::span<const Array> inputs,
                   std::span<const int64_t> axes, const BatchAxis& axis) {
  return batch_again(function, inputs, axes, axis, /*origin=*/0);
}

BatchResults batch_again(const FlatFunction& function, std::span<const Array> inputs,
                         std::span<const int64_t> axes, const BatchAxis& axis, uint64_t origin) {
  BatchInterpreter interpreter(axis, origin);
  std::vector<Array> arguments;
  arguments.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    arguments.push_back(interpreter.wrap(inputs[i], axes[i]));
  }
  const NamedAxis named(axis);
  InterpreterScope scope(interpreter);
  return interpreter.unwrap(function(arguments));
}

ShapeDtype batched_type(ShapeDtype type, int64_t axis, int64_t size) {
  Shape shape(type.shape().begin(), type.shape().end());
  shape.insert(shape.begin() + axis, size);
  return type.with_shape(shape);
}

ShapeDtype unbatched_type(ShapeDtype type, int64_t axis) {
  Shape shape(type.shape().begin(), type.shape().end());
  shape.erase(shape.begin() + axis);
  return type.with_shape(shape);
}

Array move_axis(const Array& x, int64_t from, int64_t to, int64_t size) {
  if (from == kNotBatched) return basic_operations().broadcast(x, to, size);
  if (from == to) return x;
  std::vector<int64_t> permutation(x.rank());
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return basic_operations().transpose(x, permutation);
}

std::vector<Array> batched_in_front(BatchResults results, const BatchAxis& axis) {
  for (size_t i = 0; i < results.outputs.size(); ++i) {
    Array& output = results.outputs[i];
    if (output.is_null() || output.type().is_token()) continue;
    output = move_axis(output, results.axes[i], 0, axis.size);
  }
  return std::move(results.outputs);
}

int64_t mapped_axis_size(const std::string& name) {
  for (size_t i = named_axes.size(); i-- > 0;) {
    if (named_axes[i]->name == name) return named_axes[i]->size;
  }
  const auto names = mapped_axis_names();
  throw NameError(
      names.empty()
          ? fmt::format("unbound axis name \"{}\": this function is not inside a shard_map, nor "
                        "inside a vmap with an axis_name",
                        name)
          : fmt::format("unbound axis name \"{}\": the axes around this function are "
                        "{}",
                        name, fmt::join(names, ", ")));
}

std::vector<std::pair<std::string, int64_t>> mapped_axes() {
  std::vector<std::pair<std::string, int64_t>> axes;
  for (const std::string& name : mapped_axis_names()) {
    axes.emplace_back(name, mapped_axis_size(name));
  }
  return axes;
}

std::vector<std::string> mapped_axis_names() {
  std::vector<std::string> names;
  for (const BatchAxis* axis : named_axes) names.push_back(axis->name);
  return names;
}

}  // namespace farcall
