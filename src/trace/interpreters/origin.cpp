#include <farcall/trace/origin.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/program/text.h>
#include <farcall/trace/interpreter.h>

#include "trace/interpreters/recorder.h"
#include "trace/interpreters/tracing.h"

namespace farcall {

// The functions that this thread is tracing, innermost first.
struct TracedCalls {
  static const TracedCallScope*& innermost() {
    thread_local const TracedCallScope* scope = nullptr;
    return scope;
  }

  // The outermost call under the interpreter: the one that it was made for. Rules may call further
  // functions under it.
  static const TracedCallScope* of_interpreter(uint64_t id) {
    const TracedCallScope* found = nullptr;
    for (const TracedCallScope* call = innermost(); call; call = call->outer_) {
      if (call->interpreter_ == id) found = call;
    }
    return found;
  }

  static std::span<const Array> inputs(const TracedCallScope& call) { return call.inputs_; }
  static std::string name(const TracedCallScope& call, size_t input) { return call.name_(input); }
};

TracedCallScope::TracedCallScope(std::string_view where, std::span<const Array> inputs,
                                 InputName name)
    : interpreter_(current_interpreter().id()),
      inputs_(inputs),
      name_(std::move(name)),
      outer_(TracedCalls::innermost()) {
  TracedCalls::innermost() = this;
  if (is_evaluating()) return;
  const auto* interpreter = dynamic_cast<const TracingInterpreter*>(&current_interpreter());
  if (interpreter && interpreter->tracing()->where.empty()) interpreter->tracing()->where = where;
}
TracedCallScope::~TracedCallScope() { TracedCalls::innermost() = outer_; }

namespace {

struct Origin {
  std::string where;                   // "jit(f)"; empty: not known
  std::vector<std::string> arguments;  // that the array is or is computed from: "argument x"
  bool is_argument = false;            // the array is an argument itself
  bool are_scalars = true;             // whether all arguments are scalars
  std::string_view primitive;          // that computed the array
  SourceLocationPtr made_at;

  void add(std::string name, const Array& argument) {
    if (std::ranges::find(arguments, name) != arguments.end()) return;
    arguments.push_back(std::move(name));
    are_scalars = are_scalars && argument.rank() == 0;
  }
};

Recorder* find_recorder(uint64_t id) {
  Interpreter* interpreter = &current_interpreter();
  while (interpreter && interpreter->id() != id) interpreter = interpreter->parent();
  return dynamic_cast<Recorder*>(interpreter);
}

Origin origin_of(const Array& array);

void add_outer(const Array& array, Origin& origin) {
  const Origin outer = origin_of(array);
  for (const std::string& argument : outer.arguments) {
    origin.add(fmt::format("{} of {}", argument, outer.where), array);
  }
}

void add_derivation(Recorder& recorder, const Array& array, Origin& origin) {
  const Derivation derivation = recorder.derivation(array);
  origin.primitive = derivation.primitive;
  origin.made_at = derivation.made_at;
  if (const TracedCallScope* call = TracedCalls::of_interpreter(recorder.id())) {
    const auto inputs = TracedCalls::inputs(*call);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].is_null() || !recorder.owns(inputs[i])) continue;
      const uint32_t variable = static_cast<const RecordedNode&>(inputs[i].node()).atom().index;
      if (derivation.sources[variable]) origin.add(TracedCalls::name(*call, i), inputs[i]);
    }
  }
  for (const Array& captured : derivation.captured) add_outer(captured, origin);
}

Origin origin_of(const Array& array) {
  Origin origin;
  const auto* node = dynamic_cast<const TracingNode*>(&array.node());
  if (!node) return origin;
  if (node->same_values()) return origin_of(*node->same_values());
  origin.where = node->tracing().where;
  if (const TracedCallScope* call = TracedCalls::of_interpreter(node->interpreter())) {
    const auto inputs = TracedCalls::inputs(*call);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].is_null() || &inputs[i].node() != node) continue;
      origin.add(TracedCalls::name(*call, i), array);
      origin.is_argument = true;
      return origin;
    }
  }
  if (node->whole()) {
    add_outer(*node->whole(), origin);
  } else if (Recorder* recorder = find_recorder(node->interpreter())) {
    add_derivation(*recorder, array, origin);
  }
  return origin;
}

std::string at(const SourceLocationPtr& where) { return where ? " at " + to_text(*where) : ""; }

std::string list(std::vector<std::string> names) {
  constexpr size_t kMost = 3;
  if (names.size() > kMost) {
    names.resize(kMost);
    names.emplace_back("others");
  }
  return fmt::format("{}", fmt::join(names, names.size() == 2 ? " and " : ", "));
}

}  // namespace

std::string why_unknown(const Array& array) {
  const Origin origin = origin_of(array);
  std::string text = fmt::format("its values are not known while {} is traced",
                                 origin.where.empty() ? "the function" : origin.where);
  if (origin.is_argument) return text + "; it is " + origin.arguments[0];
  if (!origin.primitive.empty()) {
    text += fmt::format("; it was made by {}{}", origin.primitive, at(origin.made_at));
  }
  if (!origin.arguments.empty()) {
    text += fmt::format("{} from {}", origin.primitive.empty() ? "; it is computed" : ",",
                        list(origin.arguments));
  }
  return text;
}

std::string how_to_know(const Array& array) {
  const Origin origin = origin_of(array);
  const auto is_of = [&](std::string_view kind) { return origin.where.starts_with(kind); };
  const bool can_be_static = origin.where.empty() || is_of("jit") || is_of("checkpoint") ||
                             is_of("make_jaxpr") || is_of("make_program");
  std::string outside = fmt::format("call this part outside {}",
                                    origin.where.empty() ? "jit and vmap" : origin.where);
  if (!can_be_static || (!origin.arguments.empty() && !origin.are_scalars)) return outside;
  const std::string which = origin.arguments.size() == 1 ? origin.arguments[0]
                            : origin.arguments.empty()   ? "the argument that they come from"
                                                         : list(origin.arguments);
  return fmt::format("make {} static (static_argnums), or {}", which, outside);
}

std::string origin_of_leak(const Array& array) {
  const auto* node = dynamic_cast<const TracingNode*>(&array.node());
  if (!node) return "";
  const std::string& where = node->tracing().where;
  if (const SourceLocationPtr made_at = node->made_at()) {
    return fmt::format("it was made{}{}", at(made_at),
                       where.empty() ? "" : fmt::format(", while {} was traced", where));
  }
  if (where.empty()) return "";
  return fmt::format(
      "it is of {}{}", where,
      node->tracing().began_at ? fmt::format(", called{}", at(node->tracing().began_at)) : "");
}

void leaked_array(const Array& array, std::string_view where) {
  if (array.is_deleted()) deleted_array(array);
  const std::string origin = origin_of_leak(array);
  throw LeakedTracerError(
      fmt::format("leaked traced array {} was used {}: it belongs to another function, or to one "
                  "whose recording has ended{}. Pass it as an argument, or return it, instead of "
                  "keeping it in a variable outside",
                  array.type().to_string(), where, origin.empty() ? "" : "; " + origin));
}

}  // namespace farcall
