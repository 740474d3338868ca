// Eager execution: an operation on concrete arrays is a compiled program of one equation.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/custom.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/rules.h>

namespace farcall {
namespace {

struct Entry {
  size_t hash = 0;
  const Primitive* primitive = nullptr;
  ParamsPtr params;
  std::shared_ptr<const Executable> executable;

  bool matches(size_t other_hash, const Primitive& other, const ParamsPtr& other_params,
               std::span<const Array> inputs) const {
    if (hash != other_hash || primitive != &other ||
        !params_equal(params.get(), other_params.get())) {
      return false;
    }
    const auto types = executable->input_types();
    return std::equal(types.begin(), types.end(), inputs.begin(), inputs.end(),
                      [](ShapeDtype type, const Array& input) { return type == input.type(); });
  }
};

size_t hash_call(const Primitive& primitive, const ParamsPtr& params,
                 std::span<const Array> inputs) {
  size_t hash = reinterpret_cast<uintptr_t>(&primitive);
  detail::mix(hash, params_hash(params.get()));
  for (const Array& input : inputs) detail::mix(hash, input.type().hash());
  return hash;
}

std::shared_ptr<const Executable> compile(const Primitive& primitive, const ParamsPtr& params,
                                          std::span<const Array> inputs) {
  ProgramBuilder builder;
  std::vector<Atom> atoms;
  for (const Array& input : inputs)
    atoms.push_back(Atom::variable(builder.add_input(input.type())));
  std::vector<Atom> outputs;
  for (const uint32_t output : builder.add_equation(primitive, params, atoms, current_location())) {
    outputs.push_back(Atom::variable(output));
  }
  return default_engine().compile(builder.build(outputs, std::string(primitive.name)), {});
}

// One table for the process behind a small one for each thread, which needs no lock.
class Cache {
 public:
  std::shared_ptr<const Executable> find_or_compile(const Primitive& primitive,
                                                    const ParamsPtr& params,
                                                    std::span<const Array> inputs) {
    thread_local std::array<Entry, 256> recent;
    thread_local uint64_t seen = 0;
    if (const uint64_t now = generation_.load(std::memory_order_acquire); now != seen) {
      recent.fill({});
      seen = now;
    }
    const size_t hash = hash_call(primitive, params, inputs);
    Entry& slot = recent[hash % recent.size()];
    if (slot.matches(hash, primitive, params, inputs)) return slot.executable;
    Entry entry = shared(hash, primitive, params, inputs);
    // A user's function lives no longer than the call.
    if (!entry.executable->program().holds_callback) slot = entry;
    return std::move(entry.executable);
  }

  void clear() {
    // Handlers' states die outside the lock: what frees them is foreign code.
    decltype(entries_) dying;
    const std::lock_guard lock(mutex_);
    dying.swap(entries_);
    generation_.fetch_add(1, std::memory_order_release);
  }

 private:
  static constexpr size_t kMaxEntries = 8192;

  Entry shared(size_t hash, const Primitive& primitive, const ParamsPtr& params,
               std::span<const Array> inputs) {
    {
      std::lock_guard lock(mutex_);
      const auto [begin, end] = entries_.equal_range(hash);
      for (auto it = begin; it != end; ++it) {
        if (it->second.matches(hash, primitive, params, inputs)) return it->second;
      }
    }
    Entry entry{hash, &primitive, params, compile(primitive, params, inputs)};
    if (entry.executable->program().holds_callback) return entry;
    decltype(entries_) dying;  // outside the lock, as in clear()
    std::lock_guard lock(mutex_);
    // Dropping everything at the bound is rare and costs recompiling what is still in use.
    if (entries_.size() >= kMaxEntries) dying.swap(entries_);
    entries_.emplace(hash, entry);
    return entry;
  }

  std::mutex mutex_;
  std::unordered_multimap<size_t, Entry> entries_;
  std::atomic<uint64_t> generation_{0};  // threads drop what they keep when it has changed
};

class Evaluator final : public Interpreter {
 public:
  Evaluator() : Interpreter(nullptr) {}
  std::vector<Array> process(const Primitive& primitive, const ParamsPtr& params,
                             std::span<const Array> inputs) override {
    for (const Array& input : inputs) {
      if (!input.is_concrete()) {
        if (input.is_deleted()) deleted_array(input);
        throw LeakedTracerError(
            fmt::format("{}: leaked traced array {}: it was kept in a variable outside the "
                        "function that was recorded. Return it from that function instead",
                        primitive.name, input.type().to_string()));
      }
    }
    if (primitive.rules && primitive.rules->evaluate) {
      return primitive.rules->evaluate(params, inputs);
    }
    const auto executable = cache_.find_or_compile(primitive, params, inputs);
    return run(*executable, inputs);
  }
  std::vector<Array> process_custom(const CustomCallPtr& call,
                                    std::span<const Array> inputs) override {
    return call->function(inputs);
  }
  void clear() { cache_.clear(); }

 private:
  Cache cache_;
};

Evaluator& instance() {
  static auto* evaluator = new Evaluator;
  return *evaluator;
}

}  // namespace

Interpreter& evaluator() { return instance(); }

void clear_evaluator_cache() { instance().clear(); }

}  // namespace farcall
