// Eager execution: each operation on concrete arrays runs as a compiled program of one equation.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/lru_cache.h>
#include <farcall/program/located.h>
#include <farcall/program/walk.h>
#include <farcall/trace/cache_key.h>
#include <farcall/trace/custom.h>
#include <farcall/trace/debug_checks.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/origin.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/rules.h>

#include "trace/sharding/propagation.h"

namespace farcall {
namespace {

// The source lines of the foreign calls in a program; errors name them.
std::vector<SourceLocationPtr> lines_of_calls(const Program& program) {
  std::vector<SourceLocationPtr> lines;
  for_each_equation(program, [&](const Program&, const Equation& equation, size_t) {
    if (equation.primitive->kind == PrimitiveKind::kForeignCall) lines.push_back(equation.where);
  });
  return lines;
}

// Compares the source lines of foreign calls in equal parameters: equal programs may come from
// different functions.
bool same_lines(const Params* a, const Params* b) {
  if (a == b || !a) return true;
  const std::vector<NamedProgram> programs = a->programs();
  if (programs.empty()) return true;
  const auto same = [](const SourceLocationPtr& x, const SourceLocationPtr& y) {
    return x == y || (x && y && x->line == y->line && x->file == y->file);
  };
  return std::ranges::equal(
      programs, b->programs(), [&](const NamedProgram& x, const NamedProgram& y) {
        return x.program == y.program ||
               std::ranges::equal(lines_of_calls(*x.program), lines_of_calls(*y.program), same);
      });
}

// Compares the meshes that the programs in equal parameters run over; they are no part of the text.
bool same_homes(const Params* a, const Params* b) {
  if (a == b || !a || !has_other_devices() || a->programs().empty()) return true;
  return home_of(*a) == home_of(*b);
}

struct Entry {
  size_t hash = 0;
  uint64_t config = 0;  // cache_key() when it was compiled
  const Primitive* primitive = nullptr;
  ParamsPtr params;
  std::shared_ptr<const Executable> executable;

  bool matches(size_t other_hash, const Primitive& other, const ParamsPtr& other_params,
               std::span<const Array> inputs, const Device& device) const {
    if (hash != other_hash || primitive != &other || config != cache_key() ||
        &executable->device() != &device || !params_equal(params.get(), other_params.get()) ||
        !same_lines(params.get(), other_params.get()) ||
        !same_homes(params.get(), other_params.get())) {
      return false;
    }
    const auto types = executable->input_types();
    return std::equal(types.begin(), types.end(), inputs.begin(), inputs.end(),
                      [](ShapeDtype type, const Array& input) { return type == input.type(); });
  }
};

size_t hash_call(const Primitive& primitive, const ParamsPtr& params, std::span<const Array> inputs,
                 const Device& device) {
  size_t hash = reinterpret_cast<uintptr_t>(&primitive) + device.number() + cache_key();
  detail::mix(hash, params_hash(params.get()));
  for (const Array& input : inputs) detail::mix(hash, input.type().hash());
  return hash;
}

std::shared_ptr<const Executable> compile(const Primitive& primitive, const ParamsPtr& params,
                                          std::span<const Array> inputs, const Device& device) {
  ProgramBuilder builder;
  std::vector<Atom> atoms;
  for (const Array& input : inputs)
    atoms.push_back(Atom::variable(builder.add_input(input.type())));
  std::vector<Atom> outputs;
  // The equation has no source location, because calls from other lines share the program.
  for (const uint32_t output : builder.add_equation(primitive, params, atoms)) {
    outputs.push_back(Atom::variable(output));
  }
  return farcall::compile(builder.build(outputs, std::string(primitive.name)), device);
}

// A small table for each thread, which needs no lock, in front of one table for the process.
class Cache {
 public:
  std::shared_ptr<const Executable> find_or_compile(const Primitive& primitive,
                                                    const ParamsPtr& params,
                                                    std::span<const Array> inputs,
                                                    const Device& device) {
    thread_local std::array<Entry, 256> recent;
    thread_local uint64_t seen = 0;
    if (const uint64_t now = generation_.load(std::memory_order_acquire); now != seen) {
      recent.fill({});
      seen = now;
    }
    const size_t hash = hash_call(primitive, params, inputs, device);
    Entry& slot = recent[hash % recent.size()];
    if (slot.matches(hash, primitive, params, inputs, device)) return slot.executable;
    Entry entry = shared(hash, primitive, params, inputs, device);
    // Not cached: the cache must not keep a user's function alive.
    if (!entry.executable->program().holds_callback) slot = entry;
    return std::move(entry.executable);
  }

  void clear() {
    // Destroyed outside the lock: foreign code frees the states of handlers.
    std::vector<std::shared_ptr<const Entry>> dying;
    const std::lock_guard lock(mutex_);
    dying = entries_.clear();
    generation_.fetch_add(1, std::memory_order_release);
  }

  CacheInfo info() {
    const std::lock_guard lock(mutex_);
    return entries_.info();
  }

 private:
  Entry shared(size_t hash, const Primitive& primitive, const ParamsPtr& params,
               std::span<const Array> inputs, const Device& device) {
    const auto is_wanted = [&](const Entry& entry) {
      return entry.matches(hash, primitive, params, inputs, device);
    };
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = entries_.find(hash, is_wanted)) return *found;
    }
    Entry entry{hash, cache_key(), &primitive, params, compile(primitive, params, inputs, device)};
    if (entry.executable->program().holds_callback) return entry;
    std::vector<std::shared_ptr<const Entry>> dying;  // outside the lock, as in clear()
    const std::lock_guard lock(mutex_);
    dying = entries_.insert(hash, std::make_shared<const Entry>(entry));
    return entry;
  }

  std::mutex mutex_;
  LruCache<const Entry> entries_;
  std::atomic<uint64_t> generation_{0};  // threads clear their tables when it changes
};

class Evaluator final : public Interpreter {
 public:
  Evaluator() : Interpreter(nullptr) {}
  std::vector<Array> process(const Primitive& primitive, const ParamsPtr& params,
                             std::span<const Array> inputs) override {
    if (!is_call_on_host(inputs)) return process_elsewhere(primitive, params, inputs);
    if (primitive.rules && primitive.rules->evaluate) {
      return evaluate_by_rule(primitive, params, inputs);
    }
    return run(*cache_.find_or_compile(primitive, params, inputs, host_device()), inputs);
  }
  std::vector<Array> process_custom(const CustomCallPtr& call,
                                    std::span<const Array> inputs) override {
    return call->function(inputs);
  }
  void clear() { cache_.clear(); }
  CacheInfo info() { return cache_.info(); }

 private:
  std::vector<Array> process_elsewhere(const Primitive& primitive, const ParamsPtr& params,
                                       std::span<const Array> inputs) {
    for (const Array& input : inputs) {
      if (!input.is_concrete()) leaked(primitive, input);
    }
    const CallPlace place = place_of_call(primitive.name, inputs);
    if (primitive.rules && primitive.rules->evaluate) {
      std::vector<Array> results = evaluate_by_rule(primitive, params, inputs);
      for (Array& result : results) {
        Storage memory = to_device(*place.device, result.type(), memory_of(result));
        result = placed_array(result.type(), std::move(memory), place.is_committed);
      }
      for (const Array& input : inputs) {
        const NamedSharding* sharding = sharding_of(input);
        for (Array& result : results) {
          if (sharding) result = spread_result(result, {sharding->mesh, {}});
        }
      }
      return results;
    }
    const auto executable = compiled_for(*place.device, primitive, params, inputs);
    return run(*executable, inputs, {}, place.is_committed);
  }

  std::shared_ptr<const Executable> compiled_for(const Device& device, const Primitive& primitive,
                                                 const ParamsPtr& params,
                                                 std::span<const Array> inputs) {
    try {
      return cache_.find_or_compile(primitive, params, inputs, device);
    } catch (const FfiError& error) {
      raise_at(error, current_location());
    }
  }

  static std::vector<Array> evaluate_by_rule(const Primitive& primitive, const ParamsPtr& params,
                                             std::span<const Array> inputs) {
    std::vector<Array> results = primitive.rules->evaluate(params, inputs);
    if (checks_results()) check_results(primitive.name, results);
    return results;
  }

  [[noreturn]] static void leaked(const Primitive& primitive, const Array& input) {
    if (input.is_deleted()) deleted_array(input);
    const std::string origin = origin_of_leak(input);
    throw LeakedTracerError(fmt::format(
        "{}: leaked traced array {}: it was kept in a variable outside the function that was "
        "recorded{}. Return it from that function instead",
        primitive.name, input.type().to_string(), origin.empty() ? "" : "; " + origin));
  }

  Cache cache_;
};

Evaluator& instance() {
  static auto* evaluator = new Evaluator;
  return *evaluator;
}

}  // namespace

Interpreter& evaluator() { return instance(); }

void clear_evaluator_cache() { instance().clear(); }

CacheInfo evaluator_cache_info() { return instance().info(); }

}  // namespace farcall
