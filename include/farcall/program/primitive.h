// Primitive: the record of an operation. How it is transformed stands in `rules`, which only the
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

// What passes and engines treat in a way of its own. Primitives that call a program are those with
// a `body`.
enum class PrimitiveKind : uint8_t {
  kOperation,
  kForeignCall,
  kCallback,  // a call of a function that an equation keeps alive
  kScan,
  kWhile,
  kCond,
  kPlatformIndex,
  kBarrier,  // its operands, which no optimization may look through
  kView,     // the elements of its operand in the same order: reshape, name
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
  // The types of the results; raises Error when the operands do not fit. infer_types puts the name
  // before messages that do not begin with it.
  std::vector<ShapeDtype> (*type_rule)(std::span<const ShapeDtype> inputs, const Params* params);
  // Parameters from program text; null for a primitive without parameters.
  ParamsPtr (*parse)(std::span<const NamedValue> fields) = nullptr;
  Effects (*effects)(const Params* params) = nullptr;  // null: none
  // Null: as many operations as the results have elements.
  int64_t (*flops)(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype> outputs,
                   const Params* params) = nullptr;
  const TransformRules* rules = nullptr;  // null: it cannot be transformed
  // For primitives that do nothing but run a program on their operands: that program, or null where
  // these parameters have none.
  ProgramPtr (*body)(const Params* params) = nullptr;
  // For the other primitives that run programs: what those runs cost.
  Cost (*cost)(const Params* params) = nullptr;
  // The names of mapped axes that an equation refers to (collectives); null: none.
  std::vector<std::string> (*axis_names)(const Params* params) = nullptr;
  // For primitives that no engine can run, because a transformation should have replaced them: what
  // is wrong with a program that still has one.
  std::string_view never_run = {};
  PrimitiveKind kind = PrimitiveKind::kOperation;
  // For primitives that call foreign code: what an equation calls.
  ForeignTarget (*foreign_target)(const Params* params) = nullptr;

  bool is_callback() const { return kind == PrimitiveKind::kCallback; }
  bool is_foreign() const { return foreign_target != nullptr; }
  bool is_loop() const { return kind == PrimitiveKind::kScan || kind == PrimitiveKind::kWhile; }
};

// Adds `primitive`, which must live until the process ends. Raises ALREADY_EXISTS.
FARCALL_API void register_primitive(const Primitive& primitive);
// Null when there is none of this name.
FARCALL_API const Primitive* find_primitive(std::string_view name);
// Sorted by name.
FARCALL_API std::vector<const Primitive*> all_primitives();

// The type rule, with the primitive's name in the message of an error.
FARCALL_API std::vector<ShapeDtype> infer_types(const Primitive& primitive,
                                                std::span<const ShapeDtype> inputs,
                                                const Params* params);

// The cost of what computes nothing (Primitive::flops): 0.
FARCALL_API int64_t no_flops(std::span<const ShapeDtype> inputs,
                             std::span<const ShapeDtype> outputs, const Params* params);

}  // namespace farcall
