// The ffi_call primitive and its C++ function.
#include <farcall/ops/ffi_call.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/layout.h>
#include <farcall/core/lru_cache.h>
#include <farcall/core/type_text.h>
#include <farcall/ffi/signature.h>
#include <farcall/ops/define.h>
#include <farcall/ops/promotion.h>
#include <farcall/primitives/primitives.h>
#include <farcall/program/device.h>
#include <farcall/program/engine.h>
#include <farcall/program/located.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/placement.h>

#include "ops/foreign/checks.h"
#include "ops/foreign/definitions.h"
#include "ops/foreign/rules.h"
#include "ops/internal/key_words.h"
#include "ops/internal/register.h"

namespace farcall {
namespace {

template <class... Args>
[[noreturn]] void fail_call(std::string_view target, fmt::format_string<Args...> format,
                            Args&&... args) {
  invalid_argument(fmt::format("ffi_call(\"{}\"): {}", target,
                               fmt::format(format, std::forward<Args>(args)...)));
}

void check_layouts(std::string_view target, std::string_view option, std::string_view what,
                   std::span<const MajorToMinor> layouts, std::span<const ShapeDtype> types) {
  if (layouts.size() != types.size()) {
    fail_call(target, "{} has {} entries for {} {}s; give one for each, or None", option,
              layouts.size(), types.size(), what);
  }
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (!layouts[i]) continue;
    if (layouts[i]->size() != types[i].rank()) {
      fail_call(target, "{}[{}] is {}, of rank {}, but {} {} is {}, of rank {}", option, i,
                shape_to_string(*layouts[i]), layouts[i]->size(), what, i, types[i].to_string(),
                types[i].rank());
    }
    if (!is_permutation(*layouts[i])) {
      fail_call(target, "{}[{}] is {}, which is not a permutation of 0 to {}, major to minor",
                option, i, shape_to_string(*layouts[i]), types[i].rank() - 1);
    }
  }
}

bool same_layout(const MajorToMinor& a, const MajorToMinor& b, size_t rank) {
  const auto row = row_major(rank).major_to_minor;
  return a.value_or(row) == b.value_or(row);
}

void check_alias_layouts(const FfiCallParams& p, std::span<const ShapeDtype> inputs) {
  for (const auto& [input, output] : p.input_output_aliases) {
    if (same_layout(p.input_layouts[input], p.output_layouts[output], inputs[input].rank()))
      continue;
    fail_call(
        p.target_name,
        "input_output_aliases contains the mapping '{}:{}' referring to an input and an output "
        "with different layouts",
        input, output);
  }
}

// Checks the leading dimensions that vmaps added.
void check_batched_operands(const FfiCallParams& p, std::span<const ShapeDtype> inputs) {
  if (p.batched_operands.empty()) return;
  std::vector<size_t> gained(inputs.size(), 0);
  for (const auto& operands : p.batched_operands) {
    for (const int64_t i : operands) {
      if (i >= 0 && i < std::ssize(inputs) && ++gained[i] <= inputs[i].rank()) continue;
      fail_call(p.target_name, "batched_operands names operand {}, which has no such dimension", i);
    }
  }
  for (const ShapeDtype& type : p.result_types) {
    if (type.is_token() || type.rank() >= p.batched_operands.size()) continue;
    fail_call(p.target_name, "batched_operands has {} entries, but a result is {}",
              p.batched_operands.size(), type.to_string());
  }
}

std::vector<ShapeDtype> ffi_call_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  const auto& p = params_as<FfiCallParams>(params);
  if (p.custom_call_api_version < 0 || p.custom_call_api_version > 4) {
    fail_call(p.target_name, "custom_call_api_version must be 0 to 4, got {}",
              p.custom_call_api_version);
  }
  const std::string call = call_text(p.target_name);
  check_no_keys(call, inputs, p.result_types);
  check_layouts(p.target_name, "input_layouts", "operand", p.input_layouts, inputs);
  check_layouts(p.target_name, "output_layouts", "result", p.output_layouts, p.result_types);
  check_aliases(call, p.input_output_aliases, inputs, p.result_types);
  check_alias_layouts(p, inputs);
  check_batched_operands(p, inputs);
  return p.result_types;
}

Effects ffi_call_effects(const Params* params) {
  return params_as<FfiCallParams>(params).has_side_effect ? Effects::kSideEffect : Effects::kNone;
}

// Program text written by hand may hold invalid parameters.
ParamsPtr parse_ffi_call(std::span<const NamedValue> fields) {
  ParamsPtr params = parse_params<FfiCallParams>(fields);
  const auto& p = params_as<FfiCallParams>(params.get());
  if (p.vmap_method) check_vmap_method(call_text(p.target_name), *p.vmap_method);
  return params;
}

const TransformRules kFfiCallRules = {.jvp = ffi_call_jvp,
                                      .transpose = ffi_call_transpose,
                                      .batch = ffi_call_batch,
                                      .specs = ffi_call_specs,
                                      .partition = ffi_call_partition};
ForeignTarget target_of(const Params* params) {
  const auto& p = params_as<FfiCallParams>(params);
  return {p.target_name, p.custom_call_api_version};
}

}  // namespace

const Primitive kFfiCall = {.name = "ffi_call",
                            .type_rule = ffi_call_rule,
                            .parse = parse_ffi_call,
                            .effects = ffi_call_effects,
                            .flops = no_flops,
                            .rules = &kFfiCallRules,
                            .kind = PrimitiveKind::kForeignCall,
                            .foreign_target = target_of};
FARCALL_REGISTER_PRIMITIVE(kFfiCall);

namespace {

// Checks that depend on the options only.
void check_options(const std::string& target, std::span<const ShapeDtype> results,
                   const FfiCallOptions& options) {
  if (target.empty()) invalid_argument("ffi_call: target_name is empty");
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].is_valid()) fail_call(target, "result {} has no dtype", i);
  }
  if (options.vmap_method) check_vmap_method(call_text(target), *options.vmap_method);
  const int version = options.custom_call_api_version;
  if (version < 0 || version > 4) {
    fail_call(target, "custom_call_api_version must be 4, or 0 to 3 for untyped targets, got {}",
              version);
  }
  if (version == 4 && options.legacy_backend_config) {
    fail_call(target,
              "legacy_backend_config is for custom_call_api_version below 4; pass attributes as "
              "keyword arguments of the call instead");
  }
  if (options.output_layouts) {
    check_layouts(target, "output_layouts", "result", *options.output_layouts,
                  key_words_types(results));
  }
}

}  // namespace

// Calls with the same attributes and number of operands share a node while the declarations of the
// target are unchanged.
//
// Readers traverse the list of nodes without a lock. So nodes are added at the front only, and are
// freed only with this object. Outdated nodes stay in the list, because callers may still hold
// executables of theirs. Two threads may add equal nodes; this costs memory, but is correct.
struct FfiCall::Shared {
  struct Node {
    Attributes attributes;  // as given
    size_t num_operands;
    ParamsPtr params;
    TargetDefinitionPtr definition;
    std::atomic<uint64_t> version;  // of all declarations, when this node was last valid
    SignatureCache cache;
    Node* next = nullptr;
  };

  // Calls with more different attributes, or whose node's cache is full, use the bounded cache of
  // the evaluator.
  static constexpr size_t kMaxNodes = 64;

  const std::string target_name;
  const std::vector<ShapeDtype> result_types;
  const FfiCallOptions options;
  std::atomic<Node*> first{nullptr};
  std::atomic<size_t> num_nodes{0};

  Shared(std::string name, std::vector<ShapeDtype> types, FfiCallOptions chosen)
      : target_name(std::move(name)), result_types(std::move(types)), options(std::move(chosen)) {}
  ~Shared() {
    for (Node* node = first.load(); node;) delete std::exchange(node, node->next);
  }

  // Returns null if there are too many nodes.
  Node* find_or_add(const Attributes& attributes, size_t num_operands) {
    for (Node* node = first.load(std::memory_order_acquire); node; node = node->next) {
      if (node->num_operands == num_operands && node->attributes == attributes && holds(*node)) {
        return node;
      }
    }
    if (num_nodes.load(std::memory_order_relaxed) >= kMaxNodes) return nullptr;
    const uint64_t version = declarations_version();
    auto* node = new Node{attributes, num_operands, make_params(attributes, num_operands),
                          find_definition(target_name), version};
    node->next = first.load(std::memory_order_relaxed);
    while (!first.compare_exchange_weak(node->next, node, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
    num_nodes.fetch_add(1, std::memory_order_relaxed);
    return node;
  }

  // Whether the declarations of the target are still those that the node was made with.
  bool holds(Node& node) const {
    const uint64_t version = declarations_version();
    if (node.version.load(std::memory_order_relaxed) == version) return true;
    if (node.definition != find_definition(target_name) ||
        params_as<FfiCallParams>(node.params.get()).attributes !=
            complete_attributes(target_name, node.attributes)) {
      return false;
    }
    node.version.store(version, std::memory_order_relaxed);
    return true;
  }

  // Checks the call against the definition of the target and the description of its handler.
  void check(const Params* params, std::span<const Array> operands, bool is_by_rule) const {
    const Attributes& attributes = params_as<FfiCallParams>(params).attributes;
    const std::vector<ShapeDtype> types = types_of(operands);
    const TargetDefinitionPtr definition = find_definition(target_name);
    if (definition) {
      with_error_prefix(call_text(target_name), [&] {
        if (definition->sharding_rule) definition->sharding_rule->check(types, result_types);
        if (definition->shape && !is_by_rule) {
          check_results(types, definition->shape(types, attributes));
        }
      });
    }
    if (options.custom_call_api_version < 4) return;
    const std::string misfits = misfits_of_call(target_name, types, result_types, attributes,
                                                default_device().description().platform,
                                                gains_dimensions(definition.get()));
    if (misfits.empty()) return;
    ffi_call_rule(types, params);  // mistakes in the options come first
    fail_call(target_name, "{}", misfits);
  }

  void check_results(std::span<const ShapeDtype> operands,
                     std::span<const ShapeDtype> by_rule) const {
    if (same_strong_types(result_types, by_rule)) return;
    invalid_argument(fmt::format(
        "the results for operands ({}) are ({}) by the shape rule of the "
        "target's definition; the call asks for ({})",
        types_to_string(operands), types_to_string(by_rule), types_to_string(result_types)));
  }

  // Whether a vmap may pass arrays of higher rank to the handler.
  bool gains_dimensions(const TargetDefinition* definition) const {
    if (!options.vmap_method && definition && definition->batch) return true;
    const auto& method =
        options.vmap_method || !definition ? options.vmap_method : definition->vmap_method;
    return method && !method->starts_with("sequential");
  }

  ParamsPtr make_params(const Attributes& attributes, size_t num_operands) const {
    if (options.custom_call_api_version < 4 && !attributes.empty()) {
      fail_call(target_name,
                "attributes ({}) cannot be passed with custom_call_api_version {}; give the opaque "
                "string as legacy_backend_config",
                attributes.begin()->first, options.custom_call_api_version);
    }
    FfiCallParams p = with_options(options, num_operands, result_types.size());
    p.attributes = complete_attributes(target_name, attributes);
    p.result_types = result_types;
    p.target_name = target_name;
    return farcall::make_params(std::move(p));
  }

  std::shared_ptr<const Executable> compile(const ParamsPtr& params,
                                            std::span<const Array> operands,
                                            bool is_by_rule) const {
    check(params.get(), operands, is_by_rule);
    ProgramBuilder builder;
    std::vector<Atom> inputs, outputs;
    for (const Array& operand : operands) {
      inputs.push_back(Atom::variable(builder.add_input(operand.type())));
    }
    // The program has no source line, because calls from several lines share it.
    for (const uint32_t output : builder.add_equation(kFfiCall, params, inputs)) {
      outputs.push_back(Atom::variable(output));
    }
    return farcall::compile(builder.build(outputs, target_name), host_device());
  }
};

// Interns calls: equal targets, types and options share compiled programs.
class FfiCall::Known {
 public:
  std::shared_ptr<Shared> find_or_make(std::string target_name,
                                       std::vector<ShapeDtype> result_types,
                                       FfiCallOptions options) {
    size_t hash = std::hash<std::string>()(target_name);
    for (const ShapeDtype& type : result_types) detail::mix(hash, type.hash());
    // Holds the calls that the cache drops. It must be declared before the lock, so that it is
    // destroyed after the lock is released: destroying a handler's state runs foreign code, which
    // may make calls itself.
    std::vector<std::shared_ptr<Shared>> dying;
    const std::lock_guard lock(mutex_);
    if (auto found = calls_.find(hash, [&](const Shared& known) {
          return known.target_name == target_name && known.result_types == result_types &&
                 known.options == options;
        })) {
      return found;
    }
    check_options(target_name, result_types, options);
    auto made = std::make_shared<Shared>(std::move(target_name), std::move(result_types),
                                         std::move(options));
    dying = calls_.insert(hash, made);
    return made;
  }

  void clear() {
    std::vector<std::shared_ptr<Shared>> dying;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    dying = calls_.clear();
  }

  CacheInfo info() {
    const std::lock_guard lock(mutex_);
    return calls_.info();
  }

  static Known& instance() {
    static auto* known = new Known;
    return *known;
  }

 private:
  std::mutex mutex_;
  LruCache<Shared> calls_;
};

FfiCall::FfiCall(std::string target_name, std::vector<ShapeDtype> result_types,
                 FfiCallOptions options)
    : shared_(Known::instance().find_or_make(std::move(target_name), std::move(result_types),
                                             std::move(options))) {}

void clear_caches() {
  FfiCall::Known::instance().clear();
  clear_evaluator_cache();
}

ProcessCaches cache_info() {
  return {evaluator_cache_info(), FfiCall::Known::instance().info(), ShapeDtype::num_interned()};
}

const std::string& FfiCall::target_name() const { return shared_->target_name; }
const std::vector<ShapeDtype>& FfiCall::result_types() const { return shared_->result_types; }
const FfiCallOptions& FfiCall::options() const { return shared_->options; }

namespace {

// The line that the front end gives; without a front end, the line of the C++ call. Null for calls
// in farcall's own code.
SourceLocationPtr line_of(const CallSite& where) {
  if (SourceLocationPtr known = current_location()) return known;
  constexpr std::string_view kThisFile = "src/ops/foreign/ffi_call.cpp", kHere = __FILE__;
  constexpr std::string_view kRoot =
      kHere.substr(0, kHere.ends_with(kThisFile) ? kHere.size() - kThisFile.size() : 0);
  std::string_view file = where.file;
  if (file.starts_with(kRoot)) {
    file.remove_prefix(kRoot.size());
    for (const std::string_view own : {"src/", "python/src/", "include/farcall/"}) {
      if (file.starts_with(own)) return nullptr;
    }
  }
  return std::make_shared<const SourceLocation>(
      SourceLocation{where.file, where.line, where.function});
}

}  // namespace

std::vector<Array> FfiCall::operator()(ListOf<Array> operands, const Attributes& attributes,
                                       CallSite where) const {
  return call(operands, attributes, where, /*is_by_rule=*/false);
}

std::vector<Array> FfiCall::call(ListOf<Array> operands, const Attributes& attributes,
                                 const CallSite& where, bool is_by_rule) const {
  // Foreign functions treat a weakly typed scalar as a scalar of its dtype.
  if (std::ranges::any_of(operands, [](const Array& x) { return x.type().weak_type(); })) {
    std::vector<Array> strong(operands.begin(), operands.end());
    for (Array& operand : strong) operand = strengthen(operand);
    return call(strong, attributes, where, is_by_rule);
  }
  if (is_evaluating() && is_call_on_host(operands)) {
    // Calls from several lines share the program, so the line is added to the error here.
    try {
      if (const Executable* compiled = find_executable(operands, attributes, is_by_rule)) {
        return run(*compiled, operands);
      }
    } catch (const FfiError& error) {
      raise_at(error, line_of(where));
    }
  }
  if (std::ranges::any_of(operands, is_key, &Array::dtype) || has_keys(shared_->result_types)) {
    return on_key_words(operands, attributes, where, is_by_rule);
  }
  const SourceLocationPtr line = is_evaluating() ? nullptr : line_of(where);
  const LocationScope location(line);
  Shared::Node* node = shared_->find_or_add(attributes, operands.size());
  const ParamsPtr params = node ? node->params : shared_->make_params(attributes, operands.size());
  shared_->check(params.get(), operands, is_by_rule);
  return bind_primitive(kFfiCall, params, operands);
}

// Foreign functions take and return the words of random keys.
std::vector<Array> FfiCall::on_key_words(ListOf<Array> operands, const Attributes& attributes,
                                         const CallSite& where, bool is_by_rule) const {
  std::vector<Array> words(operands.begin(), operands.end());
  for (Array& operand : words) {
    if (is_key(operand.dtype())) operand = unwrap_key_words(operand);
  }
  const FfiCall on_words(shared_->target_name, key_words_types(shared_->result_types),
                         shared_->options);
  std::vector<Array> results = on_words.call(words, attributes, where, is_by_rule);
  for (size_t i = 0; i < results.size(); ++i) {
    if (is_key(shared_->result_types[i].dtype())) results[i] = wrap_key_words(results[i]);
  }
  return results;
}

const Executable* FfiCall::executable(ListOf<Array> operands, const Attributes& attributes) const {
  return find_executable(operands, attributes, /*is_by_rule=*/false);
}

const Executable* FfiCall::find_executable(ListOf<Array> operands, const Attributes& attributes,
                                           bool is_by_rule) const {
  Shared::Node* node = shared_->find_or_add(attributes, operands.size());
  if (!node) return nullptr;
  if (const Executable* known = node->cache.find(operands)) return known;
  if (node->cache.size() >= SignatureCache::kMaxSize) return nullptr;
  if (std::ranges::any_of(operands, is_key, &Array::dtype) || has_keys(shared_->result_types))
    return nullptr;
  try {
    return node->cache.insert(shared_->compile(node->params, operands, is_by_rule));
  } catch (const FfiError& error) {
    raise_at(error, current_location());
  }
}

Array ffi_call(const std::string& target_name, ShapeDtype result_type, ListOf<Array> operands,
               const Attributes& attributes, const FfiCallOptions& options, CallSite where) {
  return FfiCall(target_name, {result_type}, options)(operands, attributes, where)[0];
}

}  // namespace farcall
