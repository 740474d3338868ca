#include <farcall/program/program.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/walk.h>

namespace farcall {
namespace {

// Compares two programs in parallel and maps variables of one to variables of the other, so that
// numbering is ignored.
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

  template <class Vector, class Same>
  static bool equal(const Vector& a, const Vector& b, Same same) {
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

// Hashes what Comparison compares. Variables are numbered in the order of definition.
class Hash {
 public:
  explicit Hash(const Program& program)
      : program_(program), number_(program.variable_types.size(), 0) {}

  size_t run() {  // never 0
    for (const uint32_t input : program_.inputs) define(input);
    for (const Constant& constant : program_.constants) {
      define(constant.variable);
      add_bytes(constant.storage);
    }
    for (const Equation& equation : program_.equations) {
      detail::mix(hash_, std::hash<const Primitive*>()(equation.primitive));
      detail::mix(hash_, params_hash(equation.params.get()));
      for (const Atom atom : equation.inputs) add(atom);
      for (const uint32_t output : equation.outputs) define(output);
    }
    for (const Atom atom : program_.outputs) add(atom);
    return hash_ == 0 ? 1 : hash_;
  }

 private:
  void define(uint32_t variable) {
    number_[variable] = ++num_defined_;
    detail::mix(hash_, program_.variable_types[variable].hash());
  }

  void add(Atom atom) {
    if (atom.is_variable()) return detail::mix(hash_, number_[atom.index]);
    const Literal& literal = program_.literals[atom.index];
    detail::mix(hash_, literal.type.hash());
    for (const std::byte byte : literal.bytes) detail::mix(hash_, static_cast<size_t>(byte));
  }

  // Hashes only the first bytes, which differ for most constants.
  void add_bytes(const Storage& storage) {
    constexpr size_t kMost = 1024;
    const size_t count = std::min(storage.nbytes(), kMost);
    const std::string_view bytes(static_cast<const char*>(storage.data()), count);
    detail::mix(hash_, storage.nbytes());
    detail::mix(hash_, std::hash<std::string_view>()(bytes));
  }

  const Program& program_;
  std::vector<size_t> number_;
  size_t num_defined_ = 0;
  size_t hash_ = 0;
};

// Programs with the same class are known to be equal. The class is the least id among the programs
// that were compared. When two classes are merged, only the two compared programs are updated; the
// others are updated when they are compared again.
using EqualityClass = std::atomic<uint64_t>;

EqualityClass& class_of(const Program& program) {
  return *program.derived.find_or_make<std::shared_ptr<EqualityClass>>(
      "equality class", {}, [&] { return std::make_shared<EqualityClass>(program.derived.id()); });
}

void check_depth(const Program& program) {
  if (nesting_of(program).depth <= kMaxProgramDepth) return;
  invalid_argument(
      fmt::format("programs are nested more than {} deep: a function that is jitted, looped "
                  "over or given rules calls another one, and so on. Call some of them "
                  "without jit, or use a loop",
                  kMaxProgramDepth));
}

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

// Equality classes make sure that shared nested programs are compared only once for each pair.
bool operator==(const Program& a, const Program& b) {
  if (&a == &b) return true;
  if (nesting_of(a).depth == 1) return Comparison(a, b).run();
  EqualityClass &of_a = class_of(a), &of_b = class_of(b);
  if (of_a.load() == of_b.load()) return true;
  if (!Comparison(a, b).run()) return false;
  const uint64_t common = std::min(of_a.load(), of_b.load());
  of_a = of_b = common;
  return true;
}

size_t hash_of(const Program& program) {
  if (const size_t known = program.derived.hash().load(std::memory_order_relaxed)) return known;
  const size_t hash = Hash(program).run();
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
  for (const ShapeDtype& type : result_types) equation.outputs.push_back(add_variable(type));
  program_.equations.push_back(std::move(equation));
  return program_.equations.back().outputs;
}

ProgramPtr ProgramBuilder::build(std::span<const Atom> outputs, std::string name) {
  program_.outputs.assign(outputs.begin(), outputs.end());
  program_.name = std::move(name);
  program_.axis_names.clear();
  program_.holds_callback = std::ranges::any_of(program_.equations, [](const Equation& equation) {
    return equation.primitive->is_callback() ||
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
  auto program = std::make_shared<const Program>(std::move(program_));
  check_depth(*program);
  return program;
}

}  // namespace farcall
