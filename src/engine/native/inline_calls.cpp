#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/primitives/platform.h>
#include <farcall/program/walk.h>

#include "engine/native/passes.h"

namespace farcall::native {
namespace {

bool is_loop(std::string_view name) { return name == "scan" || name == "while"; }

bool needs_work(const Program& program) {
  return std::ranges::any_of(program.equations, [](const Equation& equation) {
    const std::string_view name = equation.primitive->name;
    return called_program(equation) != nullptr || name == "platform_index" || name == "cond" ||
           name == "optimization_barrier" || is_loop(name);
  });
}

int32_t index_for(const PlatformIndexParams& params, const std::string& platform) {
  for (size_t i = 0; i < params.platforms.size(); ++i) {
    const auto& names = params.platforms[i];
    if (std::ranges::find(names, platform) != names.end()) return static_cast<int32_t>(i);
  }
  if (params.has_default) return static_cast<int32_t>(params.platforms.size());
  std::vector<std::string> all;
  for (const auto& names : params.platforms) all.insert(all.end(), names.begin(), names.end());
  throw Error(ErrorCode::kUnimplemented,
              fmt::format("platform_dependent: there is no function for platform {}, only for {}; "
                          "add one, or a default",
                          platform, fmt::join(all, ", ")));
}

// The program with a number in place of one of its inputs.
ProgramPtr with_literal(const Program& program, size_t input, const Literal& literal) {
  auto result = std::make_shared<Program>(program);
  const uint32_t variable = result->inputs[input];
  result->inputs.erase(result->inputs.begin() + static_cast<int64_t>(input));
  result->literals.push_back(literal);
  const Atom atom = Atom::literal(static_cast<uint32_t>(result->literals.size() - 1));
  const auto replace = [&](Atom& read) {
    if (read == Atom::variable(variable)) read = atom;
  };
  for (Equation& equation : result->equations) std::ranges::for_each(equation.inputs, replace);
  std::ranges::for_each(result->outputs, replace);
  return result;
}

// Copies equations into one program, renaming variables on the way.
class Inliner {
 public:
  Inliner(const Program& program, const std::string& platform)
      : target_(program), platform_(platform) {
    target_.equations.clear();
  }

  ProgramPtr run(const Program& program) {
    std::vector<Atom> names;
    for (uint32_t i = 0; i < program.variable_types.size(); ++i) {
      names.push_back(Atom::variable(i));
    }
    add_equations(program, names, /*is_outermost=*/true);
    for (Atom& output : target_.outputs) {
      if (output.is_variable()) output = names[output.index];
    }
    return std::make_shared<const Program>(std::move(target_));
  }

 private:
  // `names`: what each variable of `program` is called in the target.
  void add_equations(const Program& program, std::vector<Atom>& names, bool is_outermost) {
    const auto rename = [&](Atom atom) {
      if (atom.is_variable()) return names[atom.index];
      return is_outermost ? atom : add_literal(program.literals[atom.index]);
    };
    for (const Equation& equation : program.equations) {
      poll_interrupt();
      Equation copy = equation;
      for (Atom& input : copy.inputs) input = rename(input);
      if (const auto outputs = replacement(copy)) {
        for (size_t i = 0; i < outputs->size(); ++i) names[equation.outputs[i]] = (*outputs)[i];
        continue;
      }
      if (is_loop(equation.primitive->name)) fix_constants(copy);
      if (!is_outermost) {
        for (uint32_t& output : copy.outputs) {
          const uint32_t renamed = add_variable(program.variable_types[output]);
          names[output] = Atom::variable(renamed);
          output = renamed;
        }
      }
      target_.equations.push_back(std::move(copy));
    }
  }

  // What stands for the results of an equation that goes: a call, a choice that is made already.
  std::optional<std::vector<Atom>> replacement(const Equation& equation) {
    if (const ProgramPtr body = called_program(equation)) return add_body(*body, equation.inputs);
    const std::string_view name = equation.primitive->name;
    // Passes of this engine do not move operations, so that nothing is left to hold them back.
    if (name == "optimization_barrier") return equation.inputs;
    if (name == "platform_index") {
      const int32_t index =
          index_for(params_as<PlatformIndexParams>(equation.params.get()), platform_);
      Literal literal{ShapeDtype(DType::kInt32, {}), {}};
      std::memcpy(literal.bytes.data(), &index, sizeof(index));
      return std::vector{add_literal(literal)};
    }
    if (name == "cond" && !equation.inputs[0].is_variable()) {
      const auto& branches = params_as<CondParams>(equation.params.get()).branches;
      int32_t index;
      std::memcpy(&index, target_.literals[equation.inputs[0].index].bytes.data(), sizeof(index));
      const auto last = static_cast<int32_t>(branches.size()) - 1;
      return add_body(*branches[static_cast<size_t>(std::clamp(index, 0, last))],
                      std::span(equation.inputs).subspan(1));
    }
    return std::nullopt;
  }

  // Numbers that a loop takes as constants become numbers of its programs, where they may decide a
  // choice in turn.
  void fix_constants(Equation& equation) {
    if (equation.primitive->name == "scan") {
      ScanParams p = params_as<ScanParams>(equation.params.get());
      p.num_consts -= fix(equation, 0, p.num_consts, p.jaxpr);
      equation.params = make_params(std::move(p));
    } else {
      WhileParams p = params_as<WhileParams>(equation.params.get());
      p.cond_nconsts -= fix(equation, 0, p.cond_nconsts, p.cond_jaxpr);
      p.body_nconsts -= fix(equation, p.cond_nconsts, p.body_nconsts, p.body_jaxpr);
      equation.params = make_params(std::move(p));
    }
  }

  // Returns how many of the `count` operands from `first` on went into the program.
  int64_t fix(Equation& equation, int64_t first, int64_t count, ProgramPtr& program) {
    int64_t fixed = 0;
    for (int64_t i = count; i-- > 0;) {
      const auto at = equation.inputs.begin() + first + i;
      if (at->is_variable()) continue;
      program = with_literal(*program, static_cast<size_t>(i), target_.literals[at->index]);
      equation.inputs.erase(at);
      ++fixed;
    }
    return fixed;
  }

  std::vector<Atom> add_body(const Program& body, std::span<const Atom> inputs) {
    std::vector<Atom> names(body.variable_types.size());
    for (size_t i = 0; i < inputs.size(); ++i) names[body.inputs[i]] = inputs[i];
    for (const Constant& constant : body.constants) {
      const uint32_t variable = add_variable(body.variable_types[constant.variable]);
      target_.constants.push_back({variable, constant.storage});
      names[constant.variable] = Atom::variable(variable);
    }
    add_equations(body, names, /*is_outermost=*/false);
    std::vector<Atom> outputs;
    for (const Atom output : body.outputs) {
      outputs.push_back(output.is_variable() ? names[output.index]
                                             : add_literal(body.literals[output.index]));
    }
    return outputs;
  }

  uint32_t add_variable(ShapeDtype type) {
    target_.variable_types.push_back(type);
    return static_cast<uint32_t>(target_.variable_types.size() - 1);
  }
  Atom add_literal(const Literal& literal) {
    target_.literals.push_back(literal);
    return Atom::literal(static_cast<uint32_t>(target_.literals.size() - 1));
  }

  Program target_;
  const std::string& platform_;
};

}  // namespace

ProgramPtr inline_calls(const ProgramPtr& program, const std::string& platform) {
  return needs_work(*program) ? Inliner(*program, platform).run(*program) : program;
}

}  // namespace farcall::native
