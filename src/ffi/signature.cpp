#include <farcall/ffi/signature.h>

#include <dlfcn.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/handler/detail/describe.h>
#include <farcall/handler/detail/explain.h>

#include "ffi/attribute_frame.h"

namespace farcall {
namespace {

constexpr uint32_t kDescriptionVersion = 1;

std::string describe_type(const ffi::TypeDesc* type) {
  if (!type) return "any";
  // A struct is described by its members.
  if (type->kind == ffi::TypeKind::kStruct) {
    std::vector<std::string> members;
    for (size_t i = 0; i < type->num_children; ++i) {
      const ffi::NamedType& member = type->children[i];
      members.push_back(fmt::format("{}: {}{}", member.name, member.is_optional ? "optional " : "",
                                    describe_type(member.type)));
    }
    return fmt::format("{{{}}}", fmt::join(members, ", "));
  }
  ffi::detail::Text text;
  ffi::detail::print_type(text, *type);
  return std::string(text.view());
}

std::string describe_param(const ffi::ParamDesc& param) {
  return (param.is_optional ? "optional " : "") + describe_type(param.type);
}

// Checks arguments or results by their types, as buffers without memory.
void explain_types(ffi::detail::Problems& problems, const ffi::HandlerDesc& handler,
                   ffi::ParamKind kind, std::span<const ShapeDtype> types, bool gains_dimensions) {
  std::vector<const ffi::TypeDesc*> wanted;
  for (size_t i = 0; i < handler.num_params; ++i) {
    if (handler.params[i].kind == kind) wanted.push_back(handler.params[i].type);
  }
  // Handlers that name none may take any number: XLA's binding does not count them.
  if (wanted.empty()) return;
  std::vector<FARCALL_FFI_Buffer> buffers(types.size());
  std::vector<void*> pointers;
  std::vector<Shape> shapes(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    shapes[i].assign(types[i].shape().begin(), types[i].shape().end());
    if (gains_dimensions && i < wanted.size() && wanted[i]->rank > std::ssize(shapes[i])) {
      shapes[i].resize(static_cast<size_t>(wanted[i]->rank), 1);
    }
    buffers[i].struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Buffer, dims);
    buffers[i].dtype = static_cast<FARCALL_FFI_DataType>(types[i].dtype());
    buffers[i].rank = std::ssize(shapes[i]);
    buffers[i].dims = shapes[i].data();
    pointers.push_back(&buffers[i]);
  }
  const std::vector<int32_t> kinds(types.size(), FARCALL_FFI_ArgType_BUFFER);
  ffi::detail::explain_buffers(problems, handler, kind, kinds.data(), pointers.data(),
                               std::ssize(types));
}

}  // namespace

const ffi::HandlerDesc* find_description(FARCALL_FFI_Handler* handler) {
  Dl_info info;
  const auto* address = reinterpret_cast<const void*>(handler);
  if (!handler || dladdr(address, &info) == 0 || info.dli_saddr != address) return nullptr;
  // Gets a handle of the loaded library; the program itself cannot be opened by name.
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) library = dlopen(nullptr, RTLD_LAZY);
  const auto symbol = fmt::format("farcall_handler_{}", info.dli_sname);
  const auto* found = static_cast<const ffi::HandlerDesc*>(dlsym(library, symbol.c_str()));
  dlclose(library);
  const bool is_ours = found && found->struct_size >= sizeof(ffi::HandlerDesc) &&
                       found->version == kDescriptionVersion &&
                       std::string_view(found->name) == info.dli_sname;
  return is_ours ? found : nullptr;
}

std::string describe_handler(const ffi::HandlerDesc& handler) {
  std::vector<std::string> arguments, results, attributes;
  for (size_t i = 0; i < handler.num_params; ++i) {
    const ffi::ParamDesc& param = handler.params[i];
    switch (param.kind) {
      case ffi::ParamKind::kArgument:
        arguments.push_back(describe_param(param));
        break;
      case ffi::ParamKind::kResult:
        results.push_back(describe_param(param));
        break;
      case ffi::ParamKind::kRemainingArgs:
        arguments.emplace_back("...");
        break;
      case ffi::ParamKind::kRemainingRets:
        results.emplace_back("...");
        break;
      case ffi::ParamKind::kAttribute:
        attributes.push_back(fmt::format("{}: {}", param.name, describe_param(param)));
        break;
      case ffi::ParamKind::kAllAttributes:
        attributes.emplace_back("...");
        break;
      case ffi::ParamKind::kContext:
        break;
    }
  }
  std::ranges::sort(attributes);
  return fmt::format("({}) {{{}}} -> ({})", fmt::join(arguments, ", "), fmt::join(attributes, ", "),
                     fmt::join(results, ", "));
}

std::string misfits_of_call(std::string_view target_name, std::span<const ShapeDtype> arguments,
                            std::span<const ShapeDtype> results, const Attributes& attributes,
                            std::string_view platform, bool gains_dimensions) {
  const auto misfits = [&](const Target& target) -> std::string {
    const ffi::HandlerDesc* handler = target.description(Stage::kExecute);
    if (!handler) return {};
    const AttributeFrame frame(attributes);
    ffi::detail::Problems problems;
    explain_types(problems, *handler, ffi::ParamKind::kArgument, arguments, gains_dimensions);
    explain_types(problems, *handler, ffi::ParamKind::kResult, results, gains_dimensions);
    ffi::detail::explain_all_attributes(problems, *handler, frame.attrs());
    if (problems.count() == 0) return {};
    return fmt::format("{}: {}{}", handler->name,
                       problems.count() > 1 ? fmt::format("{} problems: ", problems.count()) : "",
                       problems.view());
  };
  std::string result;
  for (const auto& target : typed_targets(target_name)) {
    std::string found = misfits(*target);
    if (found.empty()) return {};
    if (target->platform() == platform) result = std::move(found);
  }
  return result;
}

std::string describe_target(const Target& target) {
  if (target.is_untyped()) return fmt::format("untyped; traits {}", target.traits());
  if (target.callable()) return fmt::format("a C++ callable; traits {}", target.traits());
  std::string text;
  for (int i = 0; i < kNumStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    if (!target.has_stage(stage)) continue;
    const ffi::HandlerDesc* found = find_description(target.handler(stage));
    text += fmt::format("{} {}; ", stage_name(stage),
                        found ? describe_handler(*found) : "without a description");
  }
  return text + fmt::format("traits {}", target.traits());
}

}  // namespace farcall
