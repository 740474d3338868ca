#include <farcall/program/verify.h>
#include <farcall/program/walk.h>

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/core/sizes.h>

namespace farcall {
namespace {

class Verifier {
 public:
  // `path`: the path from the outermost program. `seen`: programs that are already verified,
  // because many equations may run one program.
  Verifier(const Program& program, std::string path, std::set<const Program*>& seen)
      : program_(program),
        path_(std::move(path)),
        seen_(seen),
        defined_(program.variable_types.size(), false) {}

  void run() {
    for (const Literal& literal : program_.literals) {
      if (literal.type.rank() != 0) fail("program", "a literal is not a scalar");
    }
    for (const uint32_t input : program_.inputs) define(input, "program");
    for (const Constant& constant : program_.constants) {
      define(constant.variable, "program");
      const ShapeDtype type = program_.variable_types[constant.variable];
      if (constant.storage.nbytes() != type.nbytes()) {
        fail("program",
             fmt::format("constant {} has {} bytes, its type {} has {}", constant.variable,
                         constant.storage.nbytes(), type.to_string(), type.nbytes()));
      }
    }
    for (size_t i = 0; i < program_.equations.size(); ++i) equation(i);
    for (const Atom output : program_.outputs) read(output, "program outputs");
  }

 private:
  void equation(size_t index) {
    poll_interrupt(index);
    const Equation& equation = program_.equations[index];
    if (!equation.primitive) fail(fmt::format("equation {}", index), "it has no primitive");
    const std::string where = fmt::format("equation {} ({})", index, equation.primitive->name);
    nested_programs(equation, where);
    std::vector<ShapeDtype> types;
    for (const Atom input : equation.inputs) {
      read(input, where);
      types.push_back(program_.type_of(input));
    }
    std::vector<ShapeDtype> results;
    try {
      results = infer_types(*equation.primitive, types, equation.params.get());
    } catch (const Error& error) {
      fail(where, error.message());
    }
    if (results.size() != equation.outputs.size()) {
      fail(where, fmt::format("it defines {} variables, its primitive gives {} results",
                              equation.outputs.size(), results.size()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      define(equation.outputs[i], where);
      const ShapeDtype declared = program_.variable_types[equation.outputs[i]];
      if (declared != results[i]) {
        fail(where, fmt::format("result {} is declared {}, its primitive gives {}", i,
                                declared.to_string(), results[i].to_string()));
      }
    }
    const auto effects = equation.primitive->effects;
    if (equation.effects != (effects ? effects(equation.params.get()) : Effects::kNone)) {
      fail(where, "its effects are not those of its primitive");
    }
  }

  // Called before the equation is checked, because its type rule relies on valid programs.
  void nested_programs(const Equation& equation, const std::string& where) {
    if (!equation.params) return;
    for (const auto& [name, program] : equation.params->programs()) {
      if (!seen_.insert(program.get()).second) continue;
      Verifier(*program, fmt::format("{}{}, {}: ", path_, where, name), seen_).run();
    }
  }

  void define(uint32_t variable, const std::string& where) {
    if (variable >= defined_.size()) {
      fail(where, fmt::format("there is no variable {}", variable));
    }
    if (defined_[variable]) fail(where, fmt::format("variable {} is defined twice", variable));
    defined_[variable] = true;
  }

  void read(Atom atom, const std::string& where) {
    if (!atom.is_variable()) {
      if (atom.index >= program_.literals.size()) {
        fail(where, fmt::format("there is no literal {}", atom.index));
      }
    } else if (atom.index >= defined_.size() || !defined_[atom.index]) {
      fail(where, fmt::format("variable {} is read before it is defined", atom.index));
    }
  }

  [[noreturn]] void fail(std::string_view where, std::string_view what) const {
    invalid_argument(fmt::format("invalid program: {}{}: {}", path_, where, what));
  }

  const Program& program_;
  std::string path_;
  std::set<const Program*>& seen_;
  std::vector<bool> defined_;
};

}  // namespace

void verify(const Program& program) {
  std::set<const Program*> seen;
  Verifier(program, {}, seen).run();
}

void check_num_consts(int64_t num_consts, size_t num_operands) {
  if (parts_fit({num_consts}, num_operands)) return;
  invalid_argument(fmt::format("num_consts must lie in [0, {}], the number of operands; got {}",
                               num_operands, num_consts));
}

void check_operands(const Program& program, std::span<const ShapeDtype> operands) {
  if (operands.size() != program.inputs.size()) {
    invalid_argument(fmt::format("it has {} operands, its program takes {}", operands.size(),
                                 program.inputs.size()));
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    const ShapeDtype wanted = program.variable_types[program.inputs[i]];
    if (operands[i].strengthened() == wanted.strengthened()) continue;
    invalid_argument(fmt::format("operand {} is {}, its program takes {}", i,
                                 operands[i].to_string(), wanted.to_string()));
  }
}

}  // namespace farcall
