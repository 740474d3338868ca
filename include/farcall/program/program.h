// Program: a typed list of equations. Recording a function gives a program; engines compile it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/free_blocks.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/core/storage.h>
#include <farcall/program/derived.h>
#include <farcall/program/effects.h>
#include <farcall/program/params.h>
#include <farcall/program/primitive.h>

namespace farcall {

// The line of the user's code that an equation comes from.
struct SourceLocation {
  std::string file;
  int line = 0;
  std::string function;
};
using SourceLocationPtr = std::shared_ptr<const SourceLocation>;

// A scalar written into an equation.
struct Literal {
  ShapeDtype type;  // of shape []
  std::array<std::byte, 16> bytes{};

  friend bool operator==(const Literal&, const Literal&) = default;
};

// An operand of an equation: the index of a variable or of a literal of the program.
struct Atom {
  enum class Kind : uint8_t { kVariable, kLiteral };
  Kind kind = Kind::kVariable;
  uint32_t index = 0;

  static Atom variable(uint32_t index) { return {Kind::kVariable, index}; }
  static Atom literal(uint32_t index) { return {Kind::kLiteral, index}; }
  bool is_variable() const { return kind == Kind::kVariable; }
  friend bool operator==(const Atom&, const Atom&) = default;
};

struct Equation {
  const Primitive* primitive = nullptr;
  ParamsPtr params;  // null for a primitive without parameters
  std::vector<Atom> inputs;
  std::vector<uint32_t> outputs;  // variables, each defined here and nowhere else
  Effects effects = Effects::kNone;
  SourceLocationPtr where;  // may be null
};

using Equations = std::vector<Equation, KeptMemory<Equation>>;

// An array that the function closed over: a variable with a value.
struct Constant {
  uint32_t variable = 0;
  Storage storage;  // dense, row-major
};

// Variables are numbered from 0; each is an input, a constant or the output of one equation, and is
// read only after that. A Program is built once (see ProgramBuilder) and then shared as
// `ProgramPtr`, never changed.
class FARCALL_API Program {
 public:
  std::string name;
  std::vector<ShapeDtype> variable_types;
  std::vector<Literal> literals;
  std::vector<Constant> constants;
  std::vector<uint32_t> inputs;
  Equations equations;
  std::vector<Atom> outputs;
  std::vector<std::string> axis_names;  // mapped axes that equations refer to, sorted
  bool holds_callback = false;          // in this program or in a nested one
  Derived derived;

  ShapeDtype type_of(Atom atom) const {
    return atom.is_variable() ? variable_types[atom.index] : literals[atom.index].type;
  }
  std::vector<ShapeDtype> input_types() const;
  std::vector<ShapeDtype> output_types() const;
  Effects effects() const;
  // The cost of all equations. A call costs what its program costs, a scan its step times the
  // length, a cond its most expensive branch, a while one step.
  Cost cost() const;
  Cost cost(const Equation& equation) const;
};

// Whether equations, parameters, types and constants are equal. The numbering of variables and
// literals, names and source locations are ignored.
FARCALL_API bool operator==(const Program& a, const Program& b);
// Equal for equal programs; computed once for each program.
FARCALL_API size_t hash_of(const Program& program);

// Adds variables and equations in order.
class FARCALL_API ProgramBuilder {
 public:
  uint32_t add_variable(ShapeDtype type);
  uint32_t add_input(ShapeDtype type);
  Atom add_literal(const Literal& literal);
  uint32_t add_constant(ShapeDtype type, Storage storage);
  // Infers the types of the results; raises what the primitive's type rule raises.
  std::vector<uint32_t> add_equation(const Primitive& primitive, ParamsPtr params,
                                     std::span<const Atom> inputs,
                                     SourceLocationPtr where = nullptr);
  ShapeDtype type_of(Atom atom) const { return program_.type_of(atom); }
  ProgramPtr build(std::span<const Atom> outputs, std::string name = {});

  // Direct access, for code that adds inputs or equations itself.
  Program& program() { return program_; }

 private:
  Program program_;
};

}  // namespace farcall
