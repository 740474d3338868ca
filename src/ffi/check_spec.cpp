#include "ffi/check_spec.h"

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "ffi/target_builder.h"

namespace farcall::runtime {
namespace {

[[noreturn]] void invalid(const ForeignCallSpec& spec, std::string_view what) {
  invalid_argument(fmt::format("ffi_call(\"{}\"): {}", spec.target->name(), what));
}

void check_types(const ForeignCallSpec& spec, const std::vector<ShapeDtype>& types,
                 std::string_view what) {
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i].is_valid()) invalid(spec, fmt::format("{} {} has no type", what, i));
  }
}

// With the header of version 0.0, printing an element type newer than the header has undefined
// behaviour, and its own error for an unexpected type prints it. So such types are refused here.
// (The first header of 0.1 has the same defect for integers below eight bits, but other headers
// with that version number know them.)
bool version_0_0_knows(DType dtype) {
  switch (dtype) {
    case DType::kInt1:
    case DType::kInt2:
    case DType::kInt4:
    case DType::kUInt1:
    case DType::kUInt2:
    case DType::kUInt4:
    case DType::kFloat8E4M3:
    case DType::kFloat8E3M4:
    case DType::kFloat4E2M1FN:
    case DType::kFloat8E8M0FNU:
      return false;
    default:
      return true;
  }
}

void check_known(const ForeignCallSpec& spec, std::string_view what, DType dtype) {
  if (version_0_0_knows(dtype)) return;
  invalid(spec, fmt::format("{} has the element type {}, which handlers of version 0.0 of the FFI "
                            "interface do not know. Build the handler with a newer header.",
                            what, dtype_name(dtype)));
}

void check_known(const ForeignCallSpec& spec, const Attributes& attributes) {
  for (const auto& [name, value] : attributes) {
    if (value.kind() == Attribute::Kind::kDictionary) {
      check_known(spec, value.as_dictionary());
    } else {
      check_known(spec, fmt::format("attribute \"{}\"", name), value.dtype());
    }
  }
}

void check_known_to_version_0_0(const ForeignCallSpec& spec) {
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    check_known(spec, fmt::format("argument {}", i), spec.arguments[i].dtype());
  }
  for (size_t i = 0; i < spec.results.size(); ++i) {
    check_known(spec, fmt::format("result {}", i), spec.results[i].dtype());
  }
  check_known(spec, spec.attributes);
}

bool has_stage_of_version_0_0(const Target& target) {
  for (int i = 0; i < kNumStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    if (target.has_stage(stage) && target.version(stage) == ApiVersion{0, 0}) return true;
  }
  return false;
}

}  // namespace

void check_spec(const ForeignCallSpec& spec) {
  if (spec.target == nullptr) {
    invalid_argument("ffi_call: the target is null");
  }
  const int version = spec.custom_call_api_version;
  if (version < 0 || version > 4) {
    invalid(spec, fmt::format("custom_call_api_version must be from 0 to 4, got {}", version));
  }
  if (spec.target->is_untyped() != (version < 4)) {
    invalid(spec, spec.target->is_untyped()
                      ? "the target is untyped: use custom_call_api_version 0 to 3, got 4"
                      : fmt::format("the target is typed: use custom_call_api_version 4, got {}",
                                    version));
  }
  if (version < 4 && !spec.attributes.empty()) {
    invalid(spec, fmt::format("attributes {} are for custom_call_api_version 4, not {}; use "
                              "legacy_backend_config",
                              spec.attributes.to_string(), version));
  }
  if (version == 4 && !spec.legacy_backend_config.empty()) {
    invalid(spec, "legacy_backend_config is for custom_call_api_version 0 to 3; use attributes");
  }
  check_types(spec, spec.arguments, "argument");
  check_types(spec, spec.results, "result");
  TargetBuilder::check_versions(*spec.target);
  if (has_stage_of_version_0_0(*spec.target)) check_known_to_version_0_0(spec);
}

}  // namespace farcall::runtime
