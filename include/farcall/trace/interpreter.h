// The interpreter stack: what happens when an operation is applied to arrays.
//
// Each thread has a current interpreter. At the bottom of the stack is the evaluator, which runs
// operations immediately. A transformation makes its own interpreter current while it calls the
// user's function. Recording writes equations; batching and differentiation apply the primitive's
// rule, whose operations run under the interpreter below (the parent). An array of an interpreter
// that has ended raises an error wherever it is used.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/lru_cache.h>
#include <farcall/program/primitive.h>
#include <farcall/program/program.h>
#include <farcall/trace/array.h>

namespace farcall {

struct CustomCall;
using CustomCallPtr = std::shared_ptr<const CustomCall>;

class FARCALL_API Interpreter {
 public:
  virtual ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // Applies one operation. The inputs are concrete, or belong to an interpreter on the stack.
  virtual std::vector<Array> process(const Primitive& primitive, const ParamsPtr& params,
                                     std::span<const Array> inputs) = 0;
  // Calls a function with custom rules; see custom.h.
  virtual std::vector<Array> process_custom(const CustomCallPtr& call,
                                            std::span<const Array> inputs) = 0;

  // Unique among all interpreters of the process, including those that have ended.
  uint64_t id() const { return id_; }
  // Null for the evaluator. Outlives this.
  Interpreter* parent() const { return parent_; }
  // Whether the array was made by this interpreter.
  bool owns(const Array& array) const;

 protected:
  explicit Interpreter(Interpreter* parent);

 private:
  uint64_t id_;
  Interpreter* parent_;
};

// The node of a traced array.
class FARCALL_API TracedNode : public ArrayNode {
 public:
  TracedNode(ShapeDtype type, const Interpreter& interpreter)
      : ArrayNode(type), interpreter_(interpreter.id()) {}
  uint64_t interpreter() const override { return interpreter_; }

 private:
  uint64_t interpreter_;
};

FARCALL_API Interpreter& current_interpreter();
// The bottom of every thread's stack: compiles a program of one equation, cached by primitive,
// parameters and input types, and executes it.
FARCALL_API Interpreter& evaluator();

// Drops the programs that the evaluator has compiled. Programs that are running live until they
// end.
FARCALL_API void clear_evaluator_cache();
FARCALL_API CacheInfo evaluator_cache_info();

// Whether operations on this thread run immediately: no function is being recorded or transformed.
FARCALL_API bool is_evaluating();

// Makes an interpreter current on this thread during the scope.
class FARCALL_API InterpreterScope {
 public:
  explicit InterpreterScope(Interpreter& interpreter);
  ~InterpreterScope();
  InterpreterScope(const InterpreterScope&) = delete;
  InterpreterScope& operator=(const InterpreterScope&) = delete;

 private:
  Interpreter* previous_;
};

// Applies an operation under the current interpreter.
FARCALL_API std::vector<Array> bind_primitive(const Primitive& primitive, const ParamsPtr& params,
                                              std::span<const Array> inputs);
// The same for a primitive with one result.
FARCALL_API Array bind_one(const Primitive& primitive, const ParamsPtr& params,
                           std::span<const Array> inputs);

// Raises the error for a traced array that outlived its interpreter. `where` says where it was
// used: "while f was recorded".
[[noreturn]] FARCALL_API void leaked_array(const Array& array, std::string_view where);

// Finds the current line of the user's code, for equations and messages. Installed by a front end
// (Python); null by default.
using LocationProvider = SourceLocationPtr (*)();
FARCALL_API void set_location_provider(LocationProvider provider);
FARCALL_API SourceLocationPtr current_location();

// Equations recorded during the scope get this location (if not null): that of the equation they
// are derived from.
class FARCALL_API LocationScope {
 public:
  explicit LocationScope(const SourceLocationPtr& location);
  ~LocationScope();
  LocationScope(const LocationScope&) = delete;
  LocationScope& operator=(const LocationScope&) = delete;

 private:
  const SourceLocationPtr* previous_;
};

}  // namespace farcall
