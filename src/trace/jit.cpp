#include <farcall/trace/jit.h>

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/call.h>
#include <farcall/trace/interpreter.h>

namespace farcall {
namespace {

void execute_here(const Executable& executable, std::span<const Storage* const> inputs,
                  std::span<Storage> outputs, const ExecutionOptions& options) {
  executable.execute(inputs, outputs, options);
}

std::atomic<Executor> executor{execute_here};

template <class Range>
size_t hash_types(const Range& range) {
  size_t hash = std::size(range);
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
    size_t hash = 0;  // written before `executable`
  };
  explicit Table(size_t capacity) : slots(capacity) {}

  std::vector<Slot> slots;  // a power of two, never full
  mutable size_t used = 0;
};

struct SignatureCache::Writer {
  std::mutex mutex;
  std::vector<std::unique_ptr<Table>> tables;
  std::vector<std::shared_ptr<const Executable>> executables;

  static void place(Table& table, size_t hash, const Executable* executable) {
    size_t i = hash & (table.slots.size() - 1);
    while (table.slots[i].executable.load(std::memory_order_relaxed)) {
      i = (i + 1) & (table.slots.size() - 1);
    }
    table.slots[i].hash = hash;
    table.slots[i].executable.store(executable, std::memory_order_release);
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
  const size_t hash = hash_types(inputs);
  for (size_t i = hash & (table.slots.size() - 1);; i = (i + 1) & (table.slots.size() - 1)) {
    const Table::Slot& slot = table.slots[i];
    const Executable* executable = slot.executable.load(std::memory_order_acquire);
    if (!executable) return nullptr;
    if (slot.hash == hash && same_types(executable->input_types(), inputs)) return executable;
  }
}

const Executable* SignatureCache::insert(std::shared_ptr<const Executable> executable) {
  const size_t hash = hash_types(executable->input_types());
  std::lock_guard lock(writer_->mutex);
  for (const auto& known : writer_->executables) {
    const auto types = known->input_types();
    if (std::equal(types.begin(), types.end(), executable->input_types().begin(),
                   executable->input_types().end())) {
      return known.get();
    }
  }
  Table* table = writer_->tables.back().get();
  if ((table->used + 1) * 2 > table->slots.size()) {
    auto larger = std::make_unique<Table>(table->slots.size() * 2);
    for (const auto& known : writer_->executables) {
      Writer::place(*larger, hash_types(known->input_types()), known.get());
    }
    table = larger.get();
    writer_->tables.push_back(std::move(larger));
  }
  Writer::place(*table, hash, executable.get());
  writer_->executables.push_back(std::move(executable));
  table_.store(table, std::memory_order_release);
  return writer_->executables.back().get();
}

size_t SignatureCache::size() const {
  std::lock_guard lock(writer_->mutex);
  return writer_->executables.size();
}

void set_executor(Executor chosen) { executor = chosen; }

std::vector<Array> run(const Executable& executable, std::span<const Array> inputs,
                       const ExecutionOptions& options) {
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
  if (!is_evaluating()) {
    const Recording recording = record_closure(function_, types_of(inputs), name_);
    std::vector<Array> operands = recording.captured;
    operands.insert(operands.end(), inputs.begin(), inputs.end());
    return call_program(recording.program, operands);
  }
  const Executable* executable = cache_.find(inputs);
  if (!executable) {
    std::vector<ShapeDtype> types;
    types.reserve(inputs.size());
    for (const Array& input : inputs) types.push_back(input.type());
    executable = cache_.insert(compile(types));
  }
  return run(*executable, inputs);
}

}  // namespace farcall
