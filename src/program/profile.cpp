#include <farcall/program/profile.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <farcall/core/error.h>
#include <farcall/core/file.h>
#include <farcall/core/message.h>
#include <farcall/core/quantity.h>
#include <farcall/core/sizes.h>
#include <farcall/program/text.h>
#include <farcall/program/walk.h>

namespace farcall {
namespace {

// Limits for the memory of a recording and of one run.
constexpr size_t kMostEvents = size_t{1} << 20;
constexpr size_t kMostEventsOfRun = size_t{1} << 16;

int thread_number() {
  thread_local const int number = static_cast<int>(syscall(SYS_gettid));
  return number;
}

}  // namespace

struct Profile::Recording {
  // An event with its own name: a run, or a step of tracing or compiling.
  struct Step {
    std::string category, name, device;
    int64_t begin, end;
    int thread;
  };
  struct OfEquation {
    detail::ProfileEvent event;
    std::string device;
    int thread;
  };
  using Key = std::tuple<const Program*, uint32_t, bool>;

  bool has_room() {
    if (steps.size() + equations.size() < kMostEvents) return true;
    ++num_dropped;
    return false;
  }
  void add_step(Step step) {
    const std::lock_guard lock(mutex);
    if (is_over) return;
    count(step.category, step.name, 1, step.end - step.begin, step.end - step.begin, 0);
    if (has_room()) steps.push_back(std::move(step));
  }
  void add(const detail::ProfiledRun& run, int64_t end);
  void count(const std::string& category, const std::string& name, int64_t calls,
             int64_t nanoseconds, int64_t self, int64_t bytes) {
    ProfileRow& row = rows[{category, name}];
    row.name = name;
    row.category = category;
    row.calls += calls;
    row.seconds += static_cast<double>(nanoseconds) * 1e-9;
    row.self_seconds += static_cast<double>(self) * 1e-9;
    row.bytes = saturated_sum(row.bytes, bytes);
  }

  std::mutex mutex;
  bool is_over = false;
  int64_t begin = detail::ProfiledRun::now(), end = 0;
  std::vector<Step> steps;
  std::vector<OfEquation> equations;
  // Keeps the programs alive that events point to.
  std::unordered_map<const Program*, ProgramPtr> programs;
  std::map<Key, detail::ProfiledRun::Total> totals;
  std::map<std::pair<std::string, std::string>, ProfileRow>
      rows;             // of steps; after stop() of equations too
  int64_t of_runs = 0;  // nanoseconds of the outermost runs
  int64_t num_dropped = 0;
};

namespace {

// ---- names ----

struct Label {
  std::string category, name;
  int64_t bytes = 0;
  std::string types, where;
};

std::string operations_of(const Program& program) {
  constexpr size_t kMost = 6;
  std::string text;
  for (size_t i = 0; i < program.equations.size() && i < kMost; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", program.equations[i].primitive->name);
  }
  if (program.equations.size() > kMost) {
    text += fmt::format(", and {} more", program.equations.size() - kMost);
  }
  return text;
}

std::pair<std::string, std::string> name_of(const Equation& equation) {
  const Primitive& primitive = *equation.primitive;
  if (primitive.is_foreign()) {
    const ForeignTarget target = primitive.foreign_target(equation.params.get());
    return {primitive.is_callback() ? "callback" : "foreign_call",
            fmt::format("{} {}", primitive.name, target.name)};
  }
  switch (primitive.kind) {
    case PrimitiveKind::kScan:
    case PrimitiveKind::kWhile:
      return {"loop", std::string(primitive.name)};
    case PrimitiveKind::kCond:
      return {"branch", std::string(primitive.name)};
    case PrimitiveKind::kProduct:
      return {"product", std::string(primitive.name)};
    default:
      break;
  }
  if (const ProgramPtr body = called_program(equation)) {
    return {std::string(primitive.name),
            fmt::format("{}({})", primitive.name, operations_of(*body))};
  }
  return {"operation", std::string(primitive.name)};
}

Label label_of(const Program& program, uint32_t index, bool is_copy) {
  // Indices after the equations are copies of the program's results.
  if (index >= program.equations.size()) return {"copy", "copy of results"};
  const Equation& equation = program.equations[index];
  Label label;
  std::tie(label.category, label.name) = name_of(equation);
  if (equation.where) label.where = to_text(*equation.where);
  if (is_copy) {
    return {"copy", "copy for " + label.name, 0, "", std::move(label.where)};
  }
  label.bytes = program.cost(equation).bytes;
  const auto add = [&](ShapeDtype type) {
    if (!label.types.empty() && !label.types.ends_with("-> ")) label.types += ", ";
    label.types += type.to_string();
  };
  for (const Atom atom : equation.inputs) add(program.type_of(atom));
  label.types += label.types.empty() ? "-> " : " -> ";
  for (const uint32_t output : equation.outputs) add(program.variable_types[output]);
  return label;
}

// ---- the recording ----

struct Current {
  std::mutex mutex;
  std::shared_ptr<Profile::Recording> recording;

  static Current& instance() {
    static auto* current = new Current;
    return *current;
  }
};

std::shared_ptr<Profile::Recording> current_recording() {
  Current& current = Current::instance();
  const std::lock_guard lock(current.mutex);
  return current.recording;
}

void check_folder(const std::string& path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  if (access(folder.c_str(), W_OK) == 0 && !is_folder) return;
  invalid_argument(is_folder
                       ? fmt::format("profile: {} is a folder; give the path of a file", path)
                       : fmt::format("profile: cannot write to {}: there is no folder {} that "
                                     "this process may write to",
                                     path, folder.string()));
}

}  // namespace

void Profile::Recording::add(const detail::ProfiledRun& run, int64_t ended) {
  const std::lock_guard lock(mutex);
  if (is_over) return;
  const std::string name = run.program_->name.empty() ? "a program" : run.program_->name;
  const std::string device = run.device_.to_string();
  const int64_t whole = ended - run.begin_;
  count("run", name, 1, whole, whole - run.inside, 0);
  if (!run.outer_) of_runs += whole;
  if (has_room()) steps.push_back({"run", name, device, run.begin_, ended, thread_number()});
  for (const detail::ProfileEvent& event : run.events_) {
    if (has_room()) equations.push_back({event, device, thread_number()});
  }
  num_dropped += run.num_dropped_;
  for (const auto& [program, all] : run.programs_) {
    programs.emplace(program.get(), program);
    for (const detail::ProfiledRun::Total& each : all) {
      if (each.calls == 0) continue;
      detail::ProfiledRun::Total& total = totals[{program.get(), each.equation, each.is_copy}];
      total.calls += each.calls;
      total.nanoseconds += each.nanoseconds;
      total.self += each.self;
    }
  }
}

namespace detail {

std::atomic<bool> profiling{false};

namespace {
thread_local ProfiledRun* current_run = nullptr;
}  // namespace

ProfiledRun::ProfiledRun(const Device& device, ProgramPtr program)
    : recording_(current_recording()),
      outer_(std::exchange(current_run, this)),
      device_(device),
      program_(std::move(program)),
      begin_(now()) {}

ProfiledRun::~ProfiledRun() {
  const int64_t end = now();
  try {
    if (recording_) recording_->add(*this, end);
  } catch (const std::bad_alloc&) {  // the table and the trace lack this run
  }
  if (outer_) outer_->inside += end - begin_;
  current_run = outer_;
}

int64_t ProfiledRun::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void ProfiledRun::add(const ProfileEvent& event) {
  if (events_.size() < kMostEventsOfRun) {
    events_.push_back(event);
  } else {
    ++num_dropped_;
  }
}

void ProfiledRun::add_totals(const ProgramPtr& program, std::vector<Total> totals) {
  programs_.push_back({program, std::move(totals)});
}

}  // namespace detail

void ProfileScope::begin(std::string_view category, std::string_view name) {
  category_ = category;
  name_ = name.empty() ? "a program" : name;
  begin_ = detail::ProfiledRun::now();
}

void ProfileScope::end() {
  try {
    if (const auto recording = current_recording()) {
      recording->add_step({std::string(category_), std::move(name_), "", begin_,
                           detail::ProfiledRun::now(), thread_number()});
    }
  } catch (const std::bad_alloc&) {  // the table and the trace lack this step
  }
}

// ---- Profile ----

Profile::Profile(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) check_folder(path_);
  Current& current = Current::instance();
  const std::lock_guard lock(current.mutex);
  if (current.recording) {
    throw Error(ErrorCode::kFailedPrecondition,
                "profile: another profile records already; stop it first");
  }
  recording_ = current.recording = std::make_shared<Recording>();
  detail::profiling = true;
}

Profile::~Profile() {
  try {
    stop();
  } catch (const std::exception& error) {
    try {
      send_message(MessageKind::kWarning, error.what());
    } catch (...) {  // a front end raised the warning as an error; a destructor cannot pass it on
    }
  }
}

void Profile::stop() {
  if (std::exchange(is_stopped_, true)) return;
  {
    Current& current = Current::instance();
    const std::lock_guard lock(current.mutex);
    detail::profiling = false;
    current.recording = nullptr;
  }
  Recording& recording = *recording_;
  {
    const std::lock_guard lock(recording.mutex);
    recording.is_over = true;
    recording.end = detail::ProfiledRun::now();
  }
  for (const auto& [key, total] : recording.totals) {
    const auto& [program, equation, is_copy] = key;
    const Label label = label_of(*program, equation, is_copy);
    recording.count(label.category, label.name, total.calls, total.nanoseconds, total.self,
                    saturated_product(label.bytes, total.calls));
  }
  if (path_.empty()) return;
  if (const std::error_code error = replace_file(path_, to_json())) {
    throw Error(ErrorCode::kUnavailable,
                fmt::format("profile: cannot write {}: {}", path_, error.message()));
  }
}

std::vector<ProfileRow> Profile::rows() const {
  std::vector<ProfileRow> rows;
  if (!is_stopped_) return rows;
  for (const auto& [key, row] : recording_->rows) rows.push_back(row);
  std::ranges::stable_sort(rows, std::greater<>(), &ProfileRow::self_seconds);
  return rows;
}

std::string Profile::to_text() const {
  const std::vector<ProfileRow> all = rows();
  const double of_runs = static_cast<double>(recording_->of_runs) * 1e-9;
  size_t width = 4;
  for (const ProfileRow& row : all) {
    width = std::max(width, row.name.size() + row.category.size() + 2);
  }
  std::string text = fmt::format("{:<{}} {:>9} {:>10} {:>10} {:>10} {:>7}\n", "name", width,
                                 "calls", "total", "mean", "bytes", "share");
  for (const ProfileRow& row : all) {
    const bool is_step = row.category == "compile" || row.category == "trace";
    const bool is_named = is_step || row.category == "run";
    const std::string name = is_named ? fmt::format("{} {}", row.category, row.name) : row.name;
    text += fmt::format(
        "{:<{}} {:>9} {} {} {} {:>7}\n", name, width, row.calls,
        quantity_text(row.seconds, "s", 10),
        quantity_text(row.seconds / static_cast<double>(row.calls), "s", 10),
        row.bytes == 0 ? fmt::format("{:>10}", "-")
                       : quantity_text(static_cast<double>(row.bytes), "B", 10),
        is_step || of_runs == 0 ? "-" : fmt::format("{:.1f} %", 100 * row.self_seconds / of_runs));
  }
  return text;
}

std::string Profile::to_json() const {
  using Json = nlohmann::ordered_json;
  if (!is_stopped_) return "{\"traceEvents\": []}\n";
  const Recording& recording = *recording_;
  const auto microseconds = [](int64_t nanoseconds) {
    return static_cast<double>(nanoseconds) / 1e3;
  };
  // Events are written one by one: a single JSON document would need much memory.
  std::string text = "{\"traceEvents\": [\n";
  bool is_first = true;
  const auto write = [&](const Json& event) {
    if (!std::exchange(is_first, false)) text += ",\n";
    text += event.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  const auto event = [&](const std::string& category, const std::string& name, int64_t begin,
                         int64_t end, int thread) {
    return Json{{"name", name},
                {"cat", category},
                {"ph", "X"},
                {"ts", microseconds(begin - recording.begin)},
                {"dur", microseconds(end - begin)},
                {"pid", getpid()},
                {"tid", thread}};
  };
  write({{"name", "process_name"},
         {"ph", "M"},
         {"pid", getpid()},
         {"args", Json{{"name", "farcall"}}}});
  for (const Recording::Step& step : recording.steps) {
    const bool is_run = step.category == "run";
    Json made = event(step.category, is_run ? step.name : step.category + " " + step.name,
                      step.begin, step.end, step.thread);
    if (!step.device.empty()) made["args"] = {{"device", step.device}};
    write(made);
  }
  std::map<Recording::Key, Label> labels;
  for (const auto& [of, device, thread] : recording.equations) {
    const Recording::Key key{of.program, of.equation, of.is_copy};
    auto found = labels.find(key);
    if (found == labels.end()) {
      found = labels.emplace(key, label_of(*of.program, of.equation, of.is_copy)).first;
    }
    const Label& label = found->second;
    Json made = event(label.category, label.name, of.begin, of.end, thread);
    Json args = {{"device", device}};
    if (label.bytes != 0) args["bytes"] = label.bytes;
    if (of.steps >= 0) args["steps"] = of.steps;
    if (!label.types.empty()) args["types"] = label.types;
    if (!label.where.empty()) args["at"] = label.where;
    made["args"] = std::move(args);
    write(made);
  }
  text += "\n], \"displayTimeUnit\": \"ns\", \"otherData\": ";
  text += Json{{"not_shown", recording.num_dropped}}.dump();
  return text + "}\n";
}

}  // namespace farcall
