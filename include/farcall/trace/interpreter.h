// The interpreter stack: what happens when an operation is applied to arrays.
//
// Each thread has a current interpreter. At the bottom stands the evaluator, which runs an
// operation at once. A transformation puts its own interpreter in its place while it calls the
// user's function, and hands what it computes to the interpreter below (its parent): recording
// writes equations, batching and differentiation apply the primitive's rule. Arrays of an
// interpreter that has ended are refused wherever they turn up again.
#pragma once

#include <memory>
#include <span>
#include <string>
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

  // Results of one operation on arrays that are concrete or of an interpreter in use.
  virtual std::vector<Array> process(const Primitive& primitive, const ParamsPtr& params,
                                     std::span<const Array> inputs) = 0;
  // Results of a function that brings rules of its own; see custom.h.
  virtual std::vector<Array> process_custom(const CustomCallPtr& call,
                                            std::span<const Array> inputs) = 0;

  // Tells interpreters apart, ended ones included.
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

// What arrays of a transformation refer to.
class FARCALL_API TracedNode : public ArrayNode {
 public:
  TracedNode(ShapeDtype type, const Interpreter& interpreter)
      : ArrayNode(type), interpreter_(interpreter.id()) {}
  uint64_t interpreter() const { return interpreter_; }

 private:
  uint64_t interpreter_;
};

FARCALL_API Interpreter& current_interpreter();
// The bottom of every thread's stack: compiles a program of one equation, cached by primitive,
// parameters and input types, and executes it.
FARCALL_API Interpreter& evaluator();

// Forgets the programs that the evaluator has compiled; those that run now live until they end.
FARCALL_API void clear_evaluator_cache();
FARCALL_API CacheInfo evaluator_cache_info();

// Whether operations on this thread happen at once, no function being recorded or transformed.
FARCALL_API bool is_evaluating();

// Makes an interpreter current on this thread for the life of the scope.
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

// Raises the error for a traced array that outlived its interpreter; `where` says where it turned
// up: "while f was recorded".
[[noreturn]] FARCALL_API void leaked_array(const Array& array, std::string_view where);

// The line of the user's code, for equations and messages. A front end (Python) installs a function
// that finds it; null by default.
using LocationProvider = SourceLocationPtr (*)();
FARCALL_API void set_location_provider(LocationProvider provider);
FARCALL_API SourceLocationPtr current_location();

// Gives what is recorded in this scope the location of the equation that it comes from.
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
