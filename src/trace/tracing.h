// What messages need to know of an interpreter and its arrays; see origin.h.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <farcall/trace/interpreter.h>

namespace farcall {

// Of an interpreter, also after it has ended.
struct Tracing {
  std::string where;           // what is traced: "jit(f)"; empty where nobody has said
  SourceLocationPtr began_at;  // the user's line; may be null
};

class TracingInterpreter : public Interpreter {
 public:
  // Shared with its arrays.
  const std::shared_ptr<Tracing>& tracing() const { return tracing_; }

 protected:
  explicit TracingInterpreter(Interpreter* parent) : Interpreter(parent) {}

 private:
  std::shared_ptr<Tracing> tracing_ = std::make_shared<Tracing>();
};

class TracingNode : public TracedNode {
 public:
  TracingNode(ShapeDtype type, const TracingInterpreter& interpreter)
      : TracedNode(type, interpreter), tracing_(interpreter.tracing()) {}
  const Tracing& tracing() const { return *tracing_; }
  // The array, of an interpreter further down, whose values it has; null where there is none.
  virtual const Array* same_values() const { return nullptr; }
  // The array, of an interpreter further down, that its values are part of; null likewise.
  virtual const Array* whole() const { return nullptr; }
  // The user's line where it was made; may be null.
  virtual SourceLocationPtr made_at() const { return nullptr; }

 private:
  std::shared_ptr<const Tracing> tracing_;
};

}  // namespace farcall
