// Parameters of primitives that run a program on their operands (jit, checkpoint, functions with
// custom rules, linear functions), and of name, which checkpoint policies refer to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/params.h>
#include <farcall/program/program.h>

namespace farcall {

// jit: runs `jaxpr`. Inside another program it is equivalent to the inlined equations.
struct JitParams {
  std::string name;
  ProgramPtr jaxpr;
  static constexpr auto fields() {
    return std::tuple(field("name", &JitParams::name), field("jaxpr", &JitParams::jaxpr));
  }
};

// checkpoint: the same, but reverse mode recomputes the equations. With `prevent_cse`, the
// recomputed equations are not merged with equal ones outside. `policy` and `names` are those of
// trace/checkpoint.h.
struct CheckpointParams {
  ProgramPtr jaxpr;
  bool prevent_cse = true;
  std::string policy;
  std::vector<std::string> names;
  static constexpr auto fields() {
    return std::tuple(field("jaxpr", &CheckpointParams::jaxpr),
                      field("prevent_cse", &CheckpointParams::prevent_cse),
                      field("policy", &CheckpointParams::policy),
                      field("names", &CheckpointParams::names));
  }
};

// name: returns its operand.
struct NameParams {
  std::string name;
  static constexpr auto fields() { return std::tuple(field("name", &NameParams::name)); }
};

// A function with custom rules, defined by the trace layer. Rules are code: program text contains
// only their name.
struct CustomCall;
using CustomCallPtr = std::shared_ptr<const CustomCall>;
FARCALL_API Value to_value(const CustomCallPtr& call);
FARCALL_API void from_value(const Value& value, CustomCallPtr& out);
inline size_t hash_of(const CustomCallPtr& call) { return std::hash<CustomCallPtr>()(call); }

// custom_jvp_call, custom_vjp_call, custom_vmap_call: run `call_jaxpr`. Transformations use
// `rules`.
struct CustomCallParams {
  CustomCallPtr rules;
  ProgramPtr call_jaxpr;
  int64_t num_consts = 0;  // inputs that the function closed over
  static constexpr auto fields() {
    return std::tuple(field("name", &CustomCallParams::rules),
                      field("call_jaxpr", &CustomCallParams::call_jaxpr),
                      field("num_consts", &CustomCallParams::num_consts));
  }
};

// linear_call: runs `callee`, which is linear in all operands but the first `num_consts`.
// `transpose` takes the same constants and the cotangents of the results, and returns the
// cotangents of the other operands.
struct LinearCallParams {
  ProgramPtr callee;
  ProgramPtr transpose;
  int64_t num_consts = 0;
  static constexpr auto fields() {
    return std::tuple(field("callee", &LinearCallParams::callee),
                      field("transpose", &LinearCallParams::transpose),
                      field("num_consts", &LinearCallParams::num_consts));
  }
};

// custom_linear_solve: computes x with matvec(x) = b by `solve`, which may return further results.
// Operands: `num_consts` constants, then b; every program takes the constants and arrays like b.
// `transposed` is empty, or the transposes of matvec and of solve.
struct LinearSolveParams {
  ProgramPtr matvec;
  ProgramPtr solve;
  std::vector<ProgramPtr> transposed;
  int64_t num_consts = 0;
  static constexpr auto fields() {
    return std::tuple(field("matvec", &LinearSolveParams::matvec),
                      field("solve", &LinearSolveParams::solve),
                      field("transposed", &LinearSolveParams::transposed),
                      field("num_consts", &LinearSolveParams::num_consts));
  }
};

}  // namespace farcall
