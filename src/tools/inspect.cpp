#include "tools/inspect.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <farcall/core/error.h>
#include <farcall/core/quote.h>
#include <farcall/ffi/library.h>
#include <farcall/ffi/signature.h>
#include <farcall/handler/detail/describe.h>

#include "ffi/internal/metadata.h"
#include "tools/check/sanitizer.h"
#include "tools/child.h"
#include "tools/elf_file.h"
#include "tools/failure.h"
#include "tools/operand.h"
#include "tools/python.h"
#include "tools/state_types.h"
#include "tools/terminal.h"

namespace farcall::tools {
namespace {

constexpr std::string_view kDescription = "farcall_handler_";
constexpr unsigned kSecondsOfOne = 2;  // for the answer of one candidate

struct Candidate {
  std::string symbol;
  std::string stage;  // if the library declares it
  FARCALL_FFI_Handler* handler = nullptr;
  std::string problem;  // why there is no handler
};

// ---- in the child ----

Json type_to_json(const ffi::TypeDesc* type) {
  if (!type) return nullptr;
  ffi::detail::Text text;
  ffi::detail::print_type(text, *type);
  Json json = {{"text", std::string(text.view())}};
  if (type->dtype != ffi::DataType::INVALID) {
    json["dtype"] = ffi::detail::dtype_name(type->dtype);
  }
  if (type->kind == ffi::TypeKind::kBuffer) {
    if (type->rank >= 0) json["rank"] = type->rank;
    return json;
  }
  constexpr std::string_view kKinds[] = {"buffer", "scalar",     "array",   "string", "enum",
                                         "struct", "dictionary", "variant", "custom"};
  json["kind"] = kKinds[static_cast<size_t>(type->kind)];
  for (size_t i = 0; i < type->num_children; ++i) {
    const ffi::NamedType& child = type->children[i];
    Json part = {{"name", child.name ? child.name : ""}};
    if (child.type) part["type"] = type_to_json(child.type);
    if (type->kind == ffi::TypeKind::kEnum) part["value"] = child.value;
    if (child.is_optional) part["optional"] = true;
    json["parts"].push_back(part);
  }
  return json;
}

void add_description(const ffi::HandlerDesc& description, Json& handler) {
  handler["stage"] = stage_name(static_cast<Stage>(description.stage));
  handler["signature"] = describe_handler(description);
  for (const char* list : {"arguments", "results", "attributes", "context"})
    handler[list] = Json::array();
  for (size_t i = 0; i < description.num_params; ++i) {
    const ffi::ParamDesc& param = description.params[i];
    Json json = {{"type", type_to_json(param.type)}};
    if (param.is_optional) json["optional"] = true;
    switch (param.kind) {
      case ffi::ParamKind::kRemainingArgs:
        json["remaining"] = true;
        [[fallthrough]];
      case ffi::ParamKind::kArgument:
        handler["arguments"].push_back(json);
        break;
      case ffi::ParamKind::kRemainingRets:
        json["remaining"] = true;
        [[fallthrough]];
      case ffi::ParamKind::kResult:
        handler["results"].push_back(json);
        break;
      case ffi::ParamKind::kAllAttributes:
        json["all"] = true;
        [[fallthrough]];
      case ffi::ParamKind::kAttribute:
        json["name"] = param.name;
        handler["attributes"].push_back(json);
        break;
      case ffi::ParamKind::kContext:
        handler["context"].push_back(param.name);
        break;
    }
  }
}

// A runtime accepts handlers of its own version and of older ones. A handler of version 0.0 works
// with a runtime of version 0.0 only; farcall's own runtime supports it too.
std::string refusal(FARCALL_FFI_Handler* handler, bool is_version_0_0, ApiVersion runtime) {
  if (is_version_0_0) {
    return runtime == ApiVersion{0, 0} ? "" : "it was built for exactly version 0.0";
  }
  if (runtime == ApiVersion{0, 0}) return "version 0.0 has no metadata query";
  FARCALL_FFI_Api api = *ffi_api(runtime.minor_version);
  api.api_version.minor_version = runtime.minor_version;
  const auto answer = runtime::query_metadata(handler, &api);
  if (answer.version <= runtime) return "";
  return fmt::format("it was built for version {}", version_to_string(answer.version));
}

// Returns the handler as JSON; null if the symbol is not a handler.
Json describe(const Candidate& candidate, const InspectOptions& options) {
  using Reply = runtime::HandlerMetadata::Reply;
  const auto metadata = runtime::query_metadata(candidate.handler);
  const ffi::HandlerDesc* description = find_description(candidate.handler);
  if (metadata.reply == Reply::kNothing) return nullptr;
  const bool is_version_0_0 = metadata.reply == Reply::kError;
  Json handler = {{"symbol", candidate.symbol}, {"version", version_to_string(metadata.version)}};
  handler["header"] = description ? "farcall's: farcall/ffi.h or xla/ffi/api/ffi.h"
                                  : "another, which keeps no signature";
  handler["traits"] = Json::array();
  if (metadata.traits & FARCALL_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE) {
    handler["traits"].push_back("command_buffer_compatible");
  }
  if (!candidate.stage.empty()) handler["stage"] = candidate.stage;
  if (metadata.missing) handler["note"] = *metadata.missing;
  if (metadata.state_type_id != 0) {
    handler["state_type"] = state_type_name(metadata.state_type_id);
  }
  if (description) add_description(*description, handler);
  if (options.runtime) {
    const std::string why = refusal(candidate.handler, is_version_0_0, *options.runtime);
    handler["loads_in"] = {{"runtime", version_to_string(*options.runtime)},
                           {"loads", why.empty()}};
    if (!why.empty()) handler["loads_in"]["why"] = why;
  }
  return handler;
}

using Load = std::function<std::vector<Candidate>()>;

// Writes one line before each handler is queried, and one with the result.
void answer_all(int fd, const Load& load, size_t first, const InspectOptions& options) {
  be_silent();
  std::signal(SIGALRM, SIG_DFL);
  std::vector<Candidate> candidates;
  try {
    candidates = load();
  } catch (const std::exception& error) {
    write_all(fd, Json({{"failure", error.what()}}).dump() + "\n");
    return;
  }
  for (size_t i = first; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    write_all(fd, Json({{"begin", i}, {"symbol", candidate.symbol}}).dump() + "\n");
    Json line = {{"end", i}, {"handler", nullptr}};
    if (candidate.handler) {
      alarm(kSecondsOfOne);  // SIGALRM ends this process
      line["handler"] = describe(candidate, options);
      alarm(0);
    } else {
      line["skipped"] = {{"symbol", candidate.symbol}, {"why", candidate.problem}};
    }
    write_all(fd, line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  write_all(fd, "{\"done\": true}\n");
}

// ---- in the parent ----

std::string how_it_ended(const ChildResult& result) {
  if (result.is_timed_out) return "took longer than the time limit";
  if (result.signal == SIGALRM) return fmt::format("took longer than {} s", kSecondsOfOne);
  if (result.signal != 0)
    return fmt::format("ended with {}", with_article(signal_text(result.signal)));
  return fmt::format("ended the process with exit code {}", result.exit_code);
}

void ask_library(const std::string& target, const Load& load, const InspectOptions& options,
                 Json& report) {
  const double end = now_seconds() + options.timeout;
  size_t next = 0;
  while (true) {
    const auto result = run_in_child([&](int fd) { answer_all(fd, load, next, options); },
                                     std::max(0.1, end - now_seconds()));
    Json begun;
    bool is_done = false;
    for (const std::string& line : split(result.output, '\n')) {
      const Json json = line.empty() ? Json::object() : Json::parse(line, nullptr, false);
      if (json.is_discarded()) continue;  // incomplete line
      if (json.contains("failure")) throw Failure(kCouldNotRun, json["failure"]);
      if (json.contains("begin")) begun = json;
      is_done |= json.contains("done");
      if (!json.contains("end")) continue;
      if (!json["handler"].is_null()) report["handlers"].push_back(json["handler"]);
      if (json.contains("skipped")) report["skipped"].push_back(json["skipped"]);
      next = json["end"].get<size_t>() + 1;
      begun = nullptr;
    }
    if (is_done) return;
    if (begun.is_null())
      throw Failure(result.is_timed_out ? kTimeLimit : kCouldNotRun,
                    fmt::format("{}: loading it {}.", target, how_it_ended(result)));
    report["skipped"].push_back(
        {{"symbol", begun["symbol"]}, {"why", fmt::format("asking it {}", how_it_ended(result))}});
    next = begun["begin"].get<size_t>() + 1;
    if (result.is_timed_out)
      throw Failure(kTimeLimit, fmt::format("{}: {} did not answer within the time limit.", target,
                                            begun["symbol"].get<std::string>()));
  }
}

// Finds candidates by symbols alone. Handlers of farcall/ffi.h export a description with their
// name. Handlers built with XLA's header have a C name, and their library contains texts of that
// header. Where all handlers seem to have descriptions, other functions are not called: they may
// do anything.
std::vector<Candidate> candidates_in(const ElfFile& file, const std::string& filter) {
  const auto exports = [&](const std::string& name) {
    return std::ranges::any_of(file.symbols,
                               [&](const ElfSymbol& s) { return s.is_exported && s.name == name; });
  };
  const bool has_descriptions = std::ranges::any_of(file.symbols, [](const ElfSymbol& s) {
    return s.is_exported && s.name.starts_with(kDescription);
  });
  std::vector<Candidate> candidates;
  for (const ElfSymbol& symbol : file.symbols) {
    const std::string& name = symbol.name;
    if (!symbol.is_exported || !symbol.is_function) continue;
    if (name.starts_with("_") || name.starts_with("PyInit_") || name == "main") continue;
    if (name.find(filter) == std::string::npos) continue;
    if (name == filter || exports(std::string(kDescription) + name) || file.mentions_xla ||
        (file.mentions_ffi && !has_descriptions)) {
      candidates.push_back({.symbol = name, .stage = {}, .handler = nullptr, .problem = {}});
    } else if (has_descriptions) {
      candidates.push_back({.symbol = name,
                            .stage = {},
                            .handler = nullptr,
                            .problem = "not asked: it has no description; name it to have it "
                                       "asked"});
    }
  }
  return candidates;
}

std::vector<Candidate> load_candidates(const ElfFile& file, std::vector<Candidate> candidates) {
  const std::string& path = file.path;
  const Library library = load_library(path.find('/') == std::string::npos ? "./" + path : path);
  adopt_types_of(file);
  for (Candidate& candidate : candidates) {
    if (candidate.problem.empty()) candidate.handler = library.handler(candidate.symbol);
  }
  return candidates;
}

std::vector<Candidate> module_candidates(const std::string& module, const std::string& filter) {
  std::vector<Candidate> candidates;
  for (const Capsule& capsule : load_capsules(module, filter)) {
    if (capsule.name.find(filter) == std::string::npos) continue;
    candidates.push_back({capsule.name, capsule.stage, capsule.handler, capsule.problem});
  }
  return candidates;
}

}  // namespace

Json inspect(const std::string& target, const InspectOptions& options) {
  Json report = {{"library", target}};
  if (!options.filter.empty()) report["filter"] = options.filter;
  Load load;
  if (is_python_module(target)) {
    load = [&] { return module_candidates(target, options.filter); };
  } else {
    const ElfFile file = read_elf(target);
    if (const std::string problem = sanitizer::problem_of(file); !problem.empty()) {
      throw Failure(kCouldNotRun, fmt::format("{}: {}.", target, problem));
    }
    report["machine"] = file.machine;
    load = [file, candidates = candidates_in(file, options.filter)] {
      return load_candidates(file, candidates);
    };
  }
  report["handlers"] = Json::array();
  report["skipped"] = Json::array();
  ask_library(target, load, options, report);
  return report;
}

void require_handler(const Json& inspection, const std::string& symbol,
                     const InspectOptions& options) {
  const auto is_it = [&](const Json& entry) { return entry["symbol"] == symbol; };
  if (std::ranges::any_of(inspection["handlers"], is_it)) return;
  const std::string library = inspection["library"];
  for (const Json& entry : inspection["skipped"]) {
    if (!is_it(entry)) continue;
    throw Failure(kCouldNotRun, fmt::format("{} of {} is not a handler: {}.", symbol, library,
                                            entry["why"].get<std::string>()));
  }
  InspectOptions all = options;
  all.filter.clear();
  std::vector<std::string> names;
  const Json others = inspect(library, all);
  for (const Json& handler : others["handlers"]) names.push_back(handler["symbol"]);
  throw Failure(
      kCouldNotRun,
      fmt::format("{} has no handler {}; it has {}.", library, symbol.empty() ? "\"\"" : symbol,
                  names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

std::string inspection_text(const Json& inspection) {
  const Json& handlers = inspection["handlers"];
  std::string text = fmt::format("{}: {} handler{}\n",
                                 styled(Style::kBold, inspection["library"].get<std::string>()),
                                 handlers.size(), handlers.size() == 1 ? "" : "s");
  const auto line = [&](std::string_view name, std::string_view value) {
    text += fmt::format("  {:<10} {}\n", name, value);
  };
  for (const Json& handler : handlers) {
    text += fmt::format("\n{}\n", styled(Style::kBold, handler["symbol"].get<std::string>()));
    if (handler.contains("signature")) line("signature", handler["signature"].get<std::string>());
    line("version", handler["version"].get<std::string>());
    line("stage", handler.value("stage", "not told"));
    line("header", handler["header"].get<std::string>());
    if (!handler["traits"].empty())
      line("traits",
           fmt::format("{}", fmt::join(handler["traits"].get<std::vector<std::string>>(), ", ")));
    if (handler.contains("state_type")) line("state", handler["state_type"].get<std::string>());
    if (handler.contains("context") && !handler["context"].empty())
      line("asks for",
           fmt::format("{}", fmt::join(handler["context"].get<std::vector<std::string>>(), ", ")));
    if (handler.contains("note")) line("note", handler["note"].get<std::string>());
    if (handler.contains("loads_in")) {
      const Json& loads = handler["loads_in"];
      const std::string runtime = loads["runtime"];
      line("runtime", loads["loads"].get<bool>() ? fmt::format("loads in {}", runtime)
                                                 : fmt::format("does not load in {}: {}", runtime,
                                                               loads["why"].get<std::string>()));
    }
  }
  const Json& skipped = inspection["skipped"];
  if (!skipped.empty()) text += "\nLeft out:\n";
  for (const Json& function : skipped)
    line(function["symbol"].get<std::string>(), function["why"].get<std::string>());
  if (handlers.empty() && skipped.empty() && inspection.contains("filter")) {
    text += fmt::format("No handler's name contains {}.\n",
                        farcall::quoted(inspection["filter"].get<std::string>()));
  } else if (handlers.empty() && skipped.empty() && !inspection.contains("machine")) {
    text +=
        "No member of the module is a capsule or a dict of capsules. Functions without arguments "
        "are called\nif their signature or code speaks of capsules. To have another one called: "
        "farcall inspect MODULE:NAME\n";
  }
  return text;
}

}  // namespace farcall::tools
