#include <farcall/trace/jit.h>

#include <algorithm>
#include <mutex>
#include <typeindex>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/core/storage_array.h>
#include <farcall/program/donation.h>
#include <farcall/program/transfers.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/cache_key.h>
#include <farcall/trace/call.h>
#include <farcall/trace/debug_checks.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/varying.h>

#include "trace/sharding/partition.h"
#include "trace/sharding/placed_call.h"

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

// A hash table with open addressing over atomic slots. A writer fills free slots or publishes a
// larger table while readers search. Tables and executables live as long as the cache, so readers
// never see freed memory.
struct SignatureCache::Table {
  struct Slot {
    std::atomic<const Executable*> executable{nullptr};
    size_t hash = 0;  // hash and config are written before `executable`
    uint64_t config = 0;
  };
  explicit Table(size_t capacity) : slots(capacity) {}

  std::vector<Slot> slots;  // their number is a power of two; never full
  mutable size_t used = 0;
};

struct SignatureCache::Writer {
  std::mutex mutex;
  std::vector<std::unique_ptr<Table>> tables;
  struct Kept {
    std::shared_ptr<const Executable> executable;
    uint64_t config;  // cache_key() at insertion
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
  const uint64_t config = cache_key();
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
  const uint64_t config = cache_key();
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
    invalid_argument(
        fmt::format("run: the program takes {} inputs, got {}", types.size(), inputs.size()));
  }
  size_t i = 0;
  while (inputs[i].type().strengthened() == types[i].strengthened()) ++i;
  invalid_argument(fmt::format("run: input {} should be {}, got {}", i, types[i].to_string(),
                               inputs[i].type().to_string()));
}

bool fit(std::span<const ShapeDtype> types, std::span<const Array> inputs) {
  const auto does = [](const Array& input, ShapeDtype type) {
    return input.type() == type || input.type().strengthened() == type.strengthened();
  };
  return std::ranges::equal(inputs, types, does);
}

constexpr size_t kMaxHostInputs = 16;

// Collects the memory of inputs that are all ordinary host arrays. False if one is not, or if there
// are more than kMaxHostInputs.
bool collect_host_memory(std::span<const Array> inputs, const Storage** memory) {
  if (inputs.size() > kMaxHostInputs) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    memory[i] = inputs[i].node().storage();
    if (!memory[i]) return false;
  }
  return true;
}

// The memory of an input on the executable's device. An array that is sharded over several
// processes is gathered, unless the executable reads only this process's parts.
Storage memory_for(const Executable& executable, size_t number, const Array& input) {
  const Storage& own = memory_of(input);
  const ShardedBuffer* spread = ShardedBuffer::of(own);
  if (!spread || spread->is_fully_addressable()) {
    return to_device(executable.device(), input.type(), own);
  }
  const NamedSharding* wanted = executable.input_sharding(number);
  const bool are_parts_enough = wanted && places_alike(*wanted, spread->sharding());
  return to_device(executable.device(), input.type(),
                   are_parts_enough ? spread->parts() : spread->gather());
}

// The memory of the inputs on the executable's device. `moved` owns the inputs that were moved
// there.
std::vector<const Storage*> memory_on(const Executable& executable, std::span<const Array> inputs,
                                      std::vector<Storage>& moved) {
  std::vector<const Storage*> memory;
  moved.reserve(inputs.size());  // addresses must stay valid
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Storage& own = memory_of(inputs[i]);
    const bool is_there = is_on(executable.device(), own);
    if (!is_there && !ShardedBuffer::of(own)) {
      guard_transfer(inputs[i].type(), own, executable.device());
    }
    memory.push_back(is_there ? &own : &moved.emplace_back(memory_for(executable, i, inputs[i])));
  }
  return memory;
}

bool is_any_committed(std::span<const Array> inputs) {
  return std::ranges::any_of(inputs, is_committed);
}

// Runs without checking results for NaNs and infinities. `to_array` makes the array of a result
// from its number, type and memory.
template <class ToArray>
std::vector<Array> execute_to(const ToArray& to_array, const Executable& executable,
                              std::span<const Storage* const> memory,
                              const ExecutionOptions& options) {
  const auto types = executable.output_types();
  StorageArray outputs(types.size());
  executor.load(std::memory_order_relaxed)(executable, memory, outputs.span(), options);
  std::vector<Array> results;
  results.reserve(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    results.push_back(to_array(i, types[i], std::move(outputs[i])));
  }
  return results;
}

std::vector<Array> execute(const Executable& executable, std::span<const Storage* const> memory,
                           const ExecutionOptions& options, bool is_committed) {
  const auto to_array = [&](size_t i, ShapeDtype type, Storage&& output) {
    if (const NamedSharding* sharding = executable.output_sharding(i)) {
      Storage parts = ShardedBuffer::keep_parts(make_placement(type, *sharding), to_host(output));
      return placed_array(type, std::move(parts), /*is_committed=*/true);
    }
    return placed_array(type, std::move(output), is_committed);
  };
  return execute_to(to_array, executable, memory, options);
}

// In a process that has no device but the host.
std::vector<Array> execute_on_host(const Executable& executable,
                                   std::span<const Storage* const> memory,
                                   const ExecutionOptions& options) {
  const auto to_array = [](size_t, ShapeDtype type, Storage&& output) {
    return Array(type, std::move(output));
  };
  return execute_to(to_array, executable, memory, options);
}

std::vector<Array> execute_anywhere(const Executable& executable, std::span<const Array> inputs,
                                    const ExecutionOptions& options, bool is_committed) {
  if (!fit(executable.input_types(), inputs)) wrong_inputs(executable.input_types(), inputs);
  std::vector<Storage> moved;
  return execute(executable, memory_on(executable, inputs, moved), options,
                 is_committed || is_any_committed(inputs));
}

// Lets the run overwrite the memory of donated inputs that are sharded: deletes these inputs, so
// that `memory` alone refers to it. Nothing may fail between this and the run.
void hand_over_spread(const Executable& executable, std::span<const Array> inputs,
                      std::span<const Storage* const> memory, std::vector<Storage>& moved) {
  const std::vector<bool>& overwrites = executable.overwrites();
  for (size_t i = 0; i < overwrites.size(); ++i) {
    const auto is_same = [&](const Array& other) { return &other.node() == &inputs[i].node(); };
    if (!overwrites[i] || std::ranges::count_if(inputs, is_same) > 1) continue;
    const Storage& own = memory_of(inputs[i]);
    const ShardedBuffer* spread = ShardedBuffer::of(own);
    if (!spread || !own.is_unique()) continue;
    // On the host the run uses the memory of the array itself, elsewhere a copy.
    const bool is_own = executable.device().is_host();
    Storage& of_run = moved[static_cast<size_t>(memory[i] - moved.data())];
    if (is_own) of_run = Storage();
    Storage whole = spread->take_whole();
    const bool is_taken = static_cast<bool>(whole);
    if (is_own) of_run = is_taken ? std::move(whole) : spread->parts();
    if (is_taken) discard(inputs[i]);
  }
}

// Deletes the inputs that a run consumed: those whose own memory it used.
void discard_consumed(std::span<const Array> inputs, std::span<const Storage* const> memory,
                      const std::vector<bool>& consumed) {
  for (size_t i = 0; i < consumed.size(); ++i) {
    if (consumed[i] && inputs[i].is_concrete() && memory[i] == &memory_of(inputs[i])) {
      discard(inputs[i]);
    }
  }
}

// Runs on all devices of the mesh. Inputs with another sharding are resharded.
std::vector<Array> execute_on_mesh(const SpreadPlan& plan, std::span<const Array> inputs,
                                   const ExecutionOptions& options) {
  const Executable& executable = *plan.divided->executable;
  if (!fit(executable.input_types(), inputs)) wrong_inputs(executable.input_types(), inputs);
  std::vector<Storage> moved;
  moved.reserve(inputs.size());  // addresses must stay valid
  std::vector<const Storage*> memory;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Storage& own = memory_of(inputs[i]);
    const ShardedBuffer* spread = ShardedBuffer::of(own);
    const PlacementPtr& wanted = plan.inputs[i];
    const bool is_there = spread && places_alike(wanted->sharding(), spread->sharding());
    memory.push_back(is_there ? &own : &moved.emplace_back(ShardedBuffer::cut(wanted, own)));
  }
  const std::vector<bool> consumed = consumed_inputs(executable, memory);
  std::vector<Array> results = execute(executable, memory, options, true);
  discard_consumed(inputs, memory, consumed);
  return results;
}

// Where the equations run that the plan does not give to all devices of a mesh.
const Executable& chosen_by(const SpreadPlan* plan, const Executable& executable) {
  return plan && plan->divided->executable ? *plan->divided->executable : executable;
}

std::vector<Array> run_as_spread(const Executable& executable, std::span<const Array> inputs,
                                 const ExecutionOptions& options, bool is_committed,
                                 const SpreadPlan& plan) {
  if (plan.runs_on_mesh()) return execute_on_mesh(plan, inputs, options);
  const bool are_results_committed = is_committed || plan.is_home_one_device;
  std::vector<Array> results =
      execute_anywhere(chosen_by(&plan, executable), inputs, options, are_results_committed);
  spread_results(plan, results);
  return results;
}

std::vector<Array> run_anywhere(const Executable& executable, std::span<const Array> inputs,
                                const ExecutionOptions& options, bool is_committed) {
  const SpreadPlanPtr spread = plan_spread(executable, inputs, is_committed);
  return spread ? run_as_spread(executable, inputs, options, is_committed, *spread)
                : execute_anywhere(executable, inputs, options, is_committed);
}

}  // namespace

std::vector<Array> run(const Executable& executable, std::span<const Array> inputs,
                       const ExecutionOptions& options, bool is_committed) {
  const Storage* host_memory[kMaxHostInputs];
  const bool is_on_host = executable.device().is_host() && !is_committed &&
                          collect_host_memory(inputs, host_memory) &&
                          fit(executable.input_types(), inputs);
  const std::span<const Storage* const> memory(host_memory, is_on_host ? inputs.size() : 0);
  std::vector<Array> results = is_on_host && !has_other_devices()
                                   ? execute_on_host(executable, memory, options)
                               : is_on_host && !has_home(executable)
                                   ? execute(executable, memory, options, /*is_committed=*/false)
                                   : run_anywhere(executable, inputs, options, is_committed);
  if (checks_results()) check_results(executable.program(), inputs, results);
  return results;
}

std::vector<Array> run_donating(const Executable& executable, std::span<const Array> inputs,
                                bool is_committed) {
  if (!fit(executable.input_types(), inputs)) wrong_inputs(executable.input_types(), inputs);
  const SpreadPlanPtr spread = plan_spread(executable, inputs, is_committed);
  if (spread && spread->runs_on_mesh()) {
    std::vector<Array> results = execute_on_mesh(*spread, inputs, {});
    if (checks_results()) check_results(executable.program(), inputs, results);
    return results;
  }
  const Executable& chosen = chosen_by(spread.get(), executable);
  std::vector<Storage> moved;
  const auto memory = memory_on(chosen, inputs, moved);
  const bool are_results_committed =
      is_committed || is_any_committed(inputs) || (spread && spread->is_home_one_device);
  if (spread) hand_over_spread(chosen, inputs, memory, moved);
  const std::vector<bool> consumed = consumed_inputs(chosen, memory);
  std::vector<Array> results;
  try {
    results = execute(chosen, memory, {}, are_results_committed);
  } catch (...) {
    if (!chosen.keeps_inputs_on_failure()) discard_consumed(inputs, memory, consumed);
    throw;
  }
  discard_consumed(inputs, memory, consumed);
  if (spread) spread_results(*spread, results);
  if (checks_results() && consumed.empty()) {
    check_results(executable.program(), inputs, results);
  } else if (checks_results()) {  // it cannot run again: its arguments are gone
    check_results(executable.program().name, results);
  }
  return results;
}

namespace detail {

// ---- functions over trees ----

CompiledTrees::CompiledTrees(JitOptions options) : options_(std::move(options)) {}

std::string CompiledTrees::where() const {
  return options_.name.empty() ? "jit" : fmt::format("jit({})", options_.name);
}

CachedProgramPtr CompiledTrees::find_or_record(TreeCall& call, const std::type_info& type,
                                               std::vector<Array>& captured) const {
  FlatFunction function = call.as_function();
  if (!options_.out_shardings.empty()) {
    function = [this, &call](std::span<const Array> inputs) {
      std::vector<Array> results = call(inputs);
      const Shardings wanted = out_shardings(call.result_tree(), types_of(results));
      return constrain_results(std::move(results), wanted);
    };
  }
  const auto types = types_of(call.leaves());
  const auto record_call = [&]() -> TracedFunction {
    if (is_evaluating()) {
      ProgramPtr program = record(function, types, options_.name);
      return {std::move(program), call.result_tree()};
    }
    Recording recording =
        record_with_constants(function, types, varying_axes(call.leaves()), options_.name);
    return {std::move(recording.program), call.result_tree(), std::move(recording.captured)};
  };
  // The C++ type is part of the key: trees of one structure may have different types.
  TreeDef arguments(TreeDef::Kind::kTuple, {call.arguments(), tree_of(std::type_index(type))});
  CallSignature signature{std::move(arguments), types};
  signature.add_varying_axes(call.leaves());
  return programs_.find_or_record(std::move(signature), record_call, captured);
}

std::vector<bool> CompiledTrees::donated_leaves(const TreeCall& call) const {
  const auto count = static_cast<int64_t>(call.arguments().children().size());
  std::vector<int> donated;
  for (const int64_t number : options_.donate_argnums) {
    if (number < -count || number >= count) {
      invalid_argument(
          fmt::format("{}: donate_argnums names argument {}, but the function takes {}",
                      call.where(), number, count));
    }
    donated.push_back(static_cast<int>(number < 0 ? number + count : number));
  }
  return call.belong_to(donated);
}

std::vector<Array> CompiledTrees::run(const Executable& executable, std::span<const Array> inputs,
                                      bool is_committed) const {
  return options_.donate_argnums.empty() ? farcall::run(executable, inputs, {}, is_committed)
                                         : run_donating(executable, inputs, is_committed);
}

std::vector<Array> CompiledTrees::operator()(TreeCall& call, const std::type_info& type,
                                             bool is_fixed) const {
  if (is_on(Flag::kDisableJit)) return call.as_function()(call.leaves());
  std::vector<Array> operands;
  const CachedProgramPtr cached = find_or_record(call, type, operands);
  call.set_result_tree(cached->result());
  if (!is_evaluating()) {
    operands.insert(operands.end(), call.leaves().begin(), call.leaves().end());
    return call_program(cached->program(), operands);
  }
  if (is_placed()) return run_placed(call, *cached);
  const CallPlace place = place_of_call(where(), call.leaves(), options_.device);
  const auto executable = cached->executable_on(*place.device, where(), donated_leaves(call));
  if (is_fixed && !options_.device && place.device->is_host()) fixed_.insert(executable);
  return run(*executable, call.leaves(), place.is_committed);
}

std::vector<Array> CompiledTrees::run_placed(TreeCall& call, const CachedProgram& cached) const {
  const Shardings results = out_shardings(cached.result(), cached.program()->output_types());
  const std::vector<Array> inputs = place_inputs(call.leaves(), in_shardings(call), results);
  const CallPlace place = place_of_call(where(), inputs, options_.device);
  const auto executable = cached.executable_on(*place.device, where(), donated_leaves(call));
  return place_results(run(*executable, inputs, place.is_committed), results);
}

Shardings CompiledTrees::in_shardings(const TreeCall& call) const {
  return spread_shardings(options_.in_shardings, types_of(call.leaves()),
                          call.where() + ": in_shardings",
                          [&](size_t leaf) { return call.argument_name(leaf); });
}

Shardings CompiledTrees::out_shardings(const TreeDef& result,
                                       std::span<const ShapeDtype> types) const {
  return spread_shardings(options_.out_shardings, types, where() + ": out_shardings",
                          [&](size_t leaf) { return "result" + leaf_path(result, leaf); });
}

LoweredCall CompiledTrees::lower(TreeCall& call, const std::type_info& type) const {
  std::vector<Array> captured;
  const CachedProgramPtr cached = find_or_record(call, type, captured);
  if (!captured.empty()) {
    throw LeakedTracerError(
        fmt::format("{}: lower: the function closes over a traced array, {}, so its program is "
                    "valid for one call only; pass the array as an argument",
                    call.where(), captured[0].type().to_string()));
  }
  LoweredCall lowered{call.where(),     cached->program(),    call.arguments(),
                      cached->result(), donated_leaves(call), options_.device};
  lowered.out_shardings = out_shardings(lowered.result, lowered.program->output_types());
  std::vector<ArgumentPlace> places;
  for (const Array& leaf : call.leaves()) places.push_back(place_of(leaf));
  lowered.place(in_shardings(call), std::move(places),
                [&](size_t leaf) { return call.argument_name(leaf); });
  return lowered;
}

ProgramPtr record_call(TreeCall& call) {
  return record(call.as_function(), types_of(call.leaves()));
}

}  // namespace detail

}  // namespace farcall
