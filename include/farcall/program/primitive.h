// Primitive: the record of an operation, as programs and engines see it. How an operation is
// transformed is in the record that the trace layer derives from this one.
#pragma once

#include <span>
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
  std::string_view stablehlo = {};  // operation name; empty where the form depends on parameters
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

}  // namespace farcall
