// The rules by which a primitive is transformed. Each rule is given one application of the
// primitive and runs under the interpreter below the transformation, so that it is written with the
// ordinary operations and may itself be recorded, batched or differentiated.
//
// A rule left out is legal: the transformation then raises UNIMPLEMENTED naming the primitive.
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

// One application with the tangents of its operands. A null tangent is zero; at least one is not.
struct JvpCall {
  const Primitive& primitive;
  const ParamsPtr& params;
  std::span<const Array> primals;
  std::span<const Array> tangents;  // of the types of the primals
};
// Results and their tangents, of equal number; a null tangent is zero. Tangents of results that are
// neither floats nor complex numbers are dropped.
struct JvpResults {
  std::vector<Array> primals;
  std::vector<Array> tangents;
};
using JvpRule = JvpResults (*)(const JvpCall& call);

// ---- transposition ----

// One application that is linear in some of its operands.
struct TransposeCall {
  const Primitive& primitive;
  const ParamsPtr& params;
  std::span<const Array> inputs;  // null where the application is linear in the operand
  std::span<const ShapeDtype> types;
  std::span<const Array> cotangents;  // of the results; a null one is zero, at least one is not

  bool is_linear(size_t i) const { return inputs[i].is_null(); }
};
// Cotangents of the operands, one for each; null where it is zero or the operand is not linear.
using TransposeRule = std::vector<Array> (*)(const TransposeCall& call);

// ---- batching ----

inline constexpr int64_t kNotBatched = -1;

// What vmap maps over.
struct BatchAxis {
  int64_t size = 0;
  std::string name;  // empty: collectives cannot refer to it
};

// One application of which some operands have a batch dimension.
struct BatchCall {
  const Primitive& primitive;
  const ParamsPtr& params;
  std::span<const Array> inputs;
  std::span<const int64_t> axes;  // where the batch dimension is, or kNotBatched
  const BatchAxis& axis;

  bool is_batched(size_t i) const { return axes[i] != kNotBatched; }
};
struct BatchResults {
  std::vector<Array> outputs;
  std::vector<int64_t> axes;  // of `outputs`; kNotBatched where all elements of the batch agree
};
using BatchRule = BatchResults (*)(const BatchCall& call);

// ---- partial evaluation ----

// One application of which some operands are not known yet.
struct PartialCall {
  const Primitive& primitive;
  const ParamsPtr& params;
  std::span<const Array> inputs;
  const std::vector<bool>& is_unknown;  // by operand
  // Where equations on unknown operands are recorded; known ones are captured.
  Interpreter& recorder;
};
// Results, known ones computed, unknown ones recorded. Left out: the application is recorded whole.
using PartialRule = std::vector<Array> (*)(const PartialCall& call);

// ---- division among devices ----

// How the operands and results of one application are spread over a mesh.
struct CallSpecs {
  std::vector<PartitionSpec> operands, results;

  friend bool operator==(const CallSpecs&, const CallSpecs&) = default;
};
// One application in a program on arrays over a mesh.
struct SpecsCall {
  const Params* params;
  std::span<const ShapeDtype> operands, results;
  const Mesh& mesh;
  const CallSpecs& known;  // empty where nothing is known
};
// How all of them should be spread, from what is known of some. Without a value, as dimensions of
// one place and size suggest.
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
  std::vector<Array> outputs;  // as whole arrays; none where the application runs whole
  std::string rule;            // by which it was divided: "its sharding rule "n -> n""
  std::string why_not;         // why it was not: "it has side effects"
};
using PartitionRule = PartitionResults (*)(const PartitionCall& call);

struct TransformRules {
  JvpRule jvp = nullptr;
  TransposeRule transpose = nullptr;
  BatchRule batch = nullptr;
  PartialRule partial_eval = nullptr;
  // Without it dimensions of one place and size go together.
  SpecsRule specs = nullptr;
  PartitionRule partition = nullptr;
  // For primitives that stand for a call with rules of its own in a program: replaces binding.
  std::vector<Array> (*rebind)(const Params* params, std::span<const Array> inputs) = nullptr;
  // What the evaluator does instead of compiling and running a program of one equation.
  std::vector<Array> (*evaluate)(const ParamsPtr& params, std::span<const Array> inputs) = nullptr;
};

// The few operations that transformations themselves need, on arrays of any dtype that has them.
// The ops layer, above this one, provides them when it is loaded.
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

// The type of tangents and cotangents of arrays of this type: floats and complex numbers have their
// own type, others have none.
inline bool has_tangent(ShapeDtype type) {
  return is_floating(type.dtype()) || is_complex(type.dtype());
}

}  // namespace farcall
