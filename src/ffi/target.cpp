#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/ffi/signature.h>

#include "ffi/code_address.h"
#include "ffi/internal/metadata.h"
#include "ffi/target_builder.h"
#include "ffi/trampolines.h"

namespace farcall {
namespace {

std::array<FARCALL_FFI_Handler*, kNumStages> by_stage(const HandlerBundle& bundle) {
  return {bundle.instantiate, bundle.prepare, bundle.initialize, bundle.execute, bundle.record};
}

// Calling data would end the process.
[[noreturn]] void fail_no_code(std::string_view name, std::string_view platform,
                               std::string_view what, const void* function) {
  invalid_argument(
      fmt::format("registry: \"{}\" on platform \"{}\": its {} is at {}, where there is no code. "
                  "Pass the address of a function, of a library that stays loaded.",
                  name, platform, what, fmt::ptr(function)));
}

}  // namespace

Target::~Target() = default;

int64_t Target::state_type_id() const {
  // Asked each time: the type may be registered after the target.
  FARCALL_FFI_Handler* instantiate = handler(Stage::kInstantiate);
  return instantiate ? runtime::query_metadata(instantiate).state_type_id : 0;
}

void Target::look_up_descriptions() const {
  std::call_once(has_descriptions_, [this] {
    // If two stages name the same attribute, execute has priority.
    for (const Stage stage :
         {Stage::kExecute, Stage::kInstantiate, Stage::kPrepare, Stage::kInitialize}) {
      const ffi::HandlerDesc* found = find_description(handler(stage));
      descriptions_[static_cast<size_t>(stage)] = found;
      for (size_t i = 0; found && i < found->num_params; ++i) {
        const ffi::ParamDesc& param = found->params[i];
        if (param.kind != ffi::ParamKind::kAttribute || !param.type) continue;
        attribute_types_.emplace(param.name, AttributeType(*param.type));
      }
    }
  });
}

const AttributeTypes& Target::attribute_types() const {
  look_up_descriptions();
  return attribute_types_;
}

const ffi::HandlerDesc* Target::description(Stage stage) const {
  look_up_descriptions();
  return descriptions_[static_cast<size_t>(stage)];
}

std::shared_ptr<Target> TargetBuilder::typed(std::string_view name, std::string_view platform,
                                             const HandlerBundle& bundle,
                                             FARCALL_FFI_Handler_Traits traits) {
  if (bundle.execute == nullptr) {
    invalid_argument(
        fmt::format("registry: \"{}\" on platform \"{}\" has no execute stage.", name, platform));
  }
  std::shared_ptr<Target> target(new Target);
  target->name_ = name;
  target->platform_ = platform;
  target->given_traits_ = traits;
  target->traits_ = traits;
  const auto handlers = by_stage(bundle);
  for (int stage = 0; stage < kNumStages; ++stage) {
    if (handlers[stage] == nullptr) continue;
    if (const auto* code = reinterpret_cast<const void*>(handlers[stage]);
        !runtime::may_be_code(code)) {
      fail_no_code(name, platform, fmt::format("{} handler", stage_name(static_cast<Stage>(stage))),
                   code);
    }
    const auto metadata = runtime::query_metadata(handlers[stage]);
    target->stages_[stage] = {handlers[stage], metadata.version};
    // Stages may state different traits; those of execute count.
    if (stage == static_cast<int>(Stage::kExecute)) target->traits_ |= metadata.traits;
  }
  return target;
}

std::shared_ptr<Target> TargetBuilder::callable(std::string_view name, std::string_view platform,
                                                HandlerFunction function,
                                                FARCALL_FFI_Handler_Traits traits) {
  if (!function) {
    invalid_argument(
        fmt::format("registry: \"{}\" on platform \"{}\": the callable is empty.", name, platform));
  }
  std::shared_ptr<Target> target(new Target);
  target->name_ = name;
  target->platform_ = platform;
  target->given_traits_ = target->traits_ = traits;
  target->callable_ = std::move(function);
  target->stages_[static_cast<int>(Stage::kExecute)].handler = runtime::call_callable;
  return target;
}

std::shared_ptr<Target> TargetBuilder::untyped(std::string_view name, std::string_view platform,
                                               void* function, FARCALL_FFI_Handler_Traits traits) {
  if (function == nullptr) {
    invalid_argument(
        fmt::format("registry: \"{}\" on platform \"{}\" has no function.", name, platform));
  }
  if (!runtime::may_be_code(function)) fail_no_code(name, platform, "function", function);
  std::shared_ptr<Target> target(new Target);
  target->name_ = name;
  target->platform_ = platform;
  target->given_traits_ = target->traits_ = traits;
  target->untyped_ = function;
  target->stages_[static_cast<int>(Stage::kExecute)].handler = runtime::call_untyped;
  return target;
}

void TargetBuilder::describe_as(Target& target, const Target& called) {
  target.traits_ = called.traits_;
  called.look_up_descriptions();
  std::call_once(target.has_descriptions_, [&] {
    target.descriptions_ = called.descriptions_;
    target.attribute_types_ = called.attribute_types_;
  });
}

bool TargetBuilder::has_handlers(const Target& existing, const HandlerBundle& bundle,
                                 FARCALL_FFI_Handler_Traits traits) {
  return !existing.callable_ && existing.given_traits_ == traits &&
         std::ranges::equal(existing.stages_, by_stage(bundle), {}, &Target::StageHandler::handler);
}

std::string TargetBuilder::differences(const Target& existing, const Target& wanted) {
  std::vector<std::string> found;
  if (existing.callable_ || wanted.callable_) {
    found.push_back("another C++ callable");
  } else {
    for (int i = 0; i < kNumStages; ++i) {
      const auto stage = static_cast<Stage>(i);
      if (existing.handler(stage) == wanted.handler(stage)) continue;
      const char* how = !existing.handler(stage) ? "no" : !wanted.handler(stage) ? "a" : "another";
      found.push_back(fmt::format("{} {} handler", how, stage_name(stage)));
    }
    if (existing.untyped_ != wanted.untyped_) found.push_back("another untyped function");
  }
  if (existing.given_traits_ != wanted.given_traits_) {
    found.push_back(
        fmt::format("traits {} instead of {}", existing.given_traits_, wanted.given_traits_));
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

void TargetBuilder::check_versions(const Target& target) {
  for (int i = 0; i < kNumStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    if (!target.has_stage(stage)) continue;
    const ApiVersion version = target.version(stage);
    if (version.major_version == kRuntimeApiVersion.major_version &&
        version <= kRuntimeApiVersion) {
      continue;
    }
    throw Error(ErrorCode::kFailedPrecondition,
                fmt::format("registry: \"{}\" on platform \"{}\": its {} handler was built for "
                            "version {} of the FFI interface, but this runtime has {}. Build it "
                            "with an older header, or use a newer farcall.",
                            target.name(), target.platform(), stage_name(stage),
                            version_to_string(version), version_to_string(kRuntimeApiVersion)));
  }
}

}  // namespace farcall
