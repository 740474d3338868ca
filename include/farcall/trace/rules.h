// The transformation rules of primitives. A rule receives one application of the primitive. It runs
// under the parent of the transformation's interpreter: it uses ordinary operations, and may itself
// be recorded, batched or differentiated.
//
// Rules are optional. Without a rule, the transformation raises UNIMPLEMENTED and names the
// primitive.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/primitive.h>
#include <farcall/program/sharding.h>
#include <farcall/trace/array.h>
#include <farcall/trace/interpreter.h>

namespace farcall {

// ---- forward mode ----

// One application with the tangents of its operands. A null tangent is zero; at least one tangent
// is not null.
struct JvpCall {
  const Primitive& primitive;
  const ParamsPtr& params;
  std::span<const Array> primals;
  std::span<const Array> tangents;  // of the types of the primals
};
// The results, and one tangent for each; a null tangent is zero. Tangents of results that are
// neither floats nor complex numbers are ignored.
struct JvpResults {
  std::vector<Array> primals;
  std::vector<Array> tangents;
};
using JvpRule = JvpResults (*)(const JvpCall& call);
// The rule of an operation that is linear in its only operand: applies it to the tangent.
FARCALL_API JvpResults linear_jvp(const JvpCall& call);

// ---- transposition ----

// One application that is linear in some of its operands.
struct TransposeCall {
  const Primitive& primitive;
  const ParamsPtr& params;
  std::span<const Array> inputs;  // null for operands in which the application is linear
  std::span<const ShapeDtype> types;
  std::span<const Array> cotangents;  // of the results; null is zero; at least one is not null

  bool is_linear(size_t i) const { return inputs[i].is_null(); }
};
// The cotangents of the operands, one for each: null if it is zero, or if the operand is not
// linear.
using TransposeRule = std::vector<Array> (*)(const TransposeCall& call);
// The rule of an operation that is its own transpose: applies it to the cotangents.
FARCALL_API std::vector<Array> self_transpose(const TransposeCall& call);

// ---- batching ----

inline constexpr int64_t kNotBatched = -1;

// What vmap maps over.
struct BatchAxis {
  int64_t size = 0;
  std::string name;  // empty: collectives cannot refer to it
  // The axes of meshes that split it where a sharding is given (VmapOptions::spmd_axis_names).
  std::vector<std::string> spmd_names = {};
};

// One application; some of its operands have a batch dimension.
struct BatchCall {
  const Primitive& primitive;
  const ParamsPtr& params;
  std::span<const Array> inputs;
  std::span<const int64_t> axes;  // batch dimension by operand, or kNotBatched
  const BatchAxis& axis;

  bool is_batched(size_t i) const { return axes[i] != kNotBatched; }
};
struct BatchResults {
  std::vector<Array> outputs;
  std::vector<int64_t> axes;  // batch dimension by output, or kNotBatched
};
using BatchRule = BatchResults (*)(const BatchCall& call);
// The rule of an operation with one result for which a batch dimension is a dimension like any
// other: applies it to the batched operand. The result has its batch dimension there too.
FARCALL_API BatchResults same_axis_batch(const BatchCall& call);

// ---- partial evaluation ----

// One application; some of its operands are not known yet.
struct PartialCall {
  const Primitive& primitive;
  const ParamsPtr& params;
  std::span<const Array> inputs;
  const std::vector<bool>& is_unknown;  // by operand
  // Records equations on unknown operands; captures known operands.
  Interpreter& recorder;
};
// Returns the results: known ones are computed, unknown ones recorded. Without a rule, the whole
// application is recorded.
using PartialRule = std::vector<Array> (*)(const PartialCall& call);

// ---- division among devices ----

// The specs of the operands and results of one application over a mesh.
struct CallSpecs {
  std::vector<PartitionSpec> operands, results;

  friend bool operator==(const CallSpecs&, const CallSpecs&) = default;
};
// One application in a program on arrays over a mesh.
struct SpecsCall {
  const Params* params;
  std::span<const ShapeDtype> operands, results;
  const Mesh& mesh;
  const CallSpecs& known;  // empty specs if unknown
};
// Returns the specs of all operands and results, derived from the known ones. Without a value,
// dimensions with the same position and size are related.
using SpecsRule = std::optional<CallSpecs> (*)(const SpecsCall& call);

struct PartitionCall {
  const Primitive& primitive;
  const ParamsPtr& params;
  std::span<const Array> inputs;
  std::span<const ShapeDtype> results;
  const Mesh& mesh;
  const CallSpecs& specs;
};
struct PartitionResults {
  std::vector<Array> outputs;  // whole arrays; empty if the application runs once, on whole arrays
  std::string rule;            // the rule that divided it: "its sharding rule "n -> n""
  std::string why_not;         // the reason if it was not divided: "it has side effects"
};
using PartitionRule = PartitionResults (*)(const PartitionCall& call);

struct TransformRules {
  JvpRule jvp = nullptr;
  TransposeRule transpose = nullptr;
  BatchRule batch = nullptr;
  PartialRule partial_eval = nullptr;
  // If null, dimensions with the same position and size are related.
  SpecsRule specs = nullptr;
  PartitionRule partition = nullptr;
  // For primitives that represent, in a program, a call with custom rules. Called instead of
  // Interpreter::process().
  std::vector<Array> (*rebind)(const Params* params, std::span<const Array> inputs) = nullptr;
  // Called by the evaluator instead of compiling and running a program of one equation.
  std::vector<Array> (*evaluate)(const ParamsPtr& params, std::span<const Array> inputs) = nullptr;
};

// The operations that transformations themselves need. They accept every dtype that supports them.
// The ops layer, which is above this one, provides them when it is loaded.
struct BasicOperations {
  Array (*zeros)(ShapeDtype type);
  Array (*add)(const Array& x, const Array& y);
  Array (*transpose)(const Array& x, std::span<const int64_t> permutation);
  // With a new dimension of this size at `axis`.
  Array (*broadcast)(const Array& x, int64_t axis, int64_t size);
  Array (*sum)(const Array& x, int64_t axis);
  Array (*convert)(const Array& x, DType dtype, bool weak_type);
  Array (*reshape)(const Array& x, std::span<const int64_t> shape);
  Array (*slice)(const Array& x, std::span<const int64_t> start, std::span<const int64_t> limit);
};
FARCALL_API void set_basic_operations(const BasicOperations& operations);
FARCALL_API const BasicOperations& basic_operations();

// Whether arrays of this type have tangents and cotangents: floats and complex numbers do, and
// their tangents have the same type.
inline bool has_tangent(ShapeDtype type) { return is_inexact(type.dtype()); }

}  // namespace farcall
