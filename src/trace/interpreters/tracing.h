// Data of interpreters and their arrays for error messages; see origin.h.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <farcall/trace/interpreter.h>
#include <farcall/trace/varying.h>

namespace farcall {

// Data of an interpreter; outlives it.
struct Tracing {
  std::string where;           // what is traced: "jit(f)"; empty if not known
  SourceLocationPtr began_at;  // the user's line; may be null
};

class TracingInterpreter : public Interpreter {
 public:
  // Shared with the interpreter's arrays.
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
  // The array of an outer interpreter that has the same values; null if there is none.
  virtual const Array* same_values() const { return nullptr; }
  // The array of an outer interpreter that contains its values, such as the whole batch; null if
  // there is none.
  virtual const Array* whole() const { return nullptr; }
  // The axes over which its values vary, where axes are tracked.
  virtual AxisSet varying_axes() const = 0;
  // The user's line that made it; may be null.
  virtual SourceLocationPtr made_at() const { return nullptr; }

 private:
  std::shared_ptr<const Tracing> tracing_;
};

}  // namespace farcall
