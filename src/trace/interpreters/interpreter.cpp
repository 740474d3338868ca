#include <farcall/trace/interpreter.h>

#include <atomic>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/rules.h>

#include "trace/internal/axis_tracking.h"

namespace farcall {
namespace {

thread_local Interpreter* current = nullptr;
thread_local const SourceLocationPtr* given_location = nullptr;
std::atomic<LocationProvider> location_provider{nullptr};
const BasicOperations* basic = nullptr;

uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

Interpreter::Interpreter(Interpreter* parent) : id_(next_id()), parent_(parent) {}
Interpreter::~Interpreter() = default;

bool Interpreter::owns(const Array& array) const { return array.node().interpreter() == id_; }

Interpreter& current_interpreter() { return current ? *current : evaluator(); }

bool is_evaluating() { return !current || current == &evaluator(); }

InterpreterScope::InterpreterScope(Interpreter& interpreter) : previous_(current) {
  current = &interpreter;
}
InterpreterScope::~InterpreterScope() { current = previous_; }

std::vector<Array> bind_primitive(const Primitive& primitive, const ParamsPtr& params,
                                  std::span<const Array> inputs) {
  if (primitive.rules && primitive.rules->rebind) {
    return primitive.rules->rebind(params.get(), inputs);
  }
  if (const AxisTracking* tracking = AxisTracking::current()) [[unlikely]] {
    return current_interpreter().process(primitive, params,
                                         met(*tracking, primitive, params, inputs));
  }
  return current_interpreter().process(primitive, params, inputs);
}

Array bind_one(const Primitive& primitive, const ParamsPtr& params, std::span<const Array> inputs) {
  std::vector<Array> results = bind_primitive(primitive, params, inputs);
  FARCALL_ASSERT(results.size() == 1);
  return std::move(results[0]);
}

void set_location_provider(LocationProvider provider) { location_provider = provider; }

SourceLocationPtr current_location() {
  if (given_location) return *given_location;
  const LocationProvider provider = location_provider.load(std::memory_order_relaxed);
  return provider ? provider() : nullptr;
}

LocationScope::LocationScope(const SourceLocationPtr& location) : previous_(given_location) {
  if (location) given_location = &location;
}
LocationScope::~LocationScope() { given_location = previous_; }

void set_basic_operations(const BasicOperations& operations) { basic = &operations; }

const BasicOperations& basic_operations() {
  FARCALL_ASSERT(basic);
  return *basic;
}

}  // namespace farcall
