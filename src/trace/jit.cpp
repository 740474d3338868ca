#include <farcall/trace/jit.h>

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/program/donation.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/call.h>
#include <farcall/trace/debug_checks.h>
#include <farcall/trace/interpreter.h>

namespace farcall {
namespace {

void execute_here(const Executable& executable, std::span<const Storage* const> inputs,
                  std::span<Storage> outputs, const ExecutionOptions& options) {
  executable.execute(inputs, outputs, options);
}

std::atomic<Executor> executor{execute_here};

template <class Range>
size_t hash_types(const Range& range, uint64_t config) {
  size_t hash = std::size(range) + config;
  for (const auto& item : range) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(item)>, Array>) {
      detail::mix(hash, item.type().hash());
    } else {
      detail::mix(hash, item.hash());
    }
  }
  return hash;
}

bool same_types(std::span<const ShapeDtype> types, std::span<const Array> inputs) {
  return std::equal(types.begin(), types.end(), inputs.begin(), inputs.end(),
                    [](ShapeDtype type, const Array& input) { return type == input.type(); });
}

}  // namespace

// Open addressing over atomic slots. Readers walk a table while a writer fills free slots of it or
// publishes a larger one; tables and executables live until the cache dies, so that a reader never
// meets a freed one.
struct SignatureCache::Table {
  struct Slot {
    std::atomic<const Executable*> executable{nullptr};
    size_t hash = 0;  // written before `executable`, as is
    uint64_t config = 0;
  };
  explicit Table(size_t capacity) : slots(capacity) {}

  std::vector<Slot> slots;  // a power of two, never full
  mutable size_t used = 0;
};

struct SignatureCache::Writer {
  std::mutex mutex;
  std::vector<std::unique_ptr<Table>> tables;
  struct Kept {
    std::shared_ptr<const Executable> executable;
    uint64_t config;  // the flags that it was made under
  };
  std::vector<Kept> kept;

  static void place(Table& table, const Kept& kept) {
    const size_t hash = hash_types(kept.executable->input_types(), kept.config);
    size_t i = hash & (table.slots.size() - 1);
    while (table.slots[i].executable.load(std::memory_order_relaxed)) {
      i = (i + 1) & (table.slots.size() - 1);
    }
    table.slots[i].hash = hash;
    table.slots[i].config = kept.config;
    table.slots[i].executable.store(kept.executable.get(), std::memory_order_release);
    ++table.used;
  }
};

SignatureCache::SignatureCache() : writer_(std::make_unique<Writer>()) {
  writer_->tables.push_back(std::make_unique<Table>(4));
  table_ = writer_->tables.back().get();
}
SignatureCache::~SignatureCache() = default;

const Executable* SignatureCache::find(std::span<const Array> inputs) const {
  const Table& table = *table_.load(std::memory_order_acquire);
  const uint64_t config = config_key();
  const size_t hash = hash_types(inputs, config);
  for (size_t i = hash & (table.slots.size() - 1);; i = (i + 1) & (table.slots.size() - 1)) {
    const Table::Slot& slot = table.slots[i];
    const Executable* executable = slot.executable.load(std::memory_order_acquire);
    if (!executable) return nullptr;
    if (slot.hash == hash && slot.config == config && same_types(executable->input_types(), inputs))
      return executable;
  }
}

const Executable* SignatureCache::insert(std::shared_ptr<const Executable> executable) {
  const uint64_t config = config_key();
  std::lock_guard lock(writer_->mutex);
  for (const Writer::Kept& known : writer_->kept) {
    if (known.config == config &&
        std::ranges::equal(known.executable->input_types(), executable->input_types())) {
      return known.executable.get();
    }
  }
  if (writer_->kept.size() >= kMaxSize) return nullptr;
  Table* table = writer_->tables.back().get();
  if ((table->used + 1) * 2 > table->slots.size()) {
    auto larger = std::make_unique<Table>(table->slots.size() * 2);
    for (const Writer::Kept& known : writer_->kept) Writer::place(*larger, known);
    table = larger.get();
    writer_->tables.push_back(std::move(larger));
  }
  writer_->kept.push_back({std::move(executable), config});
  Writer::place(*table, writer_->kept.back());
  table_.store(table, std::memory_order_release);
  return writer_->kept.back().executable.get();
}

size_t SignatureCache::size() const {
  std::lock_guard lock(writer_->mutex);
  return writer_->kept.size();
}

void set_executor(Executor chosen) { executor = chosen; }

namespace {

[[noreturn]] void wrong_inputs(std::span<const ShapeDtype> types, std::span<const Array> inputs) {
  if (inputs.size() != types.size()) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("run: the program takes {} inputs, got {}",
                                                         types.size(), inputs.size()));
  }
  size_t i = 0;
  while (inputs[i].type().strengthened() == types[i].strengthened()) ++i;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("run: input {} should be {}, got {}", i, types[i].to_string(),
                          inputs[i].type().to_string()));
}

bool fit(std::span<const ShapeDtype> types, std::span<const Array> inputs) {
  const auto does = [](const Array& input, ShapeDtype type) {
    return input.type() == type || input.type().strengthened() == type.strengthened();
  };
  return std::ranges::equal(inputs, types, does);
}

}  // namespace

std::vector<Array> run(const Executable& executable, std::span<const Array> inputs,
                       const ExecutionOptions& options) {
  if (!fit(executable.input_types(), inputs)) wrong_inputs(executable.input_types(), inputs);
  constexpr size_t kInline = 16;
  const Storage* few[kInline];
  std::vector<const Storage*> many;
  const Storage** storages = few;
  if (inputs.size() > kInline) {
    many.resize(inputs.size());
    storages = many.data();
  }
  for (size_t i = 0; i < inputs.size(); ++i) storages[i] = &inputs[i].storage();

  const auto types = executable.output_types();
  Storage few_outputs[kInline];
  std::vector<Storage> many_outputs;
  std::span<Storage> outputs(few_outputs, std::min(types.size(), kInline));
  if (types.size() > kInline) {
    many_outputs.resize(types.size());
    outputs = many_outputs;
  }
  executor.load(std::memory_order_relaxed)(executable, {storages, inputs.size()}, outputs, options);

  std::vector<Array> results;
  results.reserve(types.size());
  for (size_t i = 0; i < types.size(); ++i) results.emplace_back(types[i], std::move(outputs[i]));
  if (checks_results()) check_results(executable.program(), inputs, results);
  return results;
}

std::vector<Array> run_donating(const Executable& executable, std::span<const Array> inputs) {
  std::vector<const Storage*> storages;
  storages.reserve(inputs.size());
  for (const Array& input : inputs) storages.push_back(&input.storage());
  const std::vector<bool> consumed = consumed_inputs(executable, storages);
  std::vector<Array> results = run(executable, inputs);
  for (size_t i = 0; i < consumed.size(); ++i) {
    if (consumed[i]) static_cast<const ConcreteNode&>(inputs[i].node()).discard();
  }
  return results;
}

CompiledFunction::CompiledFunction(FlatFunction function, std::string name, const Engine* engine)
    : function_(std::move(function)),
      name_(std::move(name)),
      engine_(engine ? engine : &default_engine()) {}

ProgramPtr CompiledFunction::record(std::span<const ShapeDtype> inputs) const {
  return farcall::record(function_, inputs, name_);
}

std::shared_ptr<const Executable> CompiledFunction::compile(
    std::span<const ShapeDtype> inputs) const {
  return engine_->compile(record(inputs), {});
}

std::vector<Array> CompiledFunction::operator()(std::span<const Array> inputs) const {
  if (is_on(Flag::kDisableJit)) return function_(inputs);
  if (!is_evaluating()) {
    const Recording recording = record_closure(function_, types_of(inputs), name_);
    std::vector<Array> operands = recording.captured;
    operands.insert(operands.end(), inputs.begin(), inputs.end());
    return call_program(recording.program, operands);
  }
  if (const Executable* executable = first_.find(inputs)) return run(*executable, inputs);
  return run(*find_or_compile(inputs), inputs);
}

std::shared_ptr<const Executable> CompiledFunction::find_or_compile(
    std::span<const Array> inputs) const {
  const uint64_t config = config_key();
  const size_t hash = hash_types(inputs, config);
  const auto find = [&]() -> std::shared_ptr<const Executable> {
    const auto found = compiled_.find(hash, [&](const Compiled& known) {
      return known.config == config && same_types(known.executable->input_types(), inputs);
    });
    return found ? found->executable : nullptr;
  };
  {
    const std::lock_guard lock(mutex_);
    if (auto found = find()) return found;
  }
  std::shared_ptr<const Executable> made = compile(types_of(inputs));
  std::vector<std::shared_ptr<const Compiled>> displaced;
  const std::lock_guard lock(mutex_);
  if (auto found = find()) return found;  // another thread was faster
  displaced = compiled_.insert(hash, std::make_shared<const Compiled>(Compiled{config, made}));
  first_.insert(made);
  return made;
}

CacheInfo CompiledFunction::cache_info() const {
  const std::lock_guard lock(mutex_);
  return compiled_.info();
}

namespace detail {

// ---- functions over trees ----

namespace {

// The mapped axes around a call, which the function may name.
std::vector<std::pair<std::string, int64_t>> mapped_axes() {
  std::vector<std::pair<std::string, int64_t>> axes;
  for (const std::string& name : mapped_axis_names()) {
    axes.emplace_back(name, mapped_axis_size(name));
  }
  return axes;
}

}  // namespace

// What tells signatures apart.
struct CompiledTrees::Key {
  const std::type_info* type;
  TreeDef arguments;
  std::vector<ShapeDtype> types;
  std::vector<std::pair<std::string, int64_t>> axes;
  uint64_t config;

  bool operator==(const Key& other) const {
    return config == other.config && *type == *other.type && types == other.types &&
           axes == other.axes && arguments == other.arguments;
  }
};

// One signature. Calls inside other functions need the program alone, and find it here again, so
// that what was derived from it is found too.
struct CompiledTrees::Entry {
  Key key;
  ProgramPtr program;
  TreeDef result;
  mutable std::shared_ptr<const Executable> executable;  // once it has run; under the mutex
};

CompiledTrees::CompiledTrees(JitOptions options) : options_(std::move(options)) {
  if (!options_.engine) options_.engine = &default_engine();
}
CompiledTrees::~CompiledTrees() = default;

std::string CompiledTrees::where() const {
  return options_.name.empty() ? "jit" : fmt::format("jit({})", options_.name);
}

CacheInfo CompiledTrees::cache_info() const {
  const std::lock_guard lock(mutex_);
  return entries_.info();
}

// A program that captured traced arrays holds for this call alone: it is not kept, and `captured`
// receives them.
CompiledTrees::EntryPtr CompiledTrees::find_or_record(TreeCall& call, const std::type_info& type,
                                                      std::vector<Array>& captured) const {
  const Key key{&type, call.arguments(), types_of(call.leaves()), mapped_axes(), config_key()};
  const size_t hash = hash_types(key.types, key.config);
  const auto find = [&] {
    return entries_.find(hash, [&](const Entry& entry) { return entry.key == key; });
  };
  {
    std::lock_guard lock(mutex_);
    if (EntryPtr found = find()) return found;
  }
  ProgramPtr program;
  if (is_evaluating()) {
    program = record(call.as_function(), key.types, options_.name);
  } else {
    Recording recording = record_with_constants(call.as_function(), key.types, options_.name);
    program = std::move(recording.program);
    captured = std::move(recording.captured);
  }
  auto made = std::make_shared<const Entry>(Entry{key, std::move(program), call.result(), {}});
  if (!captured.empty()) return made;
  std::vector<EntryPtr> displaced;
  std::lock_guard lock(mutex_);
  if (EntryPtr found = find()) return found;  // another thread was faster
  displaced = entries_.insert(hash, made);
  return made;
}

std::vector<bool> CompiledTrees::donated_leaves(const TreeCall& call) const {
  const auto count = static_cast<int64_t>(call.arguments().children.size());
  std::vector<int> donated;
  for (const int64_t number : options_.donate_argnums) {
    if (number < -count || number >= count) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: donate_argnums names argument {}, but the function takes {}",
                              call.where(), number, count));
    }
    donated.push_back(static_cast<int>(number < 0 ? number + count : number));
  }
  return call.belong_to(donated);
}

std::shared_ptr<const Executable> CompiledTrees::executable_of(const Entry& entry,
                                                               const TreeCall& call) const {
  {
    std::lock_guard lock(mutex_);
    if (entry.executable) return entry.executable;
  }
  // Checks run the program again on its arguments, which it must not write over.
  const std::vector<bool> donated = donated_leaves(call);
  auto executable =
      options_.engine->compile(entry.program, {checks_results() ? std::vector<bool>() : donated});
  {
    std::lock_guard lock(mutex_);
    if (entry.executable) return entry.executable;  // another thread was faster
    entry.executable = executable;
  }
  warn_of_unusable_donations(where(), *entry.program, donated);
  return executable;
}

std::vector<Array> CompiledTrees::run(const Executable& executable,
                                      std::span<const Array> inputs) const {
  return options_.donate_argnums.empty() ? farcall::run(executable, inputs)
                                         : run_donating(executable, inputs);
}

std::vector<Array> CompiledTrees::operator()(TreeCall& call, const std::type_info& type,
                                             bool is_fixed) const {
  if (is_on(Flag::kDisableJit)) return call.as_function()(call.leaves());
  std::vector<Array> operands;
  const EntryPtr entry = find_or_record(call, type, operands);
  call.set_result(entry->result);
  if (!is_evaluating()) {
    operands.insert(operands.end(), call.leaves().begin(), call.leaves().end());
    return call_program(entry->program, operands);
  }
  const std::shared_ptr<const Executable> executable = executable_of(*entry, call);
  if (is_fixed) fixed_.insert(executable);
  return run(*executable, call.leaves());
}

LoweredCall CompiledTrees::lower(TreeCall& call, const std::type_info& type) const {
  std::vector<Array> captured;
  const EntryPtr entry = find_or_record(call, type, captured);
  if (!captured.empty()) {
    throw LeakedTracerError(fmt::format(
        "{}: lower: the function closes over a traced array, {}, so that its program holds for one "
        "call alone; pass it as an argument",
        call.where(), captured[0].type().to_string()));
  }
  return {call.where(),  entry->program,       call.arguments(),
          entry->result, donated_leaves(call), options_.engine};
}

ProgramPtr record_call(TreeCall& call) {
  return record(call.as_function(), types_of(call.leaves()));
}

}  // namespace detail

}  // namespace farcall
