// The callback primitives: immediate calls, recorded calls, and their rules.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/ffi/foreign_call.h>
#include <farcall/ops/callback.h>
#include <farcall/ops/promotion.h>
#include <farcall/primitives/primitives.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/record.h>
#include <farcall/trace/rules.h>

#include "ops/foreign/checks.h"
#include "ops/foreign/vmap_methods.h"
#include "ops/internal/key_words.h"
#include "ops/internal/register.h"

namespace farcall {
namespace {

const CallbackParams& callback_params_of(const ParamsPtr& params) {
  return params_as<CallbackParams>(params.get());
}

std::string called_as(std::string_view primitive, const CallbackParams& params) {
  return std::string(primitive).append(" ").append(params.callback->name);
}

std::vector<ShapeDtype> callback_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  const auto& p = params_as<CallbackParams>(params);
  check_no_keys(p.callback->name, inputs, p.result_types);
  check_aliases(p.callback->name, p.input_output_aliases, inputs, p.result_types);
  return p.result_types;
}

Effects callback_effects(const Params* params) {
  const auto& p = params_as<CallbackParams>(params);
  if (p.is_ordered) return Effects::kSideEffect | Effects::kOrdered;
  return p.has_side_effect ? Effects::kSideEffect : Effects::kNone;
}

// ---- running at once ----

// Keeps the memory of an immediate call, outside of a program.
class OwnMemory final : public MemoryKeeper {
 public:
  OwnMemory(std::span<const Array> inputs, std::span<const Storage> results)
      : inputs_(inputs), results_(results) {}

  std::shared_ptr<const void> keep() override {
    if (!kept_) {
      std::vector<Storage> all(results_.begin(), results_.end());
      for (const Array& input : inputs_) {
        all.push_back(input.storage());
        all.back().mark_exported();
      }
      if (checked_) checked_->add_memory(all);
      kept_ = std::make_shared<const std::vector<Storage>>(std::move(all));
    }
    return kept_;
  }
  bool is_kept() const { return kept_ != nullptr; }
  // With the flag check_foreign_calls, the callback gets buffers of this invocation. keep() then
  // keeps their memory too.
  void set_checked(const Invocation& invocation) { checked_ = &invocation; }

 private:
  std::span<const Array> inputs_;
  std::span<const Storage> results_;
  const Invocation* checked_ = nullptr;
  std::shared_ptr<const std::vector<Storage>> kept_;
};

// Calls the callback through a call frame, as programs do, because the checks are made there.
void call_checked(const CallbackParams& params, std::span<Buffer> arguments,
                  std::span<Buffer> results, ExecutionOptions& options, OwnMemory& own) {
  ForeignCallSpec spec = {.target = params.callback->target, .results = params.result_types};
  for (const Buffer& argument : arguments) spec.arguments.push_back(argument.type());
  const ForeignCall call(std::move(spec));
  Invocation invocation(call);
  for (size_t i = 0; i < arguments.size(); ++i) invocation.set_argument(i, arguments[i].data());
  for (size_t i = 0; i < results.size(); ++i) invocation.set_result(i, results[i].data());
  own.set_checked(invocation);
  options.keeper = &own;
  invocation.begin(options);
  invocation.execute();
}

std::vector<Array> evaluate_callback(const ParamsPtr& params, std::span<const Array> inputs) {
  const CallbackParams& p = callback_params_of(params);
  if (!p.input_output_aliases.empty()) {
    check_aliases(p.callback->name, p.input_output_aliases, types_of(inputs), p.result_types);
  }
  std::vector<Storage> memory(p.result_types.size());
  std::vector<Buffer> arguments, results;
  for (const Array& input : inputs) {
    arguments.emplace_back(input.type(), const_cast<void*>(input.data()));
  }
  for (const auto& [input, output] : p.input_output_aliases) {
    memory[output] = inputs[input].storage().copy();
    arguments[input] = Buffer(inputs[input].type(), memory[output].data());
  }
  for (size_t i = 0; i < memory.size(); ++i) {
    if (!memory[i]) memory[i] = Storage::allocate(p.result_types[i].nbytes());
    results.emplace_back(p.result_types[i], memory[i].data());
  }
  OwnMemory own(inputs, memory);
  ExecutionOptions options;
  options.run_id = new_run_id();
  if (is_on(Flag::kCheckForeignCalls)) {
    call_checked(p, arguments, results, options, own);
  } else {
    p.callback->function(
        {ExecutionContext(Stage::kExecute, options, options.run_id), results, arguments, &own});
  }
  // A view that the callback kept may still write to the memory of a result. Arrays are immutable,
  // so they get copies then.
  std::vector<Array> arrays;
  for (size_t i = 0; i < memory.size(); ++i) {
    arrays.emplace_back(p.result_types[i], own.is_kept() ? memory[i].copy() : memory[i]);
  }
  return arrays;
}

// ---- rules ----

[[noreturn]] void not_differentiable(const Primitive& primitive, const ParamsPtr& params,
                                     std::string_view mode) {
  invalid_argument(
      fmt::format("{}: callbacks do not support {}, because what the function computes is "
                  "not known. Please use custom_jvp or custom_vjp around the call to give "
                  "its derivative",
                  called_as(primitive.name, callback_params_of(params)), mode));
}

JvpResults no_jvp(const JvpCall& call) {
  not_differentiable(call.primitive, call.params, "differentiation (JVP)");
}

std::vector<Array> no_transpose(const TransposeCall& call) {
  not_differentiable(call.primitive, call.params, "transposition (reverse mode)");
}

// Debugging callbacks receive primal values only.
JvpResults debug_jvp(const JvpCall& call) {
  bind_primitive(call.primitive, call.params, call.primals);
  return {};
}

BatchResults batch_with(const BatchCall& call, std::string_view method) {
  const CallbackParams& p = callback_params_of(call.params);
  const auto widened = [&](const std::vector<bool>&, std::vector<ShapeDtype> results) {
    CallbackParams wide = p;
    wide.result_types = std::move(results);
    return make_params(std::move(wide));
  };
  return batch_by_method(call, {p.callback->name, p.result_types, p.input_output_aliases, widened},
                         method);
}

BatchResults batch_as_asked(const BatchCall& call) {
  const CallbackParams& p = callback_params_of(call.params);
  if (p.vmap_method) return batch_with(call, *p.vmap_method);
  throw Error(
      ErrorCode::kUnimplemented,
      fmt::format("{}: vmap needs a vmap_method, and none was given: use \"sequential\" (one "
                  "call for each element), \"sequential_unrolled\", \"expand_dims\" or "
                  "\"broadcast_all\" (one call on batched operands)",
                  called_as(call.primitive.name, p)));
}

BatchResults batch_io(const BatchCall& call) {
  const CallbackParams& p = callback_params_of(call.params);
  if (p.is_ordered && !p.vmap_method) {
    invalid_argument(
        fmt::format("{}: cannot vmap an ordered callback over {}: the order of its effects "
                    "would be lost. Ask for one element after the other with "
                    "vmap_method=\"sequential\", or give ordered=False",
                    called_as(call.primitive.name, p), to_string(call.axis)));
  }
  return batch_with(call, p.vmap_method.value_or("sequential"));
}

BatchResults batch_debug(const BatchCall& call) {
  return batch_with(call, callback_params_of(call.params).vmap_method.value_or("sequential"));
}

constexpr TransformRules rules(JvpRule jvp, BatchRule batch) {
  return {.jvp = jvp, .transpose = no_transpose, .batch = batch, .evaluate = evaluate_callback};
}
const TransformRules kPureRules = rules(no_jvp, batch_as_asked);
const TransformRules kIoRules = rules(no_jvp, batch_io);
const TransformRules kDebugRules = rules(debug_jvp, batch_debug);

// Program text written by hand may hold invalid parameters.
ParamsPtr parse_callback(std::span<const NamedValue> fields) {
  ParamsPtr params = parse_params<CallbackParams>(fields);
  const CallbackParams& p = callback_params_of(params);
  if (p.vmap_method) check_vmap_method(p.callback->name, *p.vmap_method);
  return params;
}

ForeignTarget callback_target(const Params* params) {
  return {params_as<CallbackParams>(params).callback->name};
}

Primitive make_primitive(CallbackKind kind, const TransformRules& rules) {
  return {.name = callback_kind_name(kind),
          .type_rule = callback_rule,
          .parse = parse_callback,
          .effects = callback_effects,
          .flops = no_flops,
          .rules = &rules,
          .kind = PrimitiveKind::kCallback,
          .foreign_target = callback_target};
}

const Primitive kPureCallback = make_primitive(CallbackKind::kPure, kPureRules);
FARCALL_REGISTER_PRIMITIVE(kPureCallback);
const Primitive kIoCallback = make_primitive(CallbackKind::kIo, kIoRules);
FARCALL_REGISTER_PRIMITIVE(kIoCallback);
const Primitive kDebugCallback = make_primitive(CallbackKind::kDebug, kDebugRules);
FARCALL_REGISTER_PRIMITIVE(kDebugCallback);

}  // namespace

const Primitive kBufferCallback = make_primitive(CallbackKind::kBuffer, kPureRules);
FARCALL_REGISTER_PRIMITIVE(kBufferCallback);

const Primitive& callback_primitive(CallbackKind kind) {
  switch (kind) {
    case CallbackKind::kBuffer:
      return kBufferCallback;
    case CallbackKind::kPure:
      return kPureCallback;
    case CallbackKind::kIo:
      return kIoCallback;
    default:
      return kDebugCallback;
  }
}

std::string_view callback_kind_name(CallbackKind kind) {
  switch (kind) {
    case CallbackKind::kBuffer:
      return "buffer_callback";
    case CallbackKind::kPure:
      return "pure_callback";
    case CallbackKind::kIo:
      return "io_callback";
    default:
      return "debug_callback";
  }
}

void check_callback_options(std::string_view what, std::span<const ShapeDtype> result_types,
                            const CallbackOptions& options) {
  if (options.vmap_method) check_vmap_method(what, *options.vmap_method);
  for (size_t i = 0; i < result_types.size(); ++i) {
    if (!result_types[i].is_valid() || result_types[i].is_token()) {
      invalid_argument(fmt::format("{}: result {} must be an array with a dtype", what, i));
    }
  }
}

std::vector<Array> bind_callback(CallbackKind kind, const CallbackPtr& callback,
                                 std::span<const Array> operands,
                                 std::span<const ShapeDtype> result_types,
                                 const CallbackOptions& options) {
  const Primitive& primitive = callback_primitive(kind);
  CallbackParams p;
  p.callback = callback;
  p.has_side_effect = options.has_side_effect || options.is_ordered || kind == CallbackKind::kIo ||
                      kind == CallbackKind::kDebug;
  p.input_output_aliases.assign(options.input_output_aliases.begin(),
                                options.input_output_aliases.end());
  p.is_ordered = options.is_ordered;
  p.result_types.assign(result_types.begin(), result_types.end());
  p.vmap_method = options.vmap_method;
  const std::string what = called_as(primitive.name, p);
  check_callback_options(what, result_types, options);
  if (kind == CallbackKind::kBuffer && has_keys(result_types)) {
    std::vector<Array> results =
        bind_callback(kind, callback, operands, key_words_types(result_types), options);
    for (size_t i = 0; i < results.size(); ++i) {
      if (is_key(result_types[i].dtype())) results[i] = wrap_key_words(results[i]);
    }
    return results;
  }
  // Foreign functions treat a weakly typed scalar as a scalar of its dtype, and a key as its words.
  std::vector<Array> strong(operands.begin(), operands.end());
  for (size_t i = 0; i < strong.size(); ++i) {
    if (strong[i].type().is_token()) {
      invalid_argument(
          fmt::format("{}: argument {} is a token; callbacks that must keep their order are "
                      "declared as ordered",
                      what, i));
    }
    strong[i] = is_key(strong[i].dtype()) ? unwrap_key_words(strong[i]) : strengthen(strong[i]);
  }
  const std::vector<ShapeDtype> types = types_of(strong);
  check_no_keys(what, types, p.result_types);
  check_aliases(what, p.input_output_aliases, types, p.result_types);
  return bind_primitive(primitive, make_params(std::move(p)), strong);
}

}  // namespace farcall
