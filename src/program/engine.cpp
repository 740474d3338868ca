#include <farcall/program/engine.h>

#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/program/text.h>

namespace farcall {
namespace {

struct Engines {
  std::mutex mutex;
  std::vector<const Engine*> all;

  static Engines& instance() {
    static auto* engines = new Engines;
    return *engines;
  }
};

}  // namespace

Executable::Executable(ProgramPtr program, bool is_brief)
    : program_(std::move(program)),
      input_types_(program_->input_types()),
      output_types_(program_->output_types()),
      is_brief_(is_brief) {}
Executable::~Executable() = default;

Engine::~Engine() = default;

void register_engine(const Engine& engine) {
  Engines& engines = Engines::instance();
  std::lock_guard lock(engines.mutex);
  engines.all.push_back(&engine);
}

const Engine& default_engine() {
  Engines& engines = Engines::instance();
  std::lock_guard lock(engines.mutex);
  if (engines.all.empty()) {
    throw Error(ErrorCode::kFailedPrecondition, "this build of farcall contains no engine");
  }
  return *engines.all.front();
}

const Engine& find_engine(std::string_view name) {
  Engines& engines = Engines::instance();
  std::lock_guard lock(engines.mutex);
  std::vector<std::string_view> names;
  for (const Engine* engine : engines.all) {
    if (engine->name() == name) return *engine;
    names.push_back(engine->name());
  }
  throw Error(ErrorCode::kNotFound, fmt::format("there is no engine \"{}\"; there are: {}", name,
                                                fmt::join(names, ", ")));
}

std::vector<bool> consumed_inputs(const Executable& executable,
                                  std::span<const Storage* const> inputs) {
  const std::vector<bool>& overwrites = executable.overwrites();
  if (std::ranges::find(overwrites, true) == overwrites.end()) return {};
  std::vector<bool> consumed(inputs.size(), false);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto same = [&](const Storage* other) { return other->data() == inputs[i]->data(); };
    consumed[i] =
        overwrites[i] && may_overwrite(*inputs[i]) && std::ranges::count_if(inputs, same) == 1;
  }
  return consumed;
}

std::string to_text(std::span<const ForeignCallReport> reports) {
  if (reports.empty()) return "no foreign calls\n";
  std::string text;
  for (const ForeignCallReport& report : reports) {
    text += fmt::format("ffi_call(\"{}\")", report.target_name);
    if (report.where) text += " at " + to_text(*report.where);
    text += '\n';
    if (report.copies.empty()) text += "  copies: none\n";
    for (const ForeignCallReport::Copy& copy : report.copies) {
      text += fmt::format("  copy of {}, {} bytes: {}\n", copy.what, copy.nbytes, copy.why);
    }
    for (const ForeignCallReport::Alias& alias : report.aliases) {
      text += fmt::format("  alias of operand {} and result {}: {}\n", alias.input, alias.output,
                          alias.is_honoured ? "honoured" : "needs a copy, as " + alias.why);
    }
    text += fmt::format("  scratch: {} bytes", report.scratch_bytes);
    if (report.planned_scratch_bytes > 0) {
      text += fmt::format(", {} planned", report.planned_scratch_bytes);
    }
    text += '\n';
  }
  return text;
}

}  // namespace farcall
