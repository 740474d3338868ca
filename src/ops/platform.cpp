// platform_index, and the choice of a function by platform that is built on it.
#include <farcall/primitives/platform.h>

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include <farcall/ops/control_flow.h>
#include <farcall/ops/platform.h>
#include <farcall/trace/interpreter.h>

#include "ops/register.h"
#include "ops/type_rules.h"

namespace farcall {
namespace {

std::vector<ShapeDtype> index_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 0);
  const auto& p = params_as<PlatformIndexParams>(params);
  if (p.platforms.empty() && !p.has_default) type_error("names no platform and has no default");
  return {ShapeDtype(DType::kInt32, {})};
}

int64_t no_flops(std::span<const ShapeDtype>, std::span<const ShapeDtype>, const Params*) {
  return 0;
}

const Primitive kPlatformIndex = {.name = "platform_index",
                                  .type_rule = index_rule,
                                  .parse = parse_params<PlatformIndexParams>,
                                  .flops = no_flops};
FARCALL_REGISTER_PRIMITIVE(kPlatformIndex);

// "gpu" stands for the two kinds there are.
std::vector<std::string> platforms_of(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name == "gpu") return {"cuda", "rocm"};
  constexpr std::string_view kKnown[] = {"cpu", "cuda", "rocm", "tpu"};
  if (std::ranges::find(kKnown, name) == std::end(kKnown)) {
    type_error(
        fmt::format("platform_dependent: unknown platform \"{}\"; there are cpu, cuda, rocm, "
                    "gpu (cuda and rocm) and tpu",
                    name));
  }
  return {name};
}

}  // namespace

namespace lax {

std::vector<Array> platform_dependent(std::span<const Array> operands,
                                      std::span<const PlatformBranch> branches,
                                      const FlatFunction& otherwise) {
  if (branches.empty() && !otherwise) {
    type_error("platform_dependent: give a function for a platform, or a default");
  }
  PlatformIndexParams p;
  std::vector<FlatFunction> functions;
  for (const PlatformBranch& branch : branches) {
    p.platforms.push_back(platforms_of(branch.platform));
    functions.push_back(branch.function);
  }
  p.has_default = static_cast<bool>(otherwise);
  if (otherwise) functions.push_back(otherwise);
  const Array index = bind_one(kPlatformIndex, make_params(std::move(p)), {});
  return switch_(index, functions, operands);
}

}  // namespace lax
}  // namespace farcall
