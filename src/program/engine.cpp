#include <farcall/program/engine.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/program/text.h>

namespace farcall {
namespace {

std::atomic<detail::EngineTable> own_engines{nullptr};

std::span<const Engine* const> engine_table() {
  const detail::EngineTable own = own_engines.load();
  return own ? own() : std::span<const Engine* const>();
}

// The engines of add_engine().
struct Added {
  std::mutex mutex;
  std::vector<const Engine*> engines;

  static Added& instance() {
    static auto* added = new Added;
    return *added;
  }
};

const char* engine_of_environment() {
  const char* name = std::getenv("FARCALL_ENGINE");
  return name && *name ? name : "native";
}

// The default device is looked up by the first call that needs it, because an engine other than the
// native one may have to load a driver.
[[maybe_unused]] const bool kDefaultIsMarked = [] {
  if (engine_of_environment() != std::string_view("native")) {
    set_default_device_number(kUnresolvedDevice);
  }
  return true;
}();

struct Bytes {
  const void* data;
  size_t nbytes;

  bool overlaps(const Bytes& other) const {
    const auto begin = reinterpret_cast<uintptr_t>(data);
    const auto other_begin = reinterpret_cast<uintptr_t>(other.data);
    return begin < other_begin + other.nbytes && other_begin < begin + nbytes;
  }
};

Storage borrowed(const void* data, size_t nbytes) {
  // The const_cast is safe: borrowed inputs are never written.
  return Storage::adopt(const_cast<void*>(data), nbytes, nullptr, nullptr);
}

// Whether a program can write this result where the caller wants it.
bool is_writable_in_place(const Executable& executable, std::span<const void* const> inputs,
                          const Bytes& result) {
  if (!is_aligned(result.data)) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (result.overlaps({inputs[i], executable.input_types()[i].nbytes()})) return false;
  }
  return true;
}

void run_in_place(const Executable& executable, std::span<const void* const> inputs,
                  std::span<void* const> results, const ExecutionOptions& options) {
  const auto types = executable.output_types();
  const auto is_writable = [&](size_t i) {
    return is_writable_in_place(executable, inputs, {results[i], types[i].nbytes()});
  };
  size_t num_writable = 0;
  while (num_writable < results.size() && is_writable(num_writable)) ++num_writable;
  if (num_writable == results.size()) return executable.execute_in_place(inputs, results, options);
  std::vector<void*> places(results.begin(), results.end());
  std::vector<Storage> own(results.size());
  for (size_t i = num_writable; i < results.size(); ++i) {
    if (is_writable(i)) continue;
    own[i] = Storage::allocate(types[i].nbytes());
    places[i] = own[i].data();
  }
  executable.execute_in_place(inputs, places, options);
  for (size_t i = num_writable; i < results.size(); ++i) {
    if (own[i].nbytes() > 0) std::memcpy(results[i], places[i], own[i].nbytes());
  }
}

}  // namespace

void Executable::execute_in_place(std::span<const void* const>, std::span<void* const>,
                                  const ExecutionOptions&) const {
  FARCALL_ASSERT(runs_in_place());
}

void run_on_memory(const Executable& executable, std::span<const void* const> inputs,
                   std::span<void* const> results, const ExecutionOptions& options) {
  if (executable.runs_in_place()) return run_in_place(executable, inputs, results, options);
  const auto input_types = executable.input_types();
  const auto output_types = executable.output_types();
  // Callbacks may keep memory, so it needs an owner; other devices need their own memory.
  const bool is_shared = executable.device().is_host() && !executable.program().holds_callback;
  std::vector<Storage> held;
  std::vector<const Storage*> pointers;
  std::vector<Storage> outputs(results.size());
  held.reserve(inputs.size());  // addresses must stay valid
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t nbytes = input_types[i].nbytes();
    pointers.push_back(&held.emplace_back(is_shared ? borrowed(inputs[i], nbytes)
                                                    : Storage::copy_of(inputs[i], nbytes)));
  }
  for (size_t i = 0; is_shared && i < results.size(); ++i) {
    const Bytes result{results[i], output_types[i].nbytes()};
    if (is_writable_in_place(executable, inputs, result)) {
      outputs[i] = borrowed(result.data, result.nbytes);
    }
  }
  executable.execute(pointers, outputs, options);
  for (size_t i = 0; i < results.size(); ++i) {
    const DeviceBuffer* buffer = outputs[i].buffer();
    if (!buffer && outputs[i].data() == results[i]) continue;
    const Storage made = buffer ? buffer->to_host() : outputs[i];
    const size_t nbytes = output_types[i].nbytes();
    if (nbytes > 0) std::memcpy(results[i], made.data(), nbytes);
  }
}

Executable::Executable(const Device& device, ProgramPtr program, bool may_keep_lock)
    : device_(device),
      program_(std::move(program)),
      input_types_(program_->input_types()),
      output_types_(program_->output_types()),
      may_keep_lock_(may_keep_lock) {}
Executable::~Executable() = default;

Engine::~Engine() = default;

std::vector<const Engine*> all_engines() {
  const auto own = engine_table();
  std::vector<const Engine*> all(own.begin(), own.end());
  Added& added = Added::instance();
  const std::lock_guard lock(added.mutex);
  all.insert(all.end(), added.engines.begin(), added.engines.end());
  return all;
}

void add_engine(const Engine& engine) {
  const auto has_name = [&](const Engine* other) { return other->name() == engine.name(); };
  const auto own = engine_table();
  Added& added = Added::instance();
  const std::lock_guard lock(added.mutex);
  if (std::ranges::any_of(own, has_name) || std::ranges::any_of(added.engines, has_name)) {
    throw Error(ErrorCode::kAlreadyExists,
                fmt::format("add_engine: there is an engine \"{}\" already", engine.name()));
  }
  added.engines.push_back(&engine);
}

const Engine& find_engine(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Engine* engine : all_engines()) {
    if (engine->name() == name) return *engine;
    names.push_back(engine->name());
  }
  throw Error(ErrorCode::kNotFound,
              fmt::format("unknown engine \"{}\"; known ones: {}", name, fmt::join(names, ", ")));
}

std::vector<const Device*> find_devices(std::string_view name) {
  std::vector<std::string> names;
  for (const Engine* engine : all_engines()) {
    if (engine->name() != name) continue;
    const auto devices = engine->devices();
    return {devices.begin(), devices.end()};
  }
  for (const Engine* engine : all_engines()) {
    names.emplace_back(engine->name());
    if (!engine->why_unavailable().empty()) continue;
    std::vector<const Device*> found;
    for (const Device* device : engine->devices()) {
      const std::string& platform = device->description().platform;
      if (platform == name) found.push_back(device);
      if (std::ranges::find(names, platform) == names.end()) names.push_back(platform);
    }
    if (!found.empty()) return found;
  }
  throw Error(ErrorCode::kNotFound, fmt::format("unknown platform or engine \"{}\"; known ones: {}",
                                                name, fmt::join(names, ", ")));
}

void detail::set_engine_table(EngineTable table) { own_engines = table; }

const Engine& default_engine() { return find_engine(engine_of_environment()); }

std::vector<bool> consumed_inputs(const Executable& executable,
                                  std::span<const Storage* const> inputs) {
  const std::vector<bool>& overwrites = executable.overwrites();
  if (std::ranges::find(overwrites, true) == overwrites.end()) return {};
  std::vector<bool> consumed(inputs.size(), false);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto same = [&](const Storage* other) { return other->is_same_memory(*inputs[i]); };
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

std::string to_text(std::span<const LoopReport> loops) {
  std::string text;
  for (const LoopReport& loop : loops) {
    text +=
        fmt::format("{} runs {}{}\n", loop.operation,
                    loop.why_not.empty() ? "as machine code"
                                         : fmt::format("equation by equation: {}", loop.why_not),
                    loop.where ? " at " + to_text(*loop.where) : "");
  }
  return text;
}

std::string to_text(const Fusion& fusion) {
  const auto at = [](const SourceLocationPtr& where) {
    return where ? " at " + to_text(*where) : std::string();
  };
  std::string text;
  for (const Fusion::Cluster& cluster : fusion.groups) {
    text += fmt::format("cluster of {} equations{}: {}\n", cluster.operations.size(),
                        at(cluster.where), fmt::join(cluster.operations, ", "));
  }
  for (const Fusion::Break& each : fusion.breaks) {
    text += fmt::format("{}{} is not in the cluster of {}, which it reads: {}\n", each.operation,
                        at(each.where), each.operand, each.why);
  }
  return text;
}

}  // namespace farcall
