#include "tools/handler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/ffi/library.h>
#include <farcall/ffi/signature.h>

#include "tools/failure.h"
#include "tools/python.h"
#include "tools/state_types.h"

namespace farcall::tools {

Handlers find_handlers(const std::string& library_name,
                       const std::array<std::string, kNumStages>& symbols) {
  adopt_state_types();
  Handlers handlers{};
  if (!is_python_module(library_name)) {
    const Library library = load_library(
        library_name.find('/') == std::string::npos ? "./" + library_name : library_name);
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (!symbols[i].empty()) handlers[i] = library.handler(symbols[i]);
    }
    return handlers;
  }
  const std::string& name = symbols[static_cast<size_t>(Stage::kExecute)];
  const auto capsules = load_capsules(library_name, name);
  std::vector<std::string> others;
  for (size_t i = 0; i < handlers.size(); ++i) {
    for (const Capsule& capsule : capsules) {
      if (capsule.name == name && capsule.stage == stage_name(static_cast<Stage>(i)))
        handlers[i] = capsule.handler;
    }
  }
  if (handlers[static_cast<size_t>(Stage::kExecute)]) return handlers;
  for (const Capsule& capsule : capsules) {
    if (capsule.name == name && !capsule.problem.empty())
      throw Failure(kCouldNotRun, fmt::format("{}:{}: {}.", library_name, name, capsule.problem));
    if (capsule.handler && capsule.stage == "execute") others.push_back(capsule.name);
  }
  throw Failure(
      kCouldNotRun,
      fmt::format("the Python module \"{}\" gives no handler \"{}\". It gives {}.", library_name,
                  name, others.empty() ? "none" : fmt::format("{}", fmt::join(others, ", "))));
}

HandlerBundle bundle_of(const Handlers& handlers) {
  return {handlers[0], handlers[1], handlers[2], handlers[3], handlers[4]};
}

Attributes typed_attributes(const CheckSpec& spec, const Handlers& handlers) {
  Attributes typed;
  for (const auto& [name, value] : spec.attributes) {
    Attribute final_value = value;
    for (FARCALL_FFI_Handler* handler : handlers) {
      const ffi::HandlerDesc* description = find_description(handler);
      for (size_t i = 0; description && i < description->num_params; ++i) {
        const ffi::ParamDesc& param = description->params[i];
        if (param.kind != ffi::ParamKind::kAttribute || !param.type || name != param.name) continue;
        final_value = convert_attribute(final_value, AttributeType(*param.type), spec.symbol, name);
      }
    }
    typed.set(name, final_value.typed());
  }
  return typed;
}

}  // namespace farcall::tools
