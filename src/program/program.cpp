#include <farcall/program/program.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/walk.h>

namespace farcall {
namespace {

// Walks two programs side by side and notes which variable of one is which of the other, so that
// their numbering does not count.
class Comparison {
 public:
  Comparison(const Program& a, const Program& b)
      : a_(a), b_(b), partner_(a.variable_types.size(), kNone) {}

  bool run() {
    const auto define_all = [&](uint32_t a, uint32_t b) { return define(a, b); };
    const auto atoms = [&](Atom a, Atom b) { return same_atom(a, b); };
    return equal(a_.inputs, b_.inputs, define_all) &&
           equal(a_.constants, b_.constants,
                 [&](const Constant& a, const Constant& b) { return same_constant(a, b); }) &&
           equal(a_.equations, b_.equations,
                 [&](const Equation& a, const Equation& b) {
                   return a.primitive == b.primitive && a.effects == b.effects &&
                          params_equal(a.params.get(), b.params.get()) &&
                          equal(a.inputs, b.inputs, atoms) &&
                          equal(a.outputs, b.outputs, define_all);
                 }) &&
           equal(a_.outputs, b_.outputs, atoms);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  template <class T, class Same>
  static bool equal(const std::vector<T>& a, const std::vector<T>& b, Same same) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
  }

  bool define(uint32_t a, uint32_t b) {
    partner_[a] = b;
    return a_.variable_types[a] == b_.variable_types[b];
  }

  bool same_atom(Atom a, Atom b) const {
    if (a.kind != b.kind) return false;
    return a.is_variable() ? partner_[a.index] == b.index
                           : a_.literals[a.index] == b_.literals[b.index];
  }

  bool same_constant(const Constant& a, const Constant& b) {
    return define(a.variable, b.variable) && a.storage.nbytes() == b.storage.nbytes() &&
           (a.storage.nbytes() == 0 ||
            std::memcmp(a.storage.data(), b.storage.data(), a.storage.nbytes()) == 0);
  }

  const Program& a_;
  const Program& b_;
  std::vector<uint32_t> partner_;
};

}  // namespace

uint64_t Derived::id() const {
  static std::atomic<uint64_t> last{0};
  uint64_t found = id_.load();
  if (found == 0) {
    const uint64_t fresh = ++last;
    if (id_.compare_exchange_strong(found, fresh)) found = fresh;
  }
  return found;
}

std::vector<ShapeDtype> Program::input_types() const {
  std::vector<ShapeDtype> types;
  types.reserve(inputs.size());
  for (const uint32_t input : inputs) types.push_back(variable_types[input]);
  return types;
}

std::vector<ShapeDtype> Program::output_types() const {
  std::vector<ShapeDtype> types;
  types.reserve(outputs.size());
  for (const Atom output : outputs) types.push_back(type_of(output));
  return types;
}

Effects Program::effects() const {
  Effects effects = Effects::kNone;
  for (const Equation& equation : equations) effects |= equation.effects;
  return effects;
}

bool operator==(const Program& a, const Program& b) { return Comparison(a, b).run(); }

size_t hash_of(const Program& program) {
  if (const size_t known = program.derived.hash().load(std::memory_order_relaxed)) return known;
  size_t hash = program.inputs.size();
  for (const ShapeDtype type : program.input_types()) detail::mix(hash, type.hash());
  for (const Equation& equation : program.equations) {
    detail::mix(hash, std::hash<const Primitive*>()(equation.primitive));
    detail::mix(hash, params_hash(equation.params.get()));
  }
  for (const ShapeDtype type : program.output_types()) detail::mix(hash, type.hash());
  if (hash == 0) hash = 1;
  program.derived.hash().store(hash, std::memory_order_relaxed);
  return hash;
}

bool same_program(const ProgramPtr& a, const ProgramPtr& b) {
  return a == b || (a && b && hash_of(*a) == hash_of(*b) && *a == *b);
}

size_t hash_of_program(const ProgramPtr& program) { return program ? hash_of(*program) : 0; }

uint32_t ProgramBuilder::add_variable(ShapeDtype type) {
  program_.variable_types.push_back(type);
  return static_cast<uint32_t>(program_.variable_types.size() - 1);
}

uint32_t ProgramBuilder::add_input(ShapeDtype type) {
  program_.inputs.push_back(add_variable(type));
  return program_.inputs.back();
}

Atom ProgramBuilder::add_literal(const Literal& literal) {
  program_.literals.push_back(literal);
  return Atom::literal(static_cast<uint32_t>(program_.literals.size() - 1));
}

uint32_t ProgramBuilder::add_constant(ShapeDtype type, Storage storage) {
  const uint32_t variable = add_variable(type);
  program_.constants.push_back({variable, std::move(storage)});
  return variable;
}

std::vector<uint32_t> ProgramBuilder::add_equation(const Primitive& primitive, ParamsPtr params,
                                                   std::span<const Atom> inputs,
                                                   SourceLocationPtr where) {
  std::vector<ShapeDtype> types;
  types.reserve(inputs.size());
  for (const Atom atom : inputs) types.push_back(type_of(atom));
  const std::vector<ShapeDtype> result_types = infer_types(primitive, types, params.get());

  Equation equation;
  equation.primitive = &primitive;
  equation.inputs.assign(inputs.begin(), inputs.end());
  equation.effects = primitive.effects ? primitive.effects(params.get()) : Effects::kNone;
  equation.params = std::move(params);
  equation.where = std::move(where);
  for (const ShapeDtype type : result_types) equation.outputs.push_back(add_variable(type));
  program_.equations.push_back(std::move(equation));
  return program_.equations.back().outputs;
}

ProgramPtr ProgramBuilder::build(std::span<const Atom> outputs, std::string name) {
  program_.outputs.assign(outputs.begin(), outputs.end());
  program_.name = std::move(name);
  program_.axis_names.clear();
  program_.holds_callback = std::ranges::any_of(program_.equations, [](const Equation& equation) {
    return equation.primitive->holds_callback ||
           std::ranges::any_of(nested_programs(equation), [](const NamedProgram& nested) {
             return nested.program->holds_callback;
           });
  });
  for (const Equation& equation : program_.equations) {
    if (!equation.primitive->axis_names) continue;
    for (std::string& axis : equation.primitive->axis_names(equation.params.get())) {
      program_.axis_names.push_back(std::move(axis));
    }
  }
  std::ranges::sort(program_.axis_names);
  program_.axis_names.erase(std::unique(program_.axis_names.begin(), program_.axis_names.end()),
                            program_.axis_names.end());
  return std::make_shared<const Program>(std::move(program_));
}

}  // namespace farcall
