// Primitive: the record of an operation. Its transformation rules are in `rules`, which only the
// trace layer reads.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/program/effects.h>
#include <farcall/program/params.h>

namespace farcall {

// Floating-point operations and bytes read and written by one equation.
struct Cost {
  int64_t flops = 0;
  int64_t bytes = 0;
};

struct TransformRules;  // defined by the trace layer

// Primitives that passes and engines treat specially. Primitives that call a program are the ones
// with a `body`.
enum class PrimitiveKind : uint8_t {
  kOperation,
  kForeignCall,
  kCallback,  // a call of a function that an equation keeps alive
  kScan,
  kWhile,
  kCond,
  kPlatformIndex,
  kBarrier,  // returns its operands; optimizations must not look through it
  kView,     // returns the elements of its operand in the same order: reshape, name
  kTranspose,
  kProduct,  // dot_general
};

// The target of a foreign call or callback.
struct ForeignTarget {
  std::string name;
  int64_t api_version = 4;
};

struct Primitive {
  std::string_view name;
  // Returns the types of the results. Raises Error if the operands are invalid; infer_types adds
  // the name of the primitive to the message.
  std::vector<ShapeDtype> (*type_rule)(std::span<const ShapeDtype> inputs, const Params* params);
  // Parameters from program text; null for a primitive without parameters.
  ParamsPtr (*parse)(std::span<const NamedValue> fields) = nullptr;
  Effects (*effects)(const Params* params) = nullptr;  // null: none
  // Null: one operation for each element of the results.
  int64_t (*flops)(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype> outputs,
                   const Params* params) = nullptr;
  const TransformRules* rules = nullptr;  // null: it cannot be transformed
  // For primitives that only run a program on their operands: returns the program, or null if these
  // parameters have none.
  ProgramPtr (*body)(const Params* params) = nullptr;
  // For other primitives that run programs: the cost of these runs.
  Cost (*cost)(const Params* params) = nullptr;
  // The names of mapped axes that an equation refers to (collectives); null: none.
  std::vector<std::string> (*axis_names)(const Params* params) = nullptr;
  // For primitives that no engine can run because a transformation should have replaced them: the
  // error message for a program that still contains one.
  std::string_view never_run = {};
  PrimitiveKind kind = PrimitiveKind::kOperation;
  // For primitives that call foreign code: the target.
  ForeignTarget (*foreign_target)(const Params* params) = nullptr;

  bool is_callback() const { return kind == PrimitiveKind::kCallback; }
  bool is_foreign() const { return foreign_target != nullptr; }
  bool is_loop() const { return kind == PrimitiveKind::kScan || kind == PrimitiveKind::kWhile; }
};

// Adds `primitive`, which must live until the process ends. Raises ALREADY_EXISTS.
FARCALL_API void register_primitive(const Primitive& primitive);
// Null if there is none of this name.
FARCALL_API const Primitive* find_primitive(std::string_view name);
// The same for names that are in the source of the library. Raises INTERNAL if there is none.
FARCALL_API const Primitive& primitive_named(std::string_view name);
// Sorted by name.
FARCALL_API std::vector<const Primitive*> all_primitives();

// The type rule, with the primitive's name in the message of an error.
FARCALL_API std::vector<ShapeDtype> infer_types(const Primitive& primitive,
                                                std::span<const ShapeDtype> inputs,
                                                const Params* params);

// Primitive::flops of operations that compute nothing: 0.
FARCALL_API int64_t no_flops(std::span<const ShapeDtype> inputs,
                             std::span<const ShapeDtype> outputs, const Params* params);

}  // namespace farcall
