#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/passes/passes.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/primitives/platform.h>
#include <farcall/program/located.h>

#include "passes/inliner.h"
#include "passes/internal/nested.h"

namespace farcall {
namespace {

int32_t index_for(const PlatformIndexParams& params, std::string_view platform) {
  for (size_t i = 0; i < params.platforms.size(); ++i) {
    const auto& names = params.platforms[i];
    if (std::ranges::find(names, platform) != names.end()) return static_cast<int32_t>(i);
  }
  if (params.has_default) return static_cast<int32_t>(params.platforms.size());
  std::vector<std::string> all;
  for (const auto& names : params.platforms) all.insert(all.end(), names.begin(), names.end());
  throw Error(ErrorCode::kUnimplemented,
              fmt::format("platform_dependent: no function for platform {}, only for {}; "
                          "add one, or a default",
                          platform, fmt::join(all, ", ")));
}

// Replaces one input of the program by a literal.
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

class Chooser final : public Inliner {
 public:
  Chooser(const Program& program, std::string_view platform)
      : Inliner(program), platform_(platform) {}

 private:
  std::optional<std::vector<Atom>> replacement(Equation& equation) override {
    const PrimitiveKind kind = equation.primitive->kind;
    if (kind == PrimitiveKind::kPlatformIndex) {
      const int32_t index = with_location(equation, [&] {
        return index_for(params_as<PlatformIndexParams>(equation.params.get()), platform_);
      });
      Literal literal{ShapeDtype(DType::kInt32, {}), {}};
      std::memcpy(literal.bytes.data(), &index, sizeof(index));
      return std::vector{add_literal(literal)};
    }
    if (kind == PrimitiveKind::kCond && !equation.inputs[0].is_variable()) {
      const auto& branches = params_as<CondParams>(equation.params.get()).branches;
      int32_t index;
      std::memcpy(&index, target_.literals[equation.inputs[0].index].bytes.data(), sizeof(index));
      const auto last = static_cast<int32_t>(branches.size()) - 1;
      return add_body(*branches[static_cast<size_t>(std::clamp(index, 0, last))],
                      std::span(equation.inputs).subspan(1));
    }
    if (equation.primitive->is_loop()) fix_constants(equation);
    if (has_regions(equation)) {
      equation.params = pass_regions(equation, [this](const ProgramPtr& nested) {
        return choose_platform(nested, platform_);
      });
    }
    return std::nullopt;
  }

  // Literals that a loop takes as constants become literals of its programs, which may decide a
  // choice there in turn.
  void fix_constants(Equation& equation) {
    if (equation.primitive->kind == PrimitiveKind::kScan) {
      ScanParams p = params_as<ScanParams>(equation.params.get());
      const int64_t fixed = fix(equation, 0, p.num_consts, p.jaxpr);
      if (fixed == 0) return;
      p.num_consts -= fixed;
      equation.params = make_params(std::move(p));
    } else {
      WhileParams p = params_as<WhileParams>(equation.params.get());
      const int64_t of_condition = fix(equation, 0, p.cond_nconsts, p.cond_jaxpr);
      p.cond_nconsts -= of_condition;
      const int64_t of_body = fix(equation, p.cond_nconsts, p.body_nconsts, p.body_jaxpr);
      if (of_condition + of_body == 0) return;
      p.body_nconsts -= of_body;
      equation.params = make_params(std::move(p));
    }
  }

  // Moves literals among the `count` operands from `first` on into the program; returns their
  // number.
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

  std::string_view platform_;
};

bool has_platform_choice(const Program& program) {
  return std::ranges::any_of(program.equations, [](const Equation& equation) {
    return equation.primitive->kind == PrimitiveKind::kPlatformIndex || has_regions(equation);
  });
}

// Whether an equation of this program (not of a nested one) may be replaced or lose operands.
bool has_choices(const Program& program) {
  return std::ranges::any_of(program.equations, [](const Equation& equation) {
    return equation.primitive->kind == PrimitiveKind::kPlatformIndex ||
           (has_regions(equation) &&
            std::ranges::any_of(equation.inputs, [](Atom atom) { return !atom.is_variable(); }));
  });
}

}  // namespace

ProgramPtr choose_platform(ProgramPtr program, std::string_view platform) {
  if (!has_platform_choice(*program)) return program;
  if (has_choices(*program)) return Chooser(*program, platform).run();
  return pass_nested(std::move(program), [platform](const ProgramPtr& nested) {
    return choose_platform(nested, platform);
  });
}

}  // namespace farcall
