// platform_index, and platform_dependent, which is built on it.
#include <farcall/primitives/platform.h>

#include <farcall/core/error.h>
#include <farcall/ffi/registry.h>
#include <farcall/ops/control_flow.h>
#include <farcall/ops/platform.h>
#include <farcall/trace/interpreter.h>

#include "ops/internal/register.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

std::vector<ShapeDtype> index_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 0);
  const auto& p = params_as<PlatformIndexParams>(params);
  if (p.platforms.empty() && !p.has_default)
    invalid_argument("names no platform and has no default");
  return {ShapeDtype(DType::kInt32, {})};
}

const Primitive kPlatformIndex = {.name = "platform_index",
                                  .type_rule = index_rule,
                                  .parse = parse_params<PlatformIndexParams>,
                                  .flops = no_flops,
                                  .kind = PrimitiveKind::kPlatformIndex};
FARCALL_REGISTER_PRIMITIVE(kPlatformIndex);

}  // namespace

namespace lax {

Array platform_index(std::span<const std::string> platforms, bool has_default) {
  if (platforms.empty() && !has_default) {
    invalid_argument("platform_dependent: give a function for a platform, or a default");
  }
  PlatformIndexParams p{.has_default = has_default};
  for (const std::string& platform : platforms) {
    p.platforms.push_back(
        with_error_prefix("platform_dependent", [&] { return parse_platform(platform); }));
  }
  return bind_one(kPlatformIndex, make_params(std::move(p)), {});
}

std::vector<Array> platform_dependent(std::span<const Array> operands,
                                      std::span<const PlatformBranch> branches,
                                      const FlatFunction& otherwise) {
  std::vector<std::string> platforms;
  std::vector<FlatFunction> functions;
  for (const PlatformBranch& branch : branches) {
    platforms.push_back(branch.platform);
    functions.push_back(branch.function);
  }
  if (otherwise) functions.push_back(otherwise);
  const Array index = platform_index(platforms, static_cast<bool>(otherwise));
  if (index.is_concrete()) return functions[static_cast<size_t>(index.item<int32_t>())](operands);
  std::vector<Recording> recordings;
  for (const FlatFunction& function : functions) {
    recordings.push_back(record_branch(function, index, operands));
  }
  check_branches(BranchFunction::kPlatformDependent, recordings, numbered("result"));
  return run_branches(index, recordings, operands);
}

}  // namespace lax
}  // namespace farcall
