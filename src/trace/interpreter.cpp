#include <farcall/trace/interpreter.h>

#include <atomic>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall {
namespace {

thread_local Interpreter* current = nullptr;
std::atomic<LocationProvider> location_provider{nullptr};

}  // namespace

Interpreter::~Interpreter() = default;

Interpreter& current_interpreter() { return current ? *current : evaluator(); }

bool is_evaluating() { return !current || current == &evaluator(); }

InterpreterScope::InterpreterScope(Interpreter& interpreter) : previous_(current) {
  current = &interpreter;
}
InterpreterScope::~InterpreterScope() { current = previous_; }

std::vector<Array> bind_primitive(const Primitive& primitive, const ParamsPtr& params,
                                  std::span<const Array> inputs) {
  return current_interpreter().process(primitive, params, inputs);
}

Array bind_one(const Primitive& primitive, const ParamsPtr& params, std::span<const Array> inputs) {
  std::vector<Array> results = bind_primitive(primitive, params, inputs);
  FARCALL_ASSERT(results.size() == 1);
  return std::move(results[0]);
}

void set_location_provider(LocationProvider provider) { location_provider = provider; }

SourceLocationPtr current_location() {
  const LocationProvider provider = location_provider.load(std::memory_order_relaxed);
  return provider ? provider() : nullptr;
}

}  // namespace farcall
